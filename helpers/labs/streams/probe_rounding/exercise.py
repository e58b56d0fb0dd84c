"""Exercise 06.probe_rounding: ask a matrix product how it rounds what it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.probe_rounding.inputs import (
    MODES,
    OTHERS,
    Matmul,
    backward_sum,
    by_rows,
    by_size,
    device,
    float32_sum,
    float64_sum,
    flushing,
    small_apart,
)
from helpers.labs.streams.shared.rounding import bits_of
from helpers.measurements.tf32_bits import HALF, LOW, ROUNDINGS

probe_rounding = Exercise(
    "06.probe_rounding",
    "Ask the device",
    objective="Choose inputs that make a matrix product show how it rounds its operands.",
    minutes=30,
    difficulty="hard",
    core=False,
    hints=[
        "A product with the identity adds zeros only: what comes out is what the device made of each number. Which "
        "numbers does one rounding change and another not?",
        "The low 13 bits decide: 0x1000 is a tie. Take it behind an even and an odd kept bit, with both signs; take "
        "0x1001 and 0x0FFF beside it. Take all of them near 1, and at 2**40 and 2**-40, where float16 ends.",
        "For n in (64, 128): fill an n x n matrix x with these patterns, and compare `matmul(x, eye)` and "
        "`matmul(eye, x)` by `torch.equal` with `to_tf32(x, mode)` for the three modes and with x (that is "
        '"none"). Only one answer for all of them is an answer; else it is "unknown".',
    ],
)

HOW = "How a device rounds float32 operands before it multiplies."
THREE = '"nearest-even", "nearest-away" or "toward-zero": BOTH operands are rounded to TF32 in that way, at 64 and at 128 rows of the product.'
NONE = '"none": nothing is rounded (full float32).'
UNKNOWN = '"unknown": every other case.'
DIFFERENTLY = "Operands or sizes that are treated differently"
BITS = "bfloat16, float16, another number of bits"
RULES = "other rules for ties or for signs"
SUM = "the sum of two TF32 numbers in place of one float32."
SMALL = "No side is below 64: a small product may take a different kernel, which does not count."
REACH = (
    "The numbers reach at least from 2**-40 to 2**40, where float16 ends; none is subnormal, none overflows."
)
DRAWN = "Nothing is drawn from a global generator."


Answer = Callable[[Matmul], str]
NAMES = (*ROUNDINGS, "none", "unknown")


def message_of(answer: Answer, trial: Trial, matmul: Matmul) -> str:
    """What the answer says of a product, if it is one of the five words."""
    got = trial.call(answer, matmul)
    trial.true(
        isinstance(got, str) and got in NAMES,
        'The result is None, and no word. Is a `return` missing, or is None meant for "none"?'
        if got is None
        else "The result is none of the five words.",
        expected=", ".join(f'"{name}"' for name in NAMES),
        got=f'"{got}"' if isinstance(got, str) else got,
        observed=("kind", str(got) if isinstance(got, str) else type(got).__name__),
    )
    return str(got)


FEW = 1 / 500
"""Of random numbers one in some 8,000 is a tie; whose word they lead to is luck."""


def noting_ties(matmul: Matmul, shares: list[float]) -> Matmul:
    """`matmul`, which notes how many of the numbers to be rounded are ties, until it has seen a matrix made of them."""

    def noted(a: Any, b: Any) -> Any:
        for x in (a, b):
            if isinstance(x, Tensor) and x.dtype == torch.float32 and max(shares, default=0.0) <= FEW:
                low = bits_of(x) & LOW
                if to_round := int((low != 0).sum()):
                    shares.append(int((low == HALF).sum()) / to_round)
        return matmul(a, b)

    return noted


def require(
    answer: Answer, trial: Trial, cases: dict[str, tuple[Matmul, str]], message: str, few: float = FEW
) -> None:
    """Wrong unless the answer has the right word for each case. cases: by what the product does.

    few: of the numbers, at most so many are ties: then the words are luck.
    """
    shares: list[float] = []
    got = {}
    for name, (matmul, _) in cases.items():
        trial.given(f"a matmul that works like this: {name}")
        got[name] = message_of(answer, trial, noting_ties(matmul, shares))
    for name, (_, want) in cases.items():
        trial.given(f"a matmul that works like this: {name}")
        trial.true(
            got[name] == want,
            message,
            expected=f'"{want}"',
            got=f'"{got[name]}"',
            observed=list(got.values()) if max(shares, default=1.0) > few else "hardly any ties",
        )


def both(kind: str) -> str:
    return f"both operands {kind}"


@probe_rounding.property("one of the five words", asks=(HOW, DRAWN))
def word(answer: Answer, trial: Trial) -> None:
    trial.given("a matmul that works like this: full float32")
    message_of(answer, trial, device(MODES["none"]))


@probe_rounding.property('a product in full float32 is "none"', asks=NONE, once_right=True)
def none(answer: Answer, trial: Trial) -> None:
    cases: dict[str, Any] = {"full float32": (device(MODES["none"]), "none")}
    require(answer, trial, cases, "Nothing is rounded here.", few=-1)


@probe_rounding.property(
    "the three roundings are told apart, however the sum is made", asks=THREE, after=(word,)
)
def three(answer: Answer, trial: Trial) -> None:
    sums = {"a sum in float32": float32_sum, "a sum in float64": float64_sum, "a sum backward": backward_sum}
    cases = {
        f"{both(name)}, {how}": (device(MODES[name], summed=summed), name)
        for name, (how, summed) in zip(ROUNDINGS, sums.items(), strict=True)
    }
    require(
        answer, trial, cases, "Both operands are rounded in one way here, and the word is a different one."
    )


@probe_rounding.property(
    "other rules for ties are none of the three", asks=(UNKNOWN, RULES), after=(word, none)
)
def ties(answer: Answer, trial: Trial) -> None:
    require_unknown(answer, trial, "to nearest, ties toward zero", "to nearest, ties to odd")


def require_unknown(answer: Answer, trial: Trial, *kinds: str) -> None:
    cases = {both(kind): (device(OTHERS[kind]), "unknown") for kind in kinds}
    require(answer, trial, cases, "This is none of the three roundings, and no full float32 either.")


@probe_rounding.property(
    "rules that come near one of the three, or near none, are unknown", asks=(RULES, SUM), once_right=True
)
def first_dropped(answer: Answer, trial: Trial) -> None:
    kinds = ("nearest-even by the first dropped bit alone", "the sum of two TF32 numbers for each float32")
    require_unknown(answer, trial, *kinds)


@probe_rounding.property(
    "roundings that treat the signs differently are none of the three", asks=RULES, once_right=True
)
def signs(answer: Answer, trial: Trial) -> None:
    require_unknown(answer, trial, "toward minus infinity", "to nearest, ties toward plus infinity")


@probe_rounding.property("other numbers of bits are none of the three", asks=BITS, after=(word,))
def other_bits(answer: Answer, trial: Trial) -> None:
    kinds = ("bfloat16", "bfloat16, cut off", "9 bits of mantissa", "11 bits of mantissa")
    require_unknown(answer, trial, *kinds)


@probe_rounding.property(
    "float16, whose mantissa is that of TF32, is none of the three", asks=(BITS, REACH), once_right=True
)
def range_of_float16(answer: Answer, trial: Trial) -> None:
    require_unknown(answer, trial, "float16")


@probe_rounding.property("two operands in two ways are none of the three", asks=DIFFERENTLY, once_right=True)
def two_ways(answer: Answer, trial: Trial) -> None:
    even, away, zero = ROUNDINGS
    pairs = [(even, "none"), ("none", even), ("none", zero), (even, away), (zero, even)]
    cases = {
        f"left {left}, right {right}": (device(MODES[left], MODES[right]), "unknown") for left, right in pairs
    }
    require(answer, trial, cases, "The operands are rounded differently, so no one word is right for both.")


@probe_rounding.property(
    "a product that rounds otherwise at another size is none of the three", asks=DIFFERENTLY, once_right=True
)
def sizes(answer: Answer, trial: Trial) -> None:
    even, _, zero = ROUNDINGS
    cases = {
        f"below 128 rows both operands {small}, from 128 on {large}": (
            by_size(lambda size, small=small, large=large: device(MODES[small if size < 128 else large])),
            "unknown",
        )
        for small, large in (("none", even), (even, zero), (zero, "none"))
    }
    for small, large in (
        (("none", even), (even, even)),
        ((even, even), (even, "none")),
        ((even, even), (zero, even)),
    ):
        cases[
            f"below 128 rows left {small[0]}, right {small[1]}, from 128 on left {large[0]}, right {large[1]}"
        ] = (
            by_size(
                lambda size, small=small, large=large: device(
                    *(MODES[one] for one in (small if size < 128 else large))
                )
            ),
            "unknown",
        )
    for small, large in (("none", even), (even, zero), (zero, "none")):
        cases[f"a product of less than 128 rows: {both(small)}, one of 128 or more rows: {both(large)}"] = (
            by_rows(lambda rows, small=small, large=large: device(MODES[small if rows < 128 else large])),
            "unknown",
        )
    message = "What is below 128 rows is rounded in one way, what is above in a different one."
    require(answer, trial, cases, message)


@probe_rounding.property("what a product below 64 does is not asked", asks=SMALL, once_right=True)
def small(answer: Answer, trial: Trial) -> None:
    even = ROUNDINGS[0]
    matmul = small_apart(device(MODES["none"]), device(MODES[even]))
    cases = {f"below 64 rows or columns full float32, from 64 on both operands {even}": (matmul, even)}
    require(answer, trial, cases, "From 64 on there is one rounding, and it was not named.")


@probe_rounding.property(
    "what becomes of subnormals and of overflow is not asked", asks=REACH, once_right=True
)
def flushed(answer: Answer, trial: Trial) -> None:
    even = ROUNDINGS[0]
    cases = {f"{both(even)}, numbers below 2**-126 set to zero": (device(flushing), even)}
    require(answer, trial, cases, "Numbers from 2**-126 on are rounded in one way, and it was not named.")


@probe_rounding.property(
    "roundings that go wrong next to a tie only are none of the three", asks=(UNKNOWN, RULES), once_right=True
)
def beside_a_tie(answer: Answer, trial: Trial) -> None:
    require_unknown(
        answer,
        trial,
        "nearest-even by the first twelve dropped bits",
        "to nearest with 22 bits, and then nearest-away",
    )


@probe_rounding.property("two signs in two ways are none of the three", asks=RULES, once_right=True)
def a_rule_for_each_sign(answer: Answer, trial: Trial) -> None:
    require_unknown(
        answer,
        trial,
        "negative numbers nearest-even, others toward zero",
        "negative numbers toward zero, others nearest-even",
    )


@probe_rounding.property(
    "a rounding that ends at 2**-39 or at 2**40 is none of the three", asks=REACH, once_right=True
)
def reach(answer: Answer, trial: Trial) -> None:
    kinds = ("nearest-even, but below 2**-39 as they are", "nearest-even, but from 2**40 on as they are")
    require_unknown(answer, trial, *kinds)


@probe_rounding.property(
    "a product that rounds otherwise at exactly 64 rows, or at 128, is none of the three",
    asks=(THREE, DIFFERENTLY),
    once_right=True,
)
def exact_rows(answer: Answer, trial: Trial) -> None:
    even = ROUNDINGS[0]
    cases = {
        f"a product of {special} rows: full float32, one of other rows: {both(even)}": (
            by_rows(lambda rows, special=special: device(MODES["none" if rows == special else even])),
            "unknown",
        )
        for special in (64, 128)
    }
    require(answer, trial, cases, "At 64 and at 128 rows the operands are not rounded in one way.")
