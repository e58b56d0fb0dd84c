"""`labbook messages`: what it writes, and which mistakes it names."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

import helpers
from ci.messages import bank, command
from ci.messages.outcomes import differences
from helpers import paths
from helpers.check.trial import Trial
from helpers.course import catalogue
from helpers.exercise import Exercise
from helpers.processes import fork_server
from tests.support.project import output_of

Mistakes = dict[str, Callable[[float], float]]


def twice(mistakes: Mistakes) -> Exercise:
    made = Exercise("99.twice", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])

    @made.property("the double")
    def _(answer, trial: Trial) -> None:
        number = trial.random.uniform(3, 100)
        trial.true(answer(number) == 2 * number, "Not the double.", observed=answer(number))

    @made.property("of 1, too")
    def _(answer, trial: Trial) -> None:
        trial.true(answer(1.0) == 2.0, "Not the double of 1.", observed=answer(1.0))

    for name, mistake in mistakes.items():
        made.add_mistake(name, mistake, why=name)
    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mistakes], tuple[int, str]]:
    """Runs the command in a project of one exercise with these mistakes; its exit code and what it prints."""
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    monkeypatch.setattr(command.texts, "messages", lambda number: "=== 99.twice square\n")
    monkeypatch.setattr(command.texts, "entries", lambda stem: {})
    # A process that comes from the server would not know this exercise.
    monkeypatch.setattr(fork_server, "fork_server", lambda: multiprocessing.get_context("fork"))
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "99_twice.ipynb").touch()

    def run(mistakes: Mistakes) -> tuple[int, str]:
        bank.named.cache_clear()
        made = twice(mistakes)
        monkeypatch.setattr(helpers, "exercises", lambda: {made.id: made})
        return output_of(lambda: command.messages(tmp_path, ["99"]))

    return run


SQUARE = {"square": lambda number: number**2}
STORED = "data/exercises/99_twice/twice.json changed"


def test_only_what_changed_is_written(run: Callable[[Mistakes], tuple[int, str]], tmp_path: Path) -> None:
    code, heard = run(SQUARE)
    assert code == 0 and f"99_twice: tests/messages/99.txt changed: read it; {STORED}\n" in heard
    assert (tmp_path / "tests" / "messages" / "99.txt").read_text() == "=== 99.twice square\n"
    assert not (catalogue.folder() / "99_twice.json").exists(), "what it would hold is what is known: nothing"
    assert run(SQUARE) == (0, "99_twice: nothing changed\nevery mistake is rejected, and named\n")


def test_what_a_mistake_does_is_stored_once_for_all_of_its_variants_that_do_it(
    run: Callable[[Mistakes], tuple[int, str]], tmp_path: Path
) -> None:
    run(SQUARE | {"one_more": lambda number: number + 1 + (number > 1)})
    text = (catalogue.folder() / "99_twice" / "twice.json").read_text()
    given = json.loads(text)
    assert [row[0] for row in given["mistakes"]] == ["one_more", "square"] and given["properties"] == 2
    assert [row[2] is None for row in given["mistakes"]] == [True, False], "the double of 1 is not its square"


def test_a_mistake_that_does_something_else_now_is_noticed(
    run: Callable[[Mistakes], tuple[int, str]],
) -> None:
    run(SQUARE)
    changed = {"square": lambda number: number**3}
    bank.named.cache_clear()
    exercise = helpers.exercises()["99.twice"]
    exercise._mistakes.clear()
    exercise.add_mistake("square", changed["square"], why="")
    assert differences(exercise)[-1] == "99.twice square: stored, and no mistake does it"
    assert STORED in run(changed)[1] and "nothing changed" in run(changed)[1]


def test_mistakes_that_pass_and_that_collide_are_named(
    run: Callable[[Mistakes], tuple[int, str]],
) -> None:
    code, heard = run(SQUARE | {"right": lambda number: number * 2, "again": lambda number: number * number})
    assert code == 1
    assert "99.twice right, itself: no property rejects it" in heard
    assert "99.twice again and square behave alike. First rejected at the property 'the double'" in heard


def test_what_is_stored_of_an_exercise_that_is_gone_goes(
    run: Callable[[Mistakes], tuple[int, str]],
) -> None:
    run(SQUARE)
    (catalogue.folder() / "99_twice" / "thrice.json").write_text("{}")
    assert "data/exercises/99_twice/thrice.json is gone" in run(SQUARE)[1]
