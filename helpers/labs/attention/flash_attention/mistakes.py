"""What people write for 13.flash_attention, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.attention.flash_attention.exercise import flash_attention


@flash_attention.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
