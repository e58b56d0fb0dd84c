"""What people write for 06.to_tf32 and why it is wrong: ordinary numbers, rounded to the wrong neighbour."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.streams.shared.rounding import bits_of, of_bits
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


@built.mistake(breaks=AWAY)
def half_subtracted_below_zero():
    """In "nearest-away" negative numbers come out nearer to zero than they are, by one place. Perhaps half is subtracted
    from their bits. The sign is a bit of its own: without it, what is farther from zero is larger for both signs.
    """
    return lambda x, rounding: of_bits(
        bits_of(right(x, rounding))
        if rounding != "nearest-away"
        else torch.where(
            x.isfinite(), bits_of(x) + torch.where(x.view(torch.int32) < 0, -HALF, HALF) & ~LOW, bits_of(x)
        )
    )


@built.mistake(breaks=ROUNDED)
def not_masked():
    """What TF32 holds is about half a place off in a nearest mode. Perhaps half was added, and the low 13 bits were not cleared
    behind it.
    """
    return of_parts(
        lambda size, rounding: (
            size + HALF if rounding == "nearest-away" else (size + asked(size, rounding)) & ~LOW
        )
    )


to_tf32.variant(not_masked)(of_parts(lambda size, rounding: size + asked(size, rounding)))


@built.mistake(breaks=ROUNDED)
def truncates_always():
    """In a nearest mode, numbers past the middle between two neighbours are cut off. Perhaps by a mask alone, or only ties
    were looked at. Rounding to nearest adds half of the last kept place first, to all.
    """
    return adding(lambda size, rounding: 0)


@built.mistake(breaks=CUT)
def rounds_always():
    """Numbers were moved away from zero, to the nearer neighbour. Perhaps something is added before the
    mask, as the nearest modes do. Toward zero adds nothing.
    """
    return adding(lambda size, rounding: 0x0FFF + last_kept(size))


@to_tf32.variant(rounds_always)
def _(x: Tensor, rounding: str) -> Tensor:
    return adding(lambda size, rounding: HALF)(x, rounding)


@to_tf32.mistake(breaks=CUT)
def floor(x: Tensor, rounding: str) -> Tensor:
    """Negative numbers were moved away from zero. Perhaps by a floor, which lies farther down. Toward zero
    means that of both signs the size shrinks.
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
    """To even, every tie goes away from zero. Perhaps the bit below the last kept place decides, which is 1
    for every tie; or both nearest modes do the same. The last kept bit, 13 places up, decides.
    """
    return adding(lambda size, rounding: 0 if rounding == "toward-zero" else HALF)


@built.mistake(breaks=AWAY)
def ties_always_even():
    """Away from zero, ties still go to even. Perhaps one rule serves both nearest modes. Away adds 0x1000
    and never looks at the last kept bit.
    """
    return adding(lambda size, rounding: 0 if rounding == "toward-zero" else 0x0FFF + last_kept(size))


SWAPPED = {"nearest-even": "nearest-away", "nearest-away": "nearest-even", "toward-zero": "toward-zero"}


@built.mistake(breaks=EVEN)
def ties_swapped():
    """To even, ties go away from zero, and the other mode sends them to even. Perhaps the two are
    exchanged: even looks at the last kept bit, away does not.
    """
    return adding(lambda size, rounding: asked(size, SWAPPED[rounding]))


@built.mistake(breaks=ROUNDED)
def ties_toward_zero():
    """Every tie goes toward zero. Perhaps 0x0FFF alone is added. Even adds one more where the last kept
    bit, bit 13, is 1; away adds one more always.
    """
    return adding(lambda size, rounding: 0 if rounding == "toward-zero" else 0x0FFF)


def half_down_for(mode: str) -> Added:
    return lambda size, rounding: 0x0FFF if rounding == mode else asked(size, rounding)


for mode in ROUNDINGS[:2]:
    to_tf32.variant(ties_toward_zero)(adding(half_down_for(mode)))


@built.mistake(breaks=ROUNDED)
def ties_to_odd():
    """To even, every tie goes to the odd neighbour. Perhaps the last kept bit is used the wrong way round:
    a tie whose last kept bit is 1 must go up, so that it becomes 0.
    """
    return adding(
        lambda size, rounding: HALF - last_kept(size) if rounding == "nearest-even" else asked(size, rounding)
    )


@to_tf32.mistake(breaks=ROUNDED)
def ties_by_another_bit(x: Tensor, rounding: str) -> Tensor:
    """Ties go to even and to odd neighbours alike. Perhaps a bit decides that is not the last kept one:
    this is bit 13, counted from 0.
    """
    return adding(lambda size, mode: by_bit(14, size, mode))(x, rounding)


def by_bit(place: int, size: Tensor, rounding: str) -> Tensor | int:
    return 0x0FFF + ((size >> place) & 1) if rounding == "nearest-even" else asked(size, rounding)


@to_tf32.variant(ties_by_another_bit)
def _(x: Tensor, rounding: str) -> Tensor:
    return adding(lambda size, mode: by_bit(15, size, mode))(x, rounding)


@to_tf32.mistake(breaks=ROUNDED)
def ties_upward(x: Tensor, rounding: str) -> Tensor:
    """Ties go toward plus infinity, those of negative numbers, too. Perhaps by floor(x + half). Away from
    zero means up for positive numbers and down for negative ones.
    """
    if rounding != "nearest-away":
        return adding(asked)(x, rounding)
    ulp = place_of(x)
    return torch.where(x.isfinite(), ((x.double() / ulp + 0.5).floor() * ulp).float(), x)


@built.mistake(breaks=ROUNDED)
def half_and_last_bit():
    """Just under a tie, odd numbers go up. Perhaps 0x1000 plus the last kept bit is added, which is one too
    much. Even adds 0x0FFF plus that bit.
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
    """Numbers do not go to the nearer neighbour. Perhaps what is added is not half of the last kept place,
    which is the first dropped bit alone, 0x1000. With 0x0800 numbers over the half stay below, with 0x2000
    every number moves up.
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
    """Just over a tie, numbers whose last kept bit is 0 stay below. Perhaps the first dropped bit alone
    decides. Whether something is a tie, the twelve bits behind it say.
    """
    return of_parts(guard_bit_only)


def without_carry(size: Tensor, rounding: str) -> Tensor:
    mantissa = ((size & 0x7FFFFF) + asked(size, rounding)) & 0x7FFFFF & ~LOW
    return (size & 0x7F800000) | mantissa


@built.mistake(breaks=ROUNDED)
def carry_lost():
    """A mantissa of ones does not become the next power of two. Perhaps it was rounded alone, and its carry
    fell off or was held back. Added to the whole pattern, the carry runs into the exponent by itself.
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
