"""What people write for 14.train_step_bytes, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.memory.train_step_bytes.exercise import train_step_bytes


@train_step_bytes.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
