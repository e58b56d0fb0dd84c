"""The bank of the tests sees a wrong answer that passes and one without a name of its own."""

from __future__ import annotations

import pytest

import helpers
from ci.messages.bank import faults
from helpers.check.trial import Trial
from helpers.exercise import Exercise


def test_faults_of_a_bank_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
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
    found = faults(twice, seed=1)
    assert [line.partition(", seed")[0] for line in found] == [
        f"99.twice {name}, form {form}" for name in ("right", "same", "same_again") for form in (-1, 0)
    ]
    assert "it passed" in found[0] and "('same', 'same_again')" in found[2]
