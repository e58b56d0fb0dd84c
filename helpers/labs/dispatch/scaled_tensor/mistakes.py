"""What people write for 12.scaled_tensor, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.dispatch.scaled_tensor.exercise import scaled_tensor


@scaled_tensor.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
