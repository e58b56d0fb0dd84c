"""What people write for 14.step_in_backward, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.memory.step_in_backward.exercise import step_in_backward


@step_in_backward.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
