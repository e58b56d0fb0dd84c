"""One number in the float formats of lab 06, as data: the fields of its bits, and what is left of its value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.labs.streams.shared.rounding import tf32


@dataclass(frozen=True)
class FloatFormat:
    """How many bits a format has. stored: the bits of memory one number takes; TF32 is kept in a float32."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    stored: int


@dataclass(frozen=True)
class Fields:
    """A number in a format. sign, exponent, mantissa: strings of "0" and "1", the highest bit first.

    value: what the format holds instead of the number; a NaN is not equal to itself.
    """

    format: FloatFormat
    sign: str
    exponent: str
    mantissa: str
    value: float


FORMATS = (
    FloatFormat("float32", 8, 23, 32),
    FloatFormat("TF32", 8, 10, 32),
    FloatFormat("bfloat16", 8, 7, 16),
    FloatFormat("float16", 5, 10, 16),
)

# To the format: a float32 of no dimension that holds the rounded number. All round to nearest, ties to even.
_ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {
    "float32": lambda x: x,
    "TF32": lambda x: tf32(x, "nearest-even"),
    "bfloat16": lambda x: x.bfloat16(),
    "float16": lambda x: x.half(),
}
_INTEGERS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}


def fields(value: float, format: FloatFormat) -> Fields:
    """The number, rounded to nearest even: to float32 first, then to the format."""
    rounded = _ROUNDED[format.name](torch.tensor(value, dtype=torch.float32))
    width = 8 * rounded.element_size()
    pattern = rounded.view(_INTEGERS[rounded.dtype]).item() % 2**width
    bits = f"{pattern:0{width}b}"
    first = 1 + format.exponent_bits
    return Fields(
        format, bits[0], bits[1:first], bits[first : first + format.mantissa_bits], rounded.float().item()
    )


def in_all_formats(value: float) -> tuple[Fields, ...]:
    """The number in float32, TF32, bfloat16 and float16."""
    return tuple(fields(value, format) for format in FORMATS)
