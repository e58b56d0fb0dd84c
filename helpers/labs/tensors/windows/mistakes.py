"""What people write for 11.windows, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.tensors.windows.exercise import windows


@windows.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
