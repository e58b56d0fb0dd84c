"""What people write for 06.to_tf32 and why it is wrong: another number of bits, other formats on the way, and the ends of the number line."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.streams.shared.rounding import INF, bits_of, of_bits
from helpers.labs.streams.to_tf32.exercise import BEYOND, ROUNDED, SIGNS, SPECIAL, SUBNORMALS, to_tf32
from helpers.labs.streams.to_tf32.mistakes.neighbours import asked, known, of_parts, right
from helpers.measurements.tf32_bits import LOW

built = to_tf32.bank(returned)


def keeping(bits: int) -> Callable[[Tensor, str], Tensor]:
    """Rounds as asked, to so many bits of mantissa."""
    dropped = 23 - bits

    def answer(size: Tensor, rounding: str) -> Tensor:
        low = (1 << dropped) - 1
        half = {
            "nearest-even": (low >> 1) + ((size >> dropped) & 1),
            "nearest-away": (low + 1) >> 1,
            "toward-zero": 0,
        }[rounding]
        return (size + half) & ~low

    return of_parts(answer)


def with_mask(low: int) -> Callable[[Tensor, str], Tensor]:
    """What is added is right, the mask is not."""
    return of_parts(lambda size, rounding: (size + asked(size, rounding)) & ~low)


@built.mistake(breaks=ROUNDED)
def one_bit_too_few():
    """23 - 10 = 13 bits are dropped. Here 14 went, so only nine of the mantissa are left."""
    return keeping(9)


to_tf32.variant(one_bit_too_few)(with_mask(0x3FFF))


@built.mistake(breaks=ROUNDED)
def one_bit_too_many():
    """23 - 10 = 13 bits are dropped. Here 12 went, so eleven of the mantissa are left."""
    return keeping(11)


to_tf32.variant(one_bit_too_many)(with_mask(0x0FFF))


@built.mistake(breaks=ROUNDED)
def drops_ten_bits():
    """Ten bits of the mantissa are kept, not dropped: thirteen go."""
    return keeping(13)


to_tf32.variant(drops_ten_bits)(with_mask(0x03FF))


@to_tf32.mistake(breaks=ROUNDED)
def through_bfloat16(x: Tensor, rounding: str) -> Tensor:
    """bfloat16 has the range of TF32 and only 7 bits of mantissa: three that TF32 holds are lost on the way."""
    known(rounding)
    return x.to(torch.bfloat16).to(torch.float32)


@to_tf32.mistake(breaks=ROUNDED)
def through_float16(x: Tensor, rounding: str) -> Tensor:
    """float16 has the mantissa of TF32 and only 5 bits of exponent: what lies above 65504 becomes infinity,
    what lies below 6e-8 becomes zero.
    """
    known(rounding)
    return x.half().float()


@to_tf32.mistake(breaks=ROUNDED)
def a_fixed_place(x: Tensor, rounding: str) -> Tensor:
    """Ten bits of mantissa are ten binary places behind the first one of each number. Multiples of 2**-10 are
    right between 1 and 2 only.
    """
    known(rounding)
    return to_whole(x * 1024, rounding) / 1024


def to_whole(x: Tensor, rounding: str) -> Tensor:
    away = x.sign() * (x.abs() + 0.5).floor()
    return {"nearest-even": x.round(), "nearest-away": away, "toward-zero": x.trunc()}[rounding]


@to_tf32.variant(a_fixed_place)
def _(x: Tensor, rounding: str) -> Tensor:
    known(rounding)
    return torch.round(x, decimals=3)


@to_tf32.mistake(breaks=ROUNDED)
def converted_not_viewed(x: Tensor, rounding: str) -> Tensor:
    """`x.to(torch.int32)` converts the number: 1.7 becomes 1. `x.view(torch.int32)` reads the same 32 bits as
    an integer.
    """
    bits = x.to(torch.int32)
    return ((bits + asked(bits, rounding)) & ~LOW).to(torch.float32)


@to_tf32.variant(converted_not_viewed)
def _(x: Tensor, rounding: str) -> Tensor:
    bits = x.view(torch.int32)
    return ((bits + asked(bits, rounding)) & ~LOW).to(torch.float32)


@to_tf32.variant(converted_not_viewed)
def _(x: Tensor, rounding: str) -> Tensor:
    bits = x.to(torch.int32)
    return ((bits + asked(bits, rounding)) & ~LOW).view(torch.float32)


@to_tf32.mistake(breaks=SIGNS)
def sign_lost(x: Tensor, rounding: str) -> Tensor:
    """The sign was set aside and never put back: every result is positive."""
    return right(x.abs(), rounding)


@to_tf32.mistake(breaks=SUBNORMALS)
def subnormals_flushed(x: Tensor, rounding: str) -> Tensor:
    """Numbers below 2**-126 were set to zero. Their pattern is rounded like every other; whether a device
    flushes them is another question.
    """
    return torch.where(x.abs() < 2.0**-126, x * 0, right(x, rounding))


@to_tf32.variant(subnormals_flushed)
def _(x: Tensor, rounding: str) -> Tensor:
    return torch.where(x.abs() < 2.0**-126, 0.0, right(x, rounding))


@to_tf32.variant(subnormals_flushed)
def _(x: Tensor, rounding: str) -> Tensor:
    result = right(x, rounding)
    return torch.where(result.abs() < 2.0**-126, 0.0, result)


@to_tf32.mistake(breaks=SUBNORMALS)
def subnormals_left(x: Tensor, rounding: str) -> Tensor:
    """An exponent of 0 is treated like that of infinity: subnormals came back unrounded. Only the exponent of
    all ones is special here.
    """
    return torch.where(x.abs() < 2.0**-126, x, right(x, rounding))


@to_tf32.mistake(breaks=SUBNORMALS)
def subnormals_normalised(x: Tensor, rounding: str) -> Tensor:
    """frexp gives a subnormal a mantissa of its own, and 11 digits of that were kept. In the pattern of a
    subnormal the places are fixed: bit 13 is worth 2**-136 whatever stands before it.
    """
    known(rounding)
    mantissa, exponent = torch.frexp(x.double())
    exact = torch.ldexp(to_whole(mantissa * 2048, rounding), exponent - 11)
    return torch.where(x.isfinite(), exact.float(), x)


@to_tf32.mistake(breaks=SIGNS)
def minus_zero_lost(x: Tensor, rounding: str) -> Tensor:
    """-0.0 became 0.0: the sign bit counts although the number is zero. Take the sign from the bits, not from
    x < 0.
    """
    size = right(x.abs(), rounding)
    return torch.where(x < 0, -size, size)


@to_tf32.variant(minus_zero_lost)
def _(x: Tensor, rounding: str) -> Tensor:
    return right(x, rounding) + 0.0


@to_tf32.mistake(breaks=BEYOND)
def saturates(x: Tensor, rounding: str) -> Tensor:
    """The largest float32 lies above the largest TF32 number, 0x7F7FE000, by more than half a place: the
    nearest modes give infinity, as for every overflow of a rounding.
    """
    largest = 3.4011621342146535e38
    return torch.where(x.isfinite(), right(x, rounding).clamp(-largest, largest), x)


@to_tf32.variant(saturates)
def _(x: Tensor, rounding: str) -> Tensor:
    result = right(x, rounding)
    return torch.where(x.isfinite() & result.isinf(), x, result)


@to_tf32.mistake(breaks=BEYOND)
def scaled_in_float32(x: Tensor, rounding: str) -> Tensor:
    """Arithmetic in float32 overflows on the way: x times 8193 is infinite for the largest x, and infinity
    minus infinity is NaN. On the bits nothing can overflow.
    """
    split = x * 8193
    near = split - (split - x)
    exact = right(x, rounding)
    return torch.where(near.isfinite(), exact, near)


@to_tf32.variant(scaled_in_float32)
def _(x: Tensor, rounding: str) -> Tensor:
    scaled = x * 8192
    return torch.where(scaled.isfinite(), right(x, rounding), scaled / 8192)


@to_tf32.mistake(breaks=SPECIAL)
def infinity_becomes_nan(x: Tensor, rounding: str) -> Tensor:
    """Infinity went through arithmetic, inf - inf or 0 * inf, which is NaN. Its pattern is a TF32 number
    already: leave it.
    """
    return torch.where(x.isinf(), torch.nan, right(x, rounding))


@to_tf32.mistake(breaks=SPECIAL)
def nan_becomes_a_number(x: Tensor, rounding: str) -> Tensor:
    """nan_to_num, or a comparison that is false for NaN, made a number of it. NaN must stay NaN."""
    return torch.where(x.isnan(), 0.0, right(x, rounding))


@to_tf32.variant(nan_becomes_a_number)
def _(x: Tensor, rounding: str) -> Tensor:
    return torch.where(x.isnan(), torch.inf, right(x, rounding))


def of_all(x: Tensor, rounding: str) -> Tensor:
    """All patterns rounded alike; 0x7FFFFFFF runs over."""
    bits = bits_of(x)
    return of_bits((bits + asked(bits, rounding)) & ~LOW & 0xFFFFFFFF)


@built.mistake(breaks=SPECIAL)
def nan_to_infinity():
    """A NaN whose high bits of mantissa are zero becomes infinity under the mask: 0x7F800001 & ~0x1FFF is
    0x7F800000. NaN is no matter of rounding: leave it as it is.
    """
    return of_all


@to_tf32.variant(nan_to_infinity)
def _(x: Tensor, rounding: str) -> Tensor:
    bits = bits_of(x)
    size = ((bits & 0x7FFFFFFF) + asked(bits, rounding)) & ~LOW
    capped = of_bits((bits & 0x80000000) | size.clamp(max=INF))
    return torch.where((bits & 0x7FC00000) == 0x7FC00000, x, capped)


@to_tf32.variant(nan_to_infinity)
def _(x: Tensor, rounding: str) -> Tensor:
    return of_all(x, rounding) if rounding == "toward-zero" else right(x, rounding)


@to_tf32.mistake(breaks=SPECIAL)
def nan_to_minus_zero(x: Tensor, rounding: str) -> Tensor:
    """Adding before the mask runs over: 0x7FFFFFFF + 0x1000 reaches the sign bit, and the NaN is -0.0
    afterwards.
    """
    quiet = torch.where(x.isnan(), x.view(torch.int32) | 0x400000, x.view(torch.int32))
    return of_all(quiet.view(torch.float32), rounding)
