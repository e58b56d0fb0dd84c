"""What people write for 13.attend_blockwise, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.attention.attend_blockwise.exercise import attend_blockwise


@attend_blockwise.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
