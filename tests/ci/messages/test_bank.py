"""The bank of the tests sees a mistake that passes and one without a name of its own."""

from __future__ import annotations

import pytest

import helpers
from ci.messages.bank import errors
from helpers.check.trial import Trial
from helpers.exercise import Exercise


def test_errors_of_a_bank_are_named_in_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = Exercise("99.twice", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])

    @twice.property("the double")
    def _(answer, trial: Trial) -> None:
        number = trial.random.randrange(3, 100)
        trial.true(answer(number) == 2 * number, "Not the double.", observed=answer(number))

    twice.add_mistake("square", lambda number: number**2, why="")
    twice.add_mistake("same", lambda number: number, why="")
    twice.add_mistake("same_again", lambda number: number + 0, why="")
    twice.add_mistake("right", lambda number: number + number, why="")
    twice.add_variant("square", lambda number: number**3)
    monkeypatch.setattr(helpers, "exercises", lambda: {"99.twice": twice})
    passes = [
        f"99.twice right, {which}: no property rejects it (seed 1)" for which in ("disguised", "itself")
    ]
    *first, alike = errors(twice, seed=1)
    assert first == passes
    assert alike.startswith(
        "99.twice same and same_again behave alike. First rejected at the property 'the double'"
    )
