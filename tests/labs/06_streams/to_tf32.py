"""Right answers to 06.to_tf32, in different shapes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .shared import by_magnitude, with_halves


def in_place_on_a_copy(x, rounding):
    """int32 with its sign: the low bits are those of the size; only NaN would run over."""
    bits = x.detach().clone(memory_format=torch.contiguous_format).view(torch.int32)
    special = (bits & 0x7F800000) == 0x7F800000
    match rounding:
        case "nearest-even":
            add = 0x0FFF + ((bits >> 13) & 1)
        case "nearest-away":
            add = torch.full_like(bits, 0x1000)
        case "toward-zero":
            add = torch.zeros_like(bits)
        case other:
            raise ValueError(other)
    bits += add.masked_fill_(special, 0)
    bits &= torch.where(special, -1, ~0x1FFF)
    return bits.view(torch.float32)


class InNumpy:
    """Unsigned in NumPy; each NaN becomes the usual one."""

    def __call__(self, x: Tensor, rounding: str) -> Tensor:
        bits = x.numpy().copy().view(np.uint32)
        low, odd = bits & np.uint32(0x1FFF), (bits >> np.uint32(13)) & np.uint32(1)
        up = {
            "nearest-even": lambda: (low > 0x1000) | ((low == 0x1000) & (odd == 1)),
            "nearest-away": lambda: low >= 0x1000,
            "toward-zero": lambda: np.zeros_like(low, dtype=bool),
        }
        if rounding not in up:
            raise ValueError("no such rounding")
        nan = np.isnan(bits.view(np.float32))
        with np.errstate(over="ignore"):
            rounded = bits - low + up[rounding]().astype(np.uint32) * np.uint32(0x2000)
        rounded = np.asarray(np.where(nan, np.uint32(0x7FC00000), rounded))
        return torch.from_numpy(rounded.view(np.float32).reshape(x.shape))


def in_double(x, rounding):
    """Arithmetic only: float64 has room for every step. A place is worth 2**-136 at least."""
    wide = x.double()
    exponent = torch.frexp(wide)[1].clamp(min=-125)
    place = torch.ldexp(torch.ones_like(wide), exponent - 11)
    whole = wide / place
    if rounding == "nearest-even":
        whole = torch.round(whole)
    elif rounding == "nearest-away":
        whole = torch.copysign(torch.floor(whole.abs() + 0.5), whole)
    elif rounding == "toward-zero":
        whole = torch.trunc(whole)
    else:
        raise ValueError(f"unknown rounding {rounding}")
    result = (whole * place).to(torch.float32)
    result[~x.isfinite()] = x[~x.isfinite()]
    return torch.copysign(result, x)


RIGHT = [by_magnitude, in_place_on_a_copy, InNumpy(), in_double, with_halves]
