"""A card says that something stays between calls, of answers of which that is so, and of no others."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from helpers.check.sandbox import KEEPS, checked
from helpers.check.spec import Spec
from helpers.check.trial import Trial

WHAT_IT_NEEDS = dict(objective="", minutes=1, difficulty="easy", hints=["", "", ""])
double = Spec("99.double", "Double", names=("double",), **WHAT_IT_NEEDS)
both = Spec("99.both", "Both", names=("one", "two"), **WHAT_IT_NEEDS)


@double.property("the double")
def one_call(answer: Any, trial: Trial) -> None:
    trial.equal(answer(2.0), 4.0)


@double.property("the double of a different number, twice")
def two_calls(answer: Any, trial: Trial) -> None:
    for number in (3.0, 5.0):
        trial.equal(answer(number), 2 * number)


@both.property("one and two of it")
def of_each(answers: Any, trial: Trial) -> None:
    one, two = answers
    trial.equal([one(1.0), two(1.0), two(2.0)], [1.0, 2.0, 4.0])


def in_a_default() -> Callable[[float], float]:
    def double(number: float, seen: dict[str, float] = {}) -> float:  # noqa: B006
        return seen.setdefault("once", 2 * number)

    return double


def in_a_closure() -> Callable[[float], float]:
    calls = itertools.count()
    return lambda number: 2 * number + (next(calls) > 1)


def on_itself() -> Callable[[float], float]:
    def double(number: float) -> float:
        double.total = getattr(double, "total", 0.0) + 2 * number
        return double.total

    return double


def within_a_property() -> Callable[[float], float]:
    def double(number: float, last: list[float] = []) -> float:  # noqa: B006
        last.append(number)
        return 2 * last[max(0, len(last) - 2)] if len(last) > 2 else 2 * number

    return double


@pytest.mark.parametrize("answer", [in_a_default, in_a_closure, on_itself, within_a_property])
def test_what_stays_is_told(answer: Callable[[], Any]) -> None:
    assert checked(double, answer(), 1, 5.0).note == KEEPS


@pytest.mark.parametrize(
    "answer", [lambda number: 3 * number, lambda number: 4.0, lambda number: 1 / 0, lambda: 4.0]
)
def test_of_others_nothing_is_told(answer: Callable[..., Any]) -> None:
    result = checked(double, answer, 1, 5.0)
    assert result.found and result.note == ""


def test_one_of_two_functions() -> None:
    assert checked(both, (lambda number: number, in_a_default()), 1, 5.0).note == KEEPS
    assert checked(both, (lambda number: 0.0, in_a_default()), 1, 5.0).note == ""
