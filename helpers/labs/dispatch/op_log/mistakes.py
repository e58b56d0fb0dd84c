"""What people write for 12.op_log, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.dispatch.op_log.exercise import op_log


@op_log.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
