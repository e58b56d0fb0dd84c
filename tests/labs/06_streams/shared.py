"""What right answers of this lab share."""

from __future__ import annotations

import torch
from torch import Tensor


def by_magnitude(x: Tensor, rounding: str) -> Tensor:
    """Adds to the bits without sign, and clears the low ones."""
    bits = x.view(torch.int32)
    sign, size = bits & -(2**31), bits & 0x7FFFFFFF
    if rounding == "nearest-even":
        size = size + 0x0FFF + ((size >> 13) & 1)
    elif rounding == "nearest-away":
        size = size + 0x1000
    elif rounding != "toward-zero":
        raise ValueError(f"{rounding!r} is no rounding")
    rounded = (sign | (size & ~0x1FFF)).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x)


def with_halves(x: Tensor, rounding: str) -> Tensor:
    """Two neighbours, and a choice between them; 0-d goes through a list."""
    if rounding not in {"nearest-even", "nearest-away", "toward-zero"}:
        raise ValueError(rounding)
    flat = x.reshape(-1)
    bits = flat.view(torch.int32).long() & 0xFFFFFFFF
    below = bits // 8192 * 8192
    above = below + 8192
    gap_below, gap_above = bits - below, above - bits
    tie = gap_below == gap_above
    closer = gap_above < gap_below
    if rounding == "toward-zero":
        chosen = below
    elif rounding == "nearest-away":
        chosen = torch.where(closer | tie, above, below)
    else:
        chosen = torch.where(closer | (tie & (below // 8192 % 2 == 1)), above, below)
    chosen = torch.where(flat.isfinite(), chosen, bits)
    signed = torch.where(chosen > 0x7FFFFFFF, chosen - 2**32, chosen)
    return signed.int().view(torch.float32).reshape(x.shape)
