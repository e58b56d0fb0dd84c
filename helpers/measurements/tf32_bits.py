"""TF32 in bits: float32 with the first ten of its 23 bits of mantissa; the other 13 are zero."""

from __future__ import annotations

import torch
from torch import Tensor

ROUNDINGS = ("nearest-even", "nearest-away", "toward-zero")
DROPPED = 13  # bits of the mantissa that TF32 lacks
LOW = 0x1FFF  # all of them
HALF = 0x1000  # the first of them: a tie, when it stands alone


def rounded(x: Tensor, rounding: str) -> Tensor:
    """Finite float32 numbers with ten bits of mantissa, in the named rounding; a carry may make them inf."""
    bits = x.detach().contiguous().view(torch.int32)
    if rounding == "nearest-even":
        bits = bits + (HALF - 1) + ((bits >> DROPPED) & 1)
    elif rounding == "nearest-away":
        bits = bits + HALF
    return (bits & ~LOW).view(torch.float32)
