"""The bank of the tests sees a mistake that passes and one without a name of its own."""

from __future__ import annotations

import multiprocessing
import random

import pytest

import helpers
from ci.messages.bank import errors
from ci.messages.rows import rows_of
from helpers import paths
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.processes import fork_server


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
    twice.add_mistake("nowhere", lambda number: f"{paths.ROOT}/labs", why="")
    twice.add_variant("square", lambda number: number**3)
    monkeypatch.setattr(helpers, "exercises", lambda: {"99.twice": twice})
    # A process that comes from the server would not know this exercise.
    monkeypatch.setattr(fork_server, "fork_server", lambda: multiprocessing.get_context("fork"))
    *first, alike = errors(twice, seed=1)
    where = f"`observed` holds {paths.ROOT}, a path of this machine"
    assert first == [
        f"99.twice nowhere, itself: {where} (seed 1)",
        "99.twice right, itself: no property rejects it (seed 1)",
    ]
    assert alike.startswith(
        "99.twice same and same_again behave alike. First rejected at the property 'the double'"
    )


def test_an_answer_runs_up_to_its_first_fall_unless_a_different_mistake_does_the_same_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    double = Exercise("99.double", "Double", objective="", minutes=1, difficulty="easy", hints=["", "", ""])

    @double.property("the double of 1", asks="The double.")
    def _(answer, trial: Trial) -> None:
        trial.true(answer(1) == 2, "Not the double.", observed=answer(1))

    @double.property("the double of 3", asks="The double.")
    def _(answer, trial: Trial) -> None:
        trial.true(answer(3) == 6, "Not the double.", observed=answer(3))

    double.add_mistake("square", lambda number: number**2, why="", breaks="The double.")
    double.add_mistake("same", lambda number: number, why="", breaks="The double.")
    double.add_mistake("three_times", lambda number: 3 * number, why="", breaks="The double.")
    double.add_mistake("two_more", lambda number: number + 1, why="", breaks="The double.")
    monkeypatch.setattr(helpers, "exercises", lambda: {"99.double": double})
    monkeypatch.setattr(fork_server, "fork_server", lambda: multiprocessing.get_context("fork"))
    rows = rows_of("99.double", seed=1)
    seen = {name: [found and found.observed for found in row] for (name, _), row in rows.items()}
    assert seen == {"square": [1, 9], "same": [1, 3], "three_times": [3], "two_more": [None, 4]}
    assert errors(double, seed=1) == []


def test_what_went_on_in_this_process_shows_in_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of other things leave what they set; `labbook messages` runs where nothing is set."""
    before = rows_of("01.preserve_rng", seed=1)
    monkeypatch.setattr(random, "getstate", lambda: None)
    assert rows_of("01.preserve_rng", seed=1) == before
