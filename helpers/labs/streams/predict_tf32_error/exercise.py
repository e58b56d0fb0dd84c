"""Exercise 06.predict_tf32_error: how wrong a product in TF32 is, from the number of bits and the kind of data."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.predict_tf32_error.emulation import EMULATED, TERMS
from helpers.notebook.stubs import missing_exercise

predict_tf32_error = Exercise(
    "06.predict_tf32_error",
    "How wrong TF32 is",
    objective="Predict the error of a product in TF32 before it is measured, and see when a long sum makes it smaller.",
    minutes=40,
    difficulty="hard",
    core=False,
    hints=[
        "Begin with one number: rounding to nearest errs by at most half a place, anything between being equally likely. "
        "What is the rms of that, and how large is a place beside the number, for a mantissa anywhere from 1 to 2?",
        "Then one sum of n products. Errors of no fixed sign add up as sqrt(n). And C itself? A sum of n numbers around 0 "
        "grows as sqrt(n) too; a sum of n positive ones grows as n. Both operands are rounded: squares add.",
        "Toward zero, every number shrinks: by 3.5e-4 on the whole (normal data) or 3.3e-4 (uniform), and a product "
        "shrinks twice. That part of the error is proportional to C, so no sum averages it out. To nearest: sqrt(2) * "
        "2.08e-4 for normal data, 3.48e-4 / sqrt(n) for uniform data.",
    ],
)

ERROR = "Relative error of a product in TF32, predicted: rms(C' - C) / rms(C)."
PRODUCT = "C = A @ B with n terms in each sum; in C' both A and B were rounded to TF32; products and sums are exact in both."
NUMBER = "The result is a Python number, within a factor of 1.3 of what an emulation measures for n from 16 to 4096."
FORMULA = "It is a formula: no product is computed, and n may be as large as 2**50."


Answer = Callable[[int, str, str], float]
FACTOR = 1.3
HUGE = 2**50

# Ratios to the right result that some mistake leads to; others are told to two digits.
RATIOS = (
    2**-13,
    2.94e-4,
    7.7e-4,
    0.382,
    0.5,
    2**-0.5,
    0.763,
    1.357,
    2**0.5,
    1.66,
    2,
    2.35,
    2.62,
    3.33,
    4,
    8,
    100,
)


def number(trial: Trial, got: Any) -> float:
    """`got`, if it is a positive number."""
    ok = isinstance(got, Real) and not isinstance(got, bool) and 0 < got < math.inf
    trial.true(
        ok,
        "The result is None. Is a `return` missing?"
        if got is None
        else "The result is no positive number."
        if isinstance(got, Real)
        else f"The result is no Python number, but of type {type(got).__name__}.",
        expected="a float above 0",
        got=got,
        observed=("kind", repr(got) if isinstance(got, Real) else type(got).__name__),
    )
    return float(got)


def growth(values: list[float]) -> float:
    """The power of n with which they grow from the first to the last of TERMS."""
    return math.log(values[-1] / values[0]) / math.log(TERMS[-1] / TERMS[0])


def law(got: list[float], want: list[float]) -> tuple[str, float]:
    """In what way `got` is off: its power of n or, where that is right, its ratio."""
    power = growth(got)
    if abs(power - growth(want)) > 0.1:
        return "power", round(2 * power) / 2 if abs(power - round(2 * power) / 2) < 0.05 else round(power, 1)
    ratio = math.exp(sum(math.log(a / b) for a, b in zip(got, want, strict=True)) / len(want))
    near = min(RATIOS, key=lambda known: abs(math.log(ratio / known)))
    return "ratio", near if abs(math.log(ratio / near)) < 0.025 else float(f"{ratio:.1e}")


def described(off: tuple[str, float], got: list[float], want: list[float]) -> str:
    what, value = off
    if what == "ratio":
        farthest = max(
            (a / b for a, b in zip(got, want, strict=True)), key=lambda ratio: abs(math.log(ratio))
        )
        return f"It depends on n as it should, and is, where it is farthest off, {farthest:.3g} times what is measured."
    powers = {
        0.0: "stays the same for all n",
        0.5: "grows as sqrt(n)",
        1.0: "grows as n",
        -0.5: "falls as 1/sqrt(n)",
    }
    return f"It {powers.get(value, f'goes as n**{value:g}')}, which is not what is measured."


def require(answer: Answer, trial: Trial, rounding: str, data: str) -> None:
    """Wrong unless the answer is near the emulation for every n."""
    want = list(EMULATED[rounding, data])
    trial.given(f'"{rounding}", "{data}", n = {", ".join(map(str, TERMS))}')
    got = [number(trial, trial.call(answer, n, rounding, data)) for n in TERMS]
    if all(1 / FACTOR <= a / b <= FACTOR for a, b in zip(got, want, strict=True)):
        return
    off = law(got, want)
    trial.fail(
        described(off, got, want),
        expected=f"within a factor of {FACTOR} of " + ", ".join(f"{value:.2e}" for value in want),
        got=", ".join(f"{value:.2e}" for value in got),
        observed=off,
    )


@predict_tf32_error.property("a positive number", asks=NUMBER)
def kind(answer: Answer, trial: Trial) -> None:
    trial.given('n = 64, "nearest-even", "normal"')
    number(trial, answer(64, "nearest-even", "normal"))


@predict_tf32_error.property(
    "to nearest, normal data: what a sum around zero does to the error",
    asks=(ERROR, PRODUCT, NUMBER),
    once_right=True,
)
def nearest_normal(answer: Answer, trial: Trial) -> None:
    require(answer, trial, "nearest-even", "normal")


@predict_tf32_error.property(
    "how ties are rounded cannot be seen in the size of the error", asks=NUMBER, once_right=True
)
def away_normal(answer: Answer, trial: Trial) -> None:
    require(answer, trial, "nearest-away", "normal")


@predict_tf32_error.property("toward zero, normal data: every number shrinks", asks=NUMBER, once_right=True)
def zero_normal(answer: Answer, trial: Trial) -> None:
    require(answer, trial, "toward-zero", "normal")


@predict_tf32_error.property(
    "to nearest, uniform data: what a sum of positive terms does to it", asks=NUMBER, once_right=True
)
def nearest_uniform(answer: Answer, trial: Trial) -> None:
    require(answer, trial, "nearest-even", "uniform")
    require(answer, trial, "nearest-away", "uniform")


@predict_tf32_error.property("toward zero, uniform data: every term shrinks", asks=NUMBER, once_right=True)
def zero_uniform(answer: Answer, trial: Trial) -> None:
    require(answer, trial, "toward-zero", "uniform")


class Products(TorchDispatchMode):
    """Notes the products of two matrices that run. A row times a column is none: a rule of quadrature may need it."""

    largest = 0  # multiplications

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.addmm):
            left, right = [each for each in args if isinstance(each, torch.Tensor)][-2:]
            if min(left.shape[-2], right.shape[-1]) > 1:
                self.largest = max(self.largest, left.shape[-2] * left.shape[-1] * right.shape[-1])
        return func(*args, **(kwargs or {}))


@predict_tf32_error.property("no product of matrices is computed", asks=FORMULA, once_right=True)
def no_product(answer: Answer, trial: Trial) -> None:
    for rounding, data in EMULATED:
        trial.given(f'n = 64, "{rounding}", "{data}"')
        with Products() as products:
            number(trial, trial.call(answer, 64, rounding, data))
        trial.true(
            not products.largest,
            "The answer multiplied two matrices with torch. That is a measurement, and not a prediction.",
            expected="a formula of n",
            got=f"a product with {products.largest} multiplications",
            observed="a product",
        )


@predict_tf32_error.property(
    "a formula: no product is computed, so n may be as large as you like", asks=FORMULA, once_right=True
)
def formula(answer: Answer, trial: Trial) -> None:
    for (rounding, data), known in EMULATED.items():
        trial.given(f'n = 2**50, "{rounding}", "{data}"')
        try:
            got = answer(HUGE, rounding, data)
        except (RuntimeError, ValueError, MemoryError, ArithmeticError, LookupError, TypeError) as error:
            if missing_exercise(error):
                raise
            trial.fail(
                f"The answer raised {type(error).__name__}"
                + (f": {error}" if isinstance(error, ValueError) else "")
                + ". A formula takes any n.",
                expected="a float",
                got=type(error).__name__,
                observed="raised",
            )
        have = number(trial, got)
        last = known[-1]
        steady = abs(growth(list(known))) < 0.25
        trial.true(
            1 / FACTOR <= have / last <= FACTOR if steady else have < last / 2,
            "Right for n up to 4096, and not carried on beyond.",
            expected=f"{'close to' if steady else 'far below'} {last:.2e}, the value for n = 4096",
            got=f"{have:.2e}",
            observed=(rounding, data),
        )
