"""Exercise 06.to_tf32: what a tensor core makes of a float32 before it multiplies."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.shared.rounding import (
    INF,
    SIGN,
    bits_of,
    described,
    normals,
    of_bits,
    sort_of,
    tf32,
    without_payload,
)
from helpers.measurements.tf32_bits import HALF, LOW, ROUNDINGS

to_tf32 = Exercise(
    "06.to_tf32",
    "TF32 to the bit",
    objective="Round float32 to the 10 bits of mantissa that TF32 keeps, in three ways, on the bits themselves.",
    minutes=30,
    difficulty="medium",
    hints=[
        "`x.view(torch.int32)` shows the bits of x: 1 of sign, 8 of exponent, 23 of mantissa. Which of them does TF32 "
        "drop, and what is the mask that clears them?",
        "Without the sign, the bits of a larger number are a larger integer. So to round is to add something to "
        "that integer and to clear the low 13 bits; a carry runs into the exponent, where it belongs. Half of the last "
        "kept place is 0x1000.",
        "Toward zero adds 0. Away adds 0x1000. Even adds 0x0FFF and the lowest kept bit, `(bits >> 13) & 1`. Now look "
        "at the exponent of all ones: infinity and NaN must not be touched. "
        "`torch.where(x.isfinite(), rounded, x)` does it; a rounding that you do not know is a ValueError.",
    ],
)

ROUNDED = "x rounded to TF32: 8 bits of exponent, 10 of mantissa, in a float32 whose last 13 bits are 0."
EVEN = '"nearest-even": a tie goes to the neighbour whose last kept bit is 0.'
AWAY = '"nearest-away": a tie goes to the neighbour farther from zero.'
CUT = '"toward-zero": the low bits are cut off.'
WORDS = "A different word, or a different spelling, is a ValueError."
NEW = "The result is a new float32 tensor of the shape of x, which stays as it is."
SIGNS = "Each number keeps its sign, zero too."
SPECIAL = "NaN stays NaN (which one is yours to choose), inf stays inf."
SUBNORMALS = "Subnormals are rounded at the same bit and kept."
BEYOND = (
    "What rounds beyond the largest TF32 number is inf: 0x7F7FFFFF becomes inf in both nearest modes, and 0x7F7FE000 toward "
    "zero."
)
LOOP = "No loop over the elements."


Answer = Callable[[Tensor, str], Tensor]
NEAREST = ROUNDINGS[:2]


def require_tensor(trial: Trial, got: Any, shape: Sequence[int]) -> Tensor:
    """`got`, if it is a float32 tensor of this shape that hangs on no graph."""
    ok = type(got) is Tensor and got.dtype == torch.float32 and got.shape == tuple(shape)
    if not ok:
        kind = (
            (str(got.dtype), "shape" if got.shape != tuple(shape) else "")
            if isinstance(got, Tensor)
            else (type(got).__name__, "")
        )
        trial.fail(
            "The result is None. Is a `return` missing?"
            if got is None
            else "The result is not a float32 tensor of the shape of x.",
            expected=f"float32 tensor of shape {tuple(shape)}",
            got=got,
            observed=("kind", *kind),
        )
    return got


def require(
    answer: Answer, trial: Trial, patterns: Tensor, *roundings: str, what: str, by_sort: bool = False
) -> None:
    """Wrong unless these patterns are rounded bit for bit. what: the numbers that are tried, for people.

    by_sort: a mistake is known by what became of which sort of number, not by the numbers themselves.
    """
    for rounding in roundings:
        trial.given(f'"{rounding}", {what}')
        want = without_payload(bits_of(tf32(of_bits(patterns), rounding)))
        got = require_tensor(trial, answer(of_bits(patterns), rounding), patterns.shape)
        have = without_payload(bits_of(got))
        off = (have != want).nonzero().flatten().tolist()
        if off:
            sorts = {(sort_of(int(want[at])), sort_of(int(have[at]))) for at in off}
            first = off[0]
            trial.fail(
                f"{len(off)} of {patterns.numel()} numbers are not rounded as asked. "
                f"The first: {described(int(patterns[first]))}.",
                expected="a NaN" if sort_of(int(want[first])) == "nan" else described(int(want[first])),
                got=described(int(have[first])),
                observed=sorted(sorts) if by_sort else (rounding, have.tolist()),
            )


@to_tf32.property("a float32 tensor of the shape of x comes back", asks=NEW)
def kind(answer: Answer, trial: Trial) -> None:
    x = torch.randn(3, 5, generator=trial.generator)
    for rounding in ROUNDINGS:
        trial.given(f'"{rounding}", x of shape (3, 5)')
        require_tensor(trial, answer(x.clone(), rounding), (3, 5))


@to_tf32.property(
    "a number that TF32 holds stays as it is, with its sign", asks=(ROUNDED, SIGNS), once_right=True
)
def held(answer: Answer, trial: Trial) -> None:
    require(answer, trial, normals(trial, [0] * 12), *ROUNDINGS, what="numbers whose low 13 bits are zero")


@to_tf32.property(
    "toward zero: the low 13 bits are cleared, and nothing else changes", asks=CUT, once_right=True
)
def toward_zero(answer: Answer, trial: Trial) -> None:
    low = [1, 0x0800, 0x0FFF, HALF, 0x1001, 0x1800, LOW]
    require(answer, trial, normals(trial, low), "toward-zero", what="numbers of both signs")


@to_tf32.property("to nearest: what is no tie goes to the nearer neighbour", asks=ROUNDED, once_right=True)
def nearer(answer: Answer, trial: Trial) -> None:
    low = [1, 0x07FF, 0x0FFF, 0x1001, 0x1801, LOW]
    require(answer, trial, normals(trial, low), *NEAREST, what="numbers of both signs that are no tie")


@to_tf32.property(
    "to nearest: a mantissa of ones rounds up to the next power of two", asks=ROUNDED, once_right=True
)
def carried(answer: Answer, trial: Trial) -> None:
    patterns = normals(trial, [0x1001, 0x1801, LOW]) | (0x3FF << 13)
    require(answer, trial, patterns, *NEAREST, what="numbers just below a power of two")


_BEFORE_TIES = (kind, held, toward_zero, nearer, carried)


@to_tf32.property(
    "nearest-even: a tie goes to the neighbour whose last bit is 0", asks=EVEN, after=_BEFORE_TIES
)
def ties_to_even(answer: Answer, trial: Trial) -> None:
    require(answer, trial, normals(trial, [HALF] * 8), "nearest-even", what="ties: low 13 bits 0x1000")


@to_tf32.property(
    "nearest-away: a tie goes to the neighbour farther from zero", asks=AWAY, after=_BEFORE_TIES
)
def ties_away(answer: Answer, trial: Trial) -> None:
    require(answer, trial, normals(trial, [HALF] * 8), "nearest-away", what="ties: low 13 bits 0x1000")


@to_tf32.property("x stays as it is, and the result is a tensor of its own", asks=NEW, once_right=True)
def unchanged(answer: Answer, trial: Trial) -> None:
    for name, patterns in (
        ("numbers that are rounded", normals(trial, [1, HALF, LOW])),
        ("numbers that TF32 holds", normals(trial, [0, 0, 0])),
    ):
        for rounding in ROUNDINGS:
            x = of_bits(patterns)
            trial.given(f'"{rounding}", {name}')
            got = require_tensor(trial, trial.call(answer, x, rounding), x.shape)
            trial.true(
                got.untyped_storage().data_ptr() != x.untyped_storage().data_ptr(),
                "The result shares its memory with x: who edits one of them edits both.",
                expected="a new tensor",
                got="x itself, or a view of it",
                observed="shared",
            )


@to_tf32.property(
    "very small numbers: subnormals are rounded like all others, and kept", asks=SUBNORMALS, once_right=True
)
def subnormals(answer: Answer, trial: Trial) -> None:
    patterns = normals(trial, [0, 1, 0x0FFF, HALF, 0x1001, LOW], exponents=(0, 0))
    least = torch.tensor([0x1001, LOW, 0x2FFF, 0x3000, 0x007FF000, 0x007FFFFF])
    what = "numbers below 2**-126, of both signs"
    require(answer, trial, torch.cat([patterns, least]), *ROUNDINGS, what=what)


@to_tf32.property("zero keeps its sign, and so does what is rounded to zero", asks=SIGNS, once_right=True)
def zeros(answer: Answer, trial: Trial) -> None:
    patterns = torch.tensor([0, SIGN, 1, SIGN | 1])
    require(answer, trial, patterns, *ROUNDINGS, what="x = [0.0, -0.0, 2**-149, -(2**-149)]", by_sort=True)


@to_tf32.property(
    "very large numbers: the largest rounds to infinity, or toward zero", asks=BEYOND, once_right=True
)
def largest(answer: Answer, trial: Trial) -> None:
    edge = torch.tensor([0x7F7FDFFF, 0x7F7FE000, 0x7F7FE001, 0x7F7FEFFF, 0x7F7FF000, 0x7F7FF001, 0x7F7FFFFF])
    patterns = torch.cat([edge, edge | SIGN, normals(trial, [0, 1, HALF, LOW], exponents=(240, 254))])
    require(
        answer,
        trial,
        patterns,
        *ROUNDINGS,
        what="numbers up to 0x7F7FFFFF, the largest float32",
        by_sort=True,
    )


@to_tf32.property("infinity stays infinity, and torch.nan stays NaN", asks=SPECIAL, once_right=True)
def infinite(answer: Answer, trial: Trial) -> None:
    patterns = torch.tensor([INF, INF | SIGN, 0x7FC00000, 0xFFC00000])
    require(answer, trial, patterns, *ROUNDINGS, what="x = [inf, -inf, nan, -nan]", by_sort=True)


@to_tf32.property(
    "a NaN stays NaN, also when only its low bits tell it from infinity", asks=SPECIAL, once_right=True
)
def faint_nans(answer: Answer, trial: Trial) -> None:
    faint = torch.tensor([0x7F800001, 0x7F800FFF, 0x7F801000, 0x7F801001, 0x7F801FFF])
    patterns = torch.cat([faint, faint | SIGN])
    require(
        answer,
        trial,
        patterns,
        *ROUNDINGS,
        what="NaNs whose ten high bits of mantissa are zero",
        by_sort=True,
    )


@to_tf32.property("a NaN stays NaN, also when all its bits are ones", asks=SPECIAL, once_right=True)
def full_nans(answer: Answer, trial: Trial) -> None:
    full = torch.tensor([0x7FFFFFFF, 0x7FFFF000, 0x7FFFEFFF, 0x7FFFE000])
    patterns = torch.cat([full, full | SIGN])
    require(answer, trial, patterns, *ROUNDINGS, what="NaNs up to 0x7FFFFFFF", by_sort=True)


@to_tf32.property("every shape: 0-d, empty, and tensors that are not contiguous", asks=NEW, once_right=True)
def shapes(answer: Answer, trial: Trial) -> None:
    base = of_bits(normals(trial, [1, HALF, LOW, 0, HALF, 0x1001]))  # 24 numbers
    for name, x in (
        ("a transposed x of shape (6, 4)", base.view(4, 6).T),
        ("every second column of a (4, 6) tensor", base.view(4, 6)[:, ::2]),
        ("a row, expanded to (3, 24)", base.expand(3, 24)),
        ("a permuted x of shape (4, 2, 3)", base.view(2, 3, 4).permute(2, 0, 1)),
        ("x of shape (2, 3, 2, 2), channels last", _channels_last(base.view(2, 3, 2, 2))),
        ("x of shape (1, 24, 1)", base.view(1, 24, 1)),
        ("a 0-d x", base[5]),
        ("an empty x of shape (0,)", base[:0]),
        ("an empty x of shape (0, 3)", base[:0].view(0, 3)),
    ):
        for rounding in ROUNDINGS:
            trial.given(f'"{rounding}", {name}')
            got = require_tensor(trial, answer(x, rounding), x.shape)
            want = tf32(x.contiguous(), rounding)
            off = (bits_of(got) != bits_of(want)).nonzero().tolist()
            if off:
                at = tuple(off[0])
                trial.fail(
                    f"Right for a contiguous x, wrong here: {len(off)} of {x.numel()} numbers, the first at {list(at)}.",
                    expected=described(int(bits_of(want[at]))),
                    got=described(int(bits_of(got[at]))),
                    observed=(name, rounding),
                )


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


@to_tf32.property(
    "no loop over the elements: as many steps of Python for 4096 as for 64", asks=LOOP, once_right=True
)
def vectorised(answer: Answer, trial: Trial) -> None:
    few, many = (torch.randn(count, generator=trial.generator) for count in (64, 4096))
    for rounding in ROUNDINGS:
        trial.given(f'"{rounding}", x of 64 and of 4096 elements')
        more = steps(answer, many, rounding) - steps(answer, few, rounding)
        trial.true(
            more < 1000,
            "For 4096 elements the answer runs many more lines of Python than for 64: it goes through them one by one.",
            expected="a few operations on the whole tensor",
            got=f"about {round(more / (4096 - 64), 1):g} more steps for each further element",
            observed="a loop",
        )


def steps(answer: Answer, x: Tensor, rounding: str) -> int:
    """How many lines of Python and calls run in this thread; no clock, so no load of the machine is seen."""
    count = 0

    def notice(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return notice

    before = sys.gettrace()
    sys.settrace(notice)
    try:
        answer(x, rounding)
    finally:
        sys.settrace(before)
    return count


@to_tf32.property("32,768 random patterns, of all kinds", asks=ROUNDED, once_right=True)
def random_patterns(answer: Answer, trial: Trial) -> None:
    patterns = torch.randint(0, 2**32, (2**15,), generator=trial.generator)
    require(answer, trial, patterns, *ROUNDINGS, what="random patterns", by_sort=True)


PARTS = ("nearest", "even", "away", "zero", "", "toward", "nearest-evenly", "toward-even", "not-nearest-away")
"""Words that have something in common with a known one."""
SPELT = (
    "Nearest-Even",
    "NEAREST-AWAY",
    "nearest_even",
    "toward_zero",
    "nearest away",
    "nearesteven",
    " toward-zero",
    "nearest-even\n",
)
"""Known words in a different spelling."""


@to_tf32.property("a rounding that is none of the three is a ValueError", asks=WORDS, once_right=True)
def other_roundings(answer: Answer, trial: Trial) -> None:
    x = torch.randn(4, generator=trial.generator)
    trial.given('rounding = "up"')
    trial.raises(ValueError, lambda: answer(x, "up"), 'for "up"')
    for words, observed in ((PARTS, "part of a word taken"), (SPELT, "a different spelling taken")):
        for rounding in words:
            trial.given(f"rounding = {rounding!r}")
            trial.true(
                not _taken(answer, x, rounding),
                f'{rounding!r} is none of the three words, and nothing was raised. "up" is refused.',
                expected="ValueError",
                got="a tensor",
                observed=observed,
            )
            trial.raises(ValueError, lambda rounding=rounding: answer(x, rounding), f"for {rounding!r}")
    for name, special in (
        ("an empty x", x[:0]),
        ("a 0-d x", x[0]),
        ("an x of numbers that TF32 holds", torch.ones(3)),
        ("an x of infinities and NaN", torch.tensor([torch.inf, -torch.inf, torch.nan])),
    ):
        trial.given(f'rounding = "up", {name}')
        trial.true(
            not _taken(answer, special, "up"),
            "The word is none of the three, and nothing was raised. For a different x it is refused.",
            expected="ValueError",
            got="a tensor",
            observed=("taken for", name),
        )
        trial.raises(ValueError, lambda special=special: answer(special, "up"), f'for "up" and {name}')


def _taken(answer: Answer, x: Tensor, rounding: str) -> bool:
    """Whether nothing is raised."""
    try:
        answer(x, rounding)
    except Exception:
        return False
    return True
