"""What people write for 11.expanded, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.tensors.expanded.exercise import expanded


@expanded.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
