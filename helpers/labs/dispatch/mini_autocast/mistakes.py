"""What people write for 12.mini_autocast, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.dispatch.mini_autocast.exercise import mini_autocast


@mini_autocast.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
