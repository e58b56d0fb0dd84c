"""What people write for 13.one_mask, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.attention.one_mask.exercise import one_mask


@one_mask.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
