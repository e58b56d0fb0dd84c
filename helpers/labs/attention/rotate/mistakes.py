"""What people write for 13.rotate, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.attention.rotate.exercise import rotate


@rotate.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
