"""Emulated devices for 06.probe_rounding: matrix products that do something to their operands first."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.streams.shared.rounding import SIGN, bits_of, of_bits, tf32
from helpers.measurements.tf32_bits import DROPPED, HALF, LOW, ROUNDINGS

Rounding = Callable[[Tensor], Tensor]
Matmul = Callable[[Tensor, Tensor], Tensor]


def mode(name: str) -> Rounding:
    """One of the three roundings to TF32, or "none"."""
    return (lambda x: x) if name == "none" else (lambda x: tf32(x, name))


MODES = {name: mode(name) for name in (*ROUNDINGS, "none")}


def float32_sum(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a, b)


def float64_sum(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a.double(), b.double()).float()


def backward_sum(a: Tensor, b: Tensor) -> Tensor:
    """float32, from the last term to the first."""
    return torch.mm(a.flip(1), b.flip(0))


def device(left: Rounding, right: Rounding | None = None, summed: Matmul = float32_sum) -> Matmul:
    """A product that rounds its operands so; one rounding serves both unless a second is given."""
    right = right or left

    def matmul(a: Tensor, b: Tensor) -> Tensor:
        for name, x in (("a", a), ("b", b)):
            if not isinstance(x, Tensor) or x.dtype != torch.float32 or x.dim() != 2:
                got = f"{x.dtype}, {x.dim()}-d" if isinstance(x, Tensor) else type(x).__name__
                raise TypeError(f"matmul takes float32 tensors of two dimensions; {name} is {got}")
        return summed(left(a), right(b))

    return matmul


def by_size(choose: Callable[[int], Matmul]) -> Matmul:
    """A product that takes another kernel for other sizes. choose: is given the largest of the three sizes."""
    return lambda a, b: choose(max(*a.shape, *b.shape))(a, b)


def by_rows(choose: Callable[[int], Matmul]) -> Matmul:
    """A product that takes another kernel for other numbers of its rows, whatever the other sizes are."""
    return lambda a, b: choose(a.shape[0])(a, b)


def small_apart(small: Matmul, large: Matmul) -> Matmul:
    """A product that takes `small` as soon as one of the three sizes is below 64."""
    return lambda a, b: (small if min(*a.shape, *b.shape) < 64 else large)(a, b)


def on_bits(rounded: Callable[[Tensor, Tensor], Tensor]) -> Rounding:
    """A rounding of the bits without sign, which is given beside them as 0 or 1."""

    def rounding(x: Tensor) -> Tensor:
        bits = bits_of(x)
        sign = bits & SIGN
        return of_bits(sign | rounded(bits & (SIGN - 1), sign >> 31))

    return rounding


def last_kept(size: Tensor) -> Tensor:
    return (size >> DROPPED) & 1


def kept(size: Tensor, bits: int) -> Tensor:
    """Nearest-even with so many bits of mantissa."""
    dropped = 23 - bits
    return (size + (1 << (dropped - 1)) - 1 + ((size >> dropped) & 1)) & ~((1 << dropped) - 1)


def split(x: Tensor) -> Tensor:
    """The sum of two TF32 numbers: nearly float32, and not quite."""
    high = tf32(x, "nearest-even")
    return high + tf32(x - high, "nearest-even")


def flushing(x: Tensor) -> Tensor:
    """Nearest-even, and what is below 2**-126 is zero."""
    return torch.where(x.abs() < 2.0**-126, torch.zeros_like(x), tf32(x, "nearest-even"))


# Roundings that are none of the three, by what they do.
OTHERS: dict[str, Rounding] = {
    "bfloat16": lambda x: x.bfloat16().float(),
    "bfloat16, cut off": on_bits(lambda size, sign: size & ~0xFFFF),
    "9 bits of mantissa": on_bits(lambda size, sign: kept(size, 9)),
    "11 bits of mantissa": on_bits(lambda size, sign: kept(size, 11)),
    "float16": lambda x: x.half().float(),
    "toward minus infinity": on_bits(lambda size, sign: (size + sign * LOW) & ~LOW),
    "to nearest, ties toward plus infinity": on_bits(lambda size, sign: (size + HALF - sign) & ~LOW),
    "to nearest, ties toward zero": on_bits(lambda size, sign: (size + HALF - 1) & ~LOW),
    "to nearest, ties to odd": on_bits(lambda size, sign: (size + HALF - last_kept(size)) & ~LOW),
    "nearest-even by the first dropped bit alone": on_bits(
        lambda size, sign: (size & ~LOW) + ((size >> 12) & last_kept(size)) * (LOW + 1)
    ),
    "the sum of two TF32 numbers for each float32": split,
    "nearest-even by the first twelve dropped bits": on_bits(lambda size, sign: kept(size & ~1, 10)),
    "to nearest with 22 bits, and then nearest-away": on_bits(
        lambda size, sign: (((size + 1) & ~1) + HALF) & ~LOW
    ),
    "negative numbers nearest-even, others toward zero": on_bits(
        lambda size, sign: torch.where(sign == 1, kept(size, 10), size & ~LOW)
    ),
    "negative numbers toward zero, others nearest-even": on_bits(
        lambda size, sign: torch.where(sign == 1, size & ~LOW, kept(size, 10))
    ),
    "nearest-even, but below 2**-39 as they are": lambda x: torch.where(
        x.abs() < 2.0**-39, x, tf32(x, ROUNDINGS[0])
    ),
    "nearest-even, but from 2**40 on as they are": lambda x: torch.where(
        x.abs() >= 2.0**40, x, tf32(x, ROUNDINGS[0])
    ),
}
