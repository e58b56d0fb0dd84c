"""What people write for 14.allocate, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.memory.allocate.exercise import allocate


@allocate.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
