"""What people write for 14.stream_uses, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.memory.stream_uses.exercise import stream_uses


@stream_uses.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
