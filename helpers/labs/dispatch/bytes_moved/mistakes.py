"""What people write for 12.bytes_moved, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.dispatch.bytes_moved.exercise import bytes_moved


@bytes_moved.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
