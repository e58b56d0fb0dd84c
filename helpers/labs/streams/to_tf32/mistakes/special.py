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
    """The tenth bit of the mantissa is lost. Perhaps 14 bits were dropped: 23 - 10 = 13."""
    return keeping(9)


to_tf32.variant(one_bit_too_few)(with_mask(0x3FFF))


@built.mistake(breaks=ROUNDED)
def one_bit_too_many():
    """An eleventh bit of mantissa is left. Perhaps 12 bits were dropped: 23 - 10 = 13."""
    return keeping(11)


to_tf32.variant(one_bit_too_many)(with_mask(0x0FFF))


@built.mistake(breaks=ROUNDED)
def drops_ten_bits():
    """More than ten bits of mantissa are left. Perhaps ten were dropped: ten are kept, thirteen go."""
    return keeping(13)


to_tf32.variant(drops_ten_bits)(with_mask(0x03FF))


@to_tf32.mistake(breaks=ROUNDED)
def through_bfloat16(x: Tensor, rounding: str) -> Tensor:
    """The last three of the ten bits are lost. Perhaps on the way through bfloat16, which has the range of
    TF32 and only 7 bits of mantissa, or by clearing 16 bits as if it were bfloat16.
    """
    known(rounding)
    return x.to(torch.bfloat16).to(torch.float32)


@to_tf32.mistake(breaks=ROUNDED)
def through_float16(x: Tensor, rounding: str) -> Tensor:
    """Large numbers became infinity, and small ones zero. Perhaps on the way through float16: it has the
    mantissa of TF32 and only 5 bits of exponent, from 6e-8 to 65504.
    """
    known(rounding)
    return x.half().float()


@to_tf32.mistake(breaks=ROUNDED)
def a_fixed_place(x: Tensor, rounding: str) -> Tensor:
    """Small numbers became zero, which TF32 holds as they are. Perhaps all were rounded at one place, such
    as multiples of 2**-10. Ten bits of mantissa are ten binary places behind the first one of each number.
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
    """What TF32 holds became something else altogether. Perhaps by `x.to(torch.int32)`, which converts the
    number: 1.7 becomes 1. `x.view(torch.int32)` reads the same 32 bits as an integer.
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
    """Every result is positive. Perhaps the sign was set aside and never put back."""
    return right(x.abs(), rounding)


@to_tf32.mistake(breaks=SUBNORMALS)
def subnormals_flushed(x: Tensor, rounding: str) -> Tensor:
    """Numbers below 2**-126 became zero. Perhaps arithmetic did it, or an exponent of 0 was taken for zero.
    Their pattern is rounded like every other; whether a device flushes them is a different question.
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
    """Subnormals came back unrounded. Perhaps an exponent of 0 is treated like that of infinity. Only the
    exponent of all ones is special here.
    """
    return torch.where(x.abs() < 2.0**-126, x, right(x, rounding))


@to_tf32.mistake(breaks=SUBNORMALS)
def subnormals_normalised(x: Tensor, rounding: str) -> Tensor:
    """The smaller subnormals have bits left behind the last kept place. Perhaps each was rounded to eleven
    digits of its own, as by frexp or by arithmetic. In the pattern of a subnormal the places are fixed: bit
    13 is worth 2**-136 whatever stands before it.
    """
    known(rounding)
    mantissa, exponent = torch.frexp(x.double())
    exact = torch.ldexp(to_whole(mantissa * 2048, rounding), exponent - 11)
    return torch.where(x.isfinite(), exact.float(), x)


@to_tf32.mistake(breaks=SIGNS)
def minus_zero_lost(x: Tensor, rounding: str) -> Tensor:
    """A minus zero became plus zero: the sign bit counts although the number is zero. Perhaps the sign is
    that of x < 0, or 0.0 was put in for all zeros. Take it from the bits.
    """
    size = right(x.abs(), rounding)
    return torch.where(x < 0, -size, size)


@to_tf32.variant(minus_zero_lost)
def _(x: Tensor, rounding: str) -> Tensor:
    return right(x, rounding) + 0.0


@to_tf32.mistake(breaks=BEYOND)
def saturates(x: Tensor, rounding: str) -> Tensor:
    """The largest float32 stayed finite. It lies above the largest TF32 number, 0x7F7FE000, by more than
    half a place: the nearest modes give infinity, as for every overflow of a rounding.
    """
    largest = 3.4011621342146535e38
    return torch.where(x.isfinite(), right(x, rounding).clamp(-largest, largest), x)


@to_tf32.variant(saturates)
def _(x: Tensor, rounding: str) -> Tensor:
    result = right(x, rounding)
    return torch.where(x.isfinite() & result.isinf(), x, result)


@to_tf32.mistake(breaks=BEYOND)
def scaled_in_float32(x: Tensor, rounding: str) -> Tensor:
    """Some of the largest numbers became NaN or infinity too early. Perhaps arithmetic in float32 overflows
    on the way: x times 8193 is infinite for the largest x, and infinity minus infinity is NaN. On the bits
    nothing can overflow.
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
    """Infinity became NaN. Perhaps it went through arithmetic, inf - inf or 0 * inf, or NaN was put in for all that is
    not finite. Its pattern is a TF32 number already: leave it.
    """
    return torch.where(x.isinf(), torch.nan, right(x, rounding))


@to_tf32.mistake(breaks=SPECIAL)
def nan_becomes_a_number(x: Tensor, rounding: str) -> Tensor:
    """NaN became a number. Perhaps by nan_to_num, or by a comparison, which is false for NaN. NaN must stay
    NaN.
    """
    return torch.where(x.isnan(), 0.0, right(x, rounding))


@to_tf32.mistake(breaks=SPECIAL)
def every_nan_to_infinity(x: Tensor, rounding: str) -> Tensor:
    """NaN became infinity, torch.nan too. Perhaps infinity was put in for all that is not finite, or the whole mantissa
    was cleared. NaN must stay NaN.
    """
    return torch.where(x.isnan(), torch.inf, right(x, rounding))


def of_all(x: Tensor, rounding: str) -> Tensor:
    """All patterns rounded alike; 0x7FFFFFFF runs over."""
    bits = bits_of(x)
    return of_bits((bits + asked(bits, rounding)) & ~LOW & 0xFFFFFFFF)


@built.mistake(breaks=SPECIAL)
def nan_to_infinity():
    """A NaN whose high bits of mantissa are zero became infinity. Perhaps by the mask: 0x7F800001 & ~0x1FFF
    is 0x7F800000. NaN is no matter of rounding: leave it as it is.
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
def nan_with_a_sign_to_infinity(x: Tensor, rounding: str) -> Tensor:
    """A NaN with the sign bit became minus infinity, one without it stayed NaN. Perhaps all bits are compared with
    0x7F800000, and the sign bit was not taken off: with it, the int32 is negative.
    """
    return torch.where(x.view(torch.int32) > INF, x, of_all(x, rounding))


@to_tf32.mistake(breaks=SPECIAL)
def nan_to_minus_zero(x: Tensor, rounding: str) -> Tensor:
    """A NaN whose bits are ones became zero. Perhaps by adding before the mask, which runs over: 0x7FFFFFFF
    + 0x1000 reaches the sign bit.
    """
    quiet = torch.where(x.isnan(), x.view(torch.int32) | 0x400000, x.view(torch.int32))
    return of_all(quiet.view(torch.float32), rounding)
