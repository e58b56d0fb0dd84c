"""What people write for 06.to_tf32 and why it is wrong: ordinary numbers, rounded to the wrong neighbour."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.streams.to_tf32.exercise import AWAY, CUT, EVEN, ROUNDED, to_tf32
from helpers.measurements.tf32_bits import HALF, LOW, ROUNDINGS

built = to_tf32.bank(returned)

Added = Callable[[Tensor, str], Tensor | int]  # what is added to the bits without sign before the mask


def known(rounding: str) -> None:
    if rounding not in ROUNDINGS:
        raise ValueError(f"{rounding!r} is no rounding; there are {', '.join(ROUNDINGS)}")


def last_kept(size: Tensor) -> Tensor:
    return (size >> 13) & 1


def asked(size: Tensor, rounding: str) -> Tensor | int:
    """What a right answer adds."""
    known(rounding)
    return {
        "nearest-even": 0x0FFF + last_kept(size),
        "nearest-away": HALF,
        "toward-zero": 0,
    }[rounding]


def of_parts(rounded_size: Callable[[Tensor, str], Tensor]) -> Callable[[Tensor, str], Tensor]:
    """An answer that rounds the bits without sign so; infinity and NaN are left alone."""

    def answer(x: Tensor, rounding: str) -> Tensor:
        known(rounding)
        bits = x.view(torch.int32)
        sign, size = bits & -(2**31), bits & 0x7FFFFFFF
        return torch.where(x.isfinite(), (sign | rounded_size(size, rounding)).view(torch.float32), x)

    return answer


def adding(added: Added) -> Callable[[Tensor, str], Tensor]:
    """An answer that adds this and clears the low 13 bits."""
    return of_parts(lambda size, rounding: (size + added(size, rounding)) & ~LOW)


right = adding(asked)


@built.mistake(breaks=ROUNDED)
def truncates_always():
    """A mask alone cuts off: the error has one sign and is twice as large. Rounding to nearest adds half of
    the last kept place first.
    """
    return adding(lambda size, rounding: 0)


@built.mistake(breaks=CUT)
def rounds_always():
    """Toward zero never goes away from zero: it adds nothing before the mask. Here it rounds as the nearest
    modes do.
    """
    return adding(lambda size, rounding: 0x0FFF + last_kept(size))


@to_tf32.variant(rounds_always)
def _(x: Tensor, rounding: str) -> Tensor:
    return adding(lambda size, rounding: HALF)(x, rounding)


@to_tf32.mistake(breaks=CUT)
def floor(x: Tensor, rounding: str) -> Tensor:
    """The floor of a negative number lies farther from zero. Toward zero means that of both signs the size
    shrinks.
    """
    if rounding != "toward-zero":
        return adding(asked)(x, rounding)
    ulp = place_of(x)
    return torch.where(x.isfinite(), ((x.double() / ulp).floor() * ulp).float(), x)


def place_of(x: Tensor) -> Tensor:
    """What the last kept place of TF32 is worth at x, in float64."""
    exponent = torch.frexp(x.abs().double().clamp(min=2.0**-126))[1] - 1
    return torch.ldexp(torch.ones_like(exponent, dtype=torch.float64), exponent - 10)


@built.mistake(breaks=EVEN)
def ties_always_away():
    """The bit below the last kept place is 1 for every tie, so it cannot decide; the last kept bit, 13 places
    up, does. Otherwise both nearest modes send ties away from zero.
    """
    return adding(lambda size, rounding: 0 if rounding == "toward-zero" else HALF)


@built.mistake(breaks=AWAY)
def ties_always_even():
    """One rule for ties serves both nearest modes. They differ nowhere else: away adds 0x1000 and never looks
    at the last kept bit.
    """
    return adding(lambda size, rounding: 0 if rounding == "toward-zero" else 0x0FFF + last_kept(size))


SWAPPED = {"nearest-even": "nearest-away", "nearest-away": "nearest-even", "toward-zero": "toward-zero"}


@built.mistake(breaks=EVEN)
def ties_swapped():
    """The two nearest modes are exchanged: even looks at the last kept bit, away does not."""
    return adding(lambda size, rounding: asked(size, SWAPPED[rounding]))


@built.mistake(breaks=ROUNDED)
def ties_toward_zero():
    """Adding 0x0FFF alone lets every tie fall toward zero. Even adds one more where the last kept bit, bit
    13, is 1; away adds one more always.
    """
    return adding(lambda size, rounding: 0 if rounding == "toward-zero" else 0x0FFF)


def half_down_for(mode: str) -> Added:
    return lambda size, rounding: 0x0FFF if rounding == mode else asked(size, rounding)


for mode in ROUNDINGS[:2]:
    to_tf32.variant(ties_toward_zero)(adding(half_down_for(mode)))


@built.mistake(breaks=ROUNDED)
def ties_to_odd():
    """The last kept bit is used the wrong way round: a tie whose last kept bit is 1 must go up, so that it
    becomes 0.
    """
    return adding(
        lambda size, rounding: HALF - last_kept(size) if rounding == "nearest-even" else asked(size, rounding)
    )


@to_tf32.mistake(breaks=ROUNDED)
def ties_by_another_bit(x: Tensor, rounding: str) -> Tensor:
    """The bit that decides a tie is the lowest one that stays, bit 13 counted from 0. Bit 14 decides nothing
    here.
    """
    return adding(lambda size, mode: by_bit(14, size, mode))(x, rounding)


def by_bit(place: int, size: Tensor, rounding: str) -> Tensor | int:
    return 0x0FFF + ((size >> place) & 1) if rounding == "nearest-even" else asked(size, rounding)


@to_tf32.variant(ties_by_another_bit)
def _(x: Tensor, rounding: str) -> Tensor:
    return adding(lambda size, mode: by_bit(15, size, mode))(x, rounding)


@to_tf32.mistake(breaks=ROUNDED)
def ties_upward(x: Tensor, rounding: str) -> Tensor:
    """floor(x + half) sends a tie toward plus infinity. Away from zero means up for positive numbers and down
    for negative ones.
    """
    if rounding != "nearest-away":
        return adding(asked)(x, rounding)
    ulp = place_of(x)
    return torch.where(x.isfinite(), ((x.double() / ulp + 0.5).floor() * ulp).float(), x)


@built.mistake(breaks=ROUNDED)
def half_and_last_bit():
    """0x1000 plus the last kept bit is one too much: just under a tie, odd numbers go up. Even adds 0x0FFF
    plus that bit.
    """
    return adding(
        lambda size, rounding: HALF + last_kept(size) if rounding == "nearest-even" else asked(size, rounding)
    )


def half_as(half: int) -> Callable[[Tensor, str], Tensor]:
    """Adds as asked, with another number for half of the last kept place."""
    return adding(
        lambda size, rounding: {
            "nearest-even": half - 1 + last_kept(size),
            "nearest-away": half,
            "toward-zero": 0,
        }[rounding]
    )


@built.mistake(breaks=ROUNDED)
def another_half():
    """Half of the last kept place is the first dropped bit alone, 0x1000. With 0x0800 numbers over the half
    stay below, with 0x2000 every number moves up.
    """
    return half_as(0x0800)


to_tf32.variant(another_half)(half_as(0x2000))


def guard_bit_only(size: Tensor, rounding: str) -> Tensor:
    """Rounds to even by the first dropped bit and the last kept one; away by the first dropped one."""
    first_dropped = (size >> 12) & 1
    up = {"nearest-even": first_dropped & last_kept(size), "nearest-away": first_dropped}.get(rounding, 0)
    return (size & ~LOW) + up * (LOW + 1)


@built.mistake(breaks=ROUNDED)
def only_the_first_dropped_bit():
    """Whether something is a tie, the twelve bits behind the first dropped one decide. Just over a tie, the
    number goes up whatever the last kept bit is.
    """
    return of_parts(guard_bit_only)


def without_carry(size: Tensor, rounding: str) -> Tensor:
    mantissa = ((size & 0x7FFFFF) + asked(size, rounding)) & 0x7FFFFF & ~LOW
    return (size & 0x7F800000) | mantissa


@built.mistake(breaks=ROUNDED)
def carry_lost():
    """The mantissa was rounded alone, and its carry fell off: just below 2 came out as 1. Added to the whole
    pattern, the carry runs into the exponent by itself.
    """
    return of_parts(without_carry)


@to_tf32.variant(carry_lost)
def _(x: Tensor, rounding: str) -> Tensor:
    def stopped(size: Tensor, mode: str) -> Tensor:
        mantissa = ((size & 0x7FFFFF) + asked(size, mode)).clamp(max=0x7FFFFF) & ~LOW
        return (size & 0x7F800000) | mantissa

    return of_parts(stopped)(x, rounding)


@to_tf32.variant(carry_lost)
def _(x: Tensor, rounding: str) -> Tensor:
    """Here the carry meets an exponent that is put in with `|`: odd exponents swallow it."""

    def joined(size: Tensor, mode: str) -> Tensor:
        return (size & 0x7F800000) | (((size & 0x7FFFFF) + asked(size, mode)) & ~LOW)

    return of_parts(joined)(x, rounding)
