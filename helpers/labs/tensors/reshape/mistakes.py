"""What people write for 11.reshape, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.tensors.reshape.exercise import reshape


@reshape.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
