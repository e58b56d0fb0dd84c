"""TF32 in bits: what the checks of lab 06 compare with, and the patterns that they try.

A float32 is 1 bit of sign, 8 of exponent, 23 of mantissa. TF32 keeps the first 10 of the mantissa: the other 13
are zero. Patterns are int64 numbers from 0 to 2**32 - 1 here, so that no addition runs over the sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.measurements.tf32_bits import DROPPED, rounded

SIGN = 0x80000000
INF = 0x7F800000
NAN = 0x7FC00000


def of_bits(patterns: Tensor | Sequence[int]) -> Tensor:
    """The float32 tensor with these bits."""
    patterns = torch.as_tensor(patterns, dtype=torch.int64)
    return torch.where(patterns >= SIGN, patterns - 2**32, patterns).to(torch.int32).view(torch.float32)


def bits_of(x: Tensor) -> Tensor:
    """The bits of a float32 tensor."""
    return x.detach().view(torch.int32).to(torch.int64) & 0xFFFFFFFF


def tf32(x: Tensor, rounding: str) -> Tensor:
    """x rounded to TF32, bit for bit; a NaN keeps its bits."""
    return torch.where(x.isfinite(), rounded(x, rounding), x.detach())


def normals(trial: Trial, low: Sequence[int], *, exponents: tuple[int, int] = (64, 190)) -> Tensor:
    """Patterns of normal numbers with these low 13 bits, each after an even and an odd bit, both signs.

    exponents: the field of the exponent, from and up to; 127 stands for 1.
    """
    low = torch.tensor(low, dtype=torch.int64).repeat_interleave(4)
    count = len(low)
    sign = torch.tensor([0, 1]).repeat(count // 2)
    odd = torch.tensor([0, 0, 1, 1]).repeat(count // 4)
    first, last = exponents
    exponent = torch.randint(first, last + 1, (count,), generator=trial.generator)
    top = torch.randint(0, 511, (count,), generator=trial.generator)  # of 9 bits; never all ones
    return (sign << 31) | (exponent << 23) | (top << 14) | (odd << DROPPED) | low


def without_payload(bits: Tensor) -> Tensor:
    """Every NaN is one NaN: which one it is, nobody promises."""
    return torch.where((bits & (SIGN - 1)) > INF, NAN, bits)


def described(pattern: int) -> str:
    """A pattern and its number, for people."""
    return f"0x{pattern:08X} ({of_bits([pattern]).item():.9g})"


def sort_of(pattern: int) -> str:
    """Which sort of number a pattern is."""
    size = pattern & (SIGN - 1)
    if size in (0, INF):
        return ("-" if pattern & SIGN else "") + ("0" if size == 0 else "inf")
    return "number" if size < INF else "nan"
