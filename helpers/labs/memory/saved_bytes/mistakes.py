"""What people write for 14.saved_bytes, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.memory.saved_bytes.exercise import saved_bytes


@saved_bytes.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
