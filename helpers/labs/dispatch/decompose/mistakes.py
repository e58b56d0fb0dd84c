"""What people write for 12.decompose, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.dispatch.decompose.exercise import decompose


@decompose.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
