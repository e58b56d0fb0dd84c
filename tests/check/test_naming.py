"""A name comes from what is stored; where that does not decide, from the mistakes themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import paths
from helpers.check import sandbox, stored
from helpers.check.judge import judge
from helpers.check.naming import Outcomes, mistake, observed
from helpers.check.stored import Row, Stored
from helpers.check.trial import Trial
from helpers.exercise import Exercise

SEED = 5


def square(number: float) -> float:
    return number * number


def same(number: float) -> float:
    return number


@pytest.fixture
def ran() -> list[str]:
    """The mistakes of the bank that ran."""
    return []


@pytest.fixture
def twice(ran: list[str]) -> Exercise:
    made = Exercise("99.twice", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])

    @made.property("the double", asks="the double")
    def _(answer: Any, trial: Trial) -> None:
        number = 3.0 + trial.random.random()
        trial.true(answer(number) == 2 * number, "Not the double.", observed=answer(number))

    @made.property("of 1, too", asks="of 1")
    def _(answer: Any, trial: Trial) -> None:
        trial.true(answer(1.0) == 2.0, "Not the double of 1.", observed=answer(1.0))

    def heard(name: str, answer: Callable[[float], float]) -> Callable[[float], float]:
        return lambda number: ran.append(name) or answer(number)

    made.add_mistake("square", heard("square", square), why="")
    made.add_mistake("same", heard("same", same), why="")
    return made


@pytest.fixture
def keep(twice: Exercise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Stores what these answers do."""
    monkeypatch.setattr(paths, "DATA", tmp_path)
    folder = tmp_path / "exercises" / "99_twice"
    folder.mkdir(parents=True)

    def does(answer: Callable[[float], float]) -> tuple[Any, ...]:
        own = Outcomes(twice, answer, SEED)
        return stored.outcomes([observed(own.at(prop)) for prop in twice.properties])

    def keep(machine: str | None = None, **answers: Callable[[float], float]) -> None:
        rows = tuple(Row(name, does(answer)) for name, answer in answers.items())
        here = Stored(SEED, len(twice.properties), rows, stored.torch_version(), stored.platform.machine())
        (folder / "twice.json").write_text(stored.as_text(replace(here, machine=machine or here.machine)))

    return keep


def name_of(exercise: Exercise, answer: Any, seed: int = 1) -> str | None:
    first = judge(exercise, answer, seed)
    assert first is not None
    return mistake(exercise, answer, seed, first)


def test_a_name_comes_from_the_store_at_every_seed_and_no_mistake_runs(
    twice: Exercise, keep: Callable[..., None], ran: list[str]
) -> None:
    keep(square=square, same=same)
    assert {name_of(twice, lambda number: number**2.0, seed) for seed in range(20)} == {"square"}
    assert name_of(twice, lambda number: 1.0 * number) == "same"
    assert name_of(twice, lambda number: number + 1.5) is None
    assert ran == []


def test_what_was_stored_elsewhere_gives_a_name_and_otherwise_the_mistakes_run(
    twice: Exercise, keep: Callable[..., None], ran: list[str]
) -> None:
    keep(machine="another", square=lambda number: number**3, same=same)
    assert name_of(twice, same) == "same" and ran == []
    assert name_of(twice, square) == "square" and "square" in ran


def test_an_answer_that_fails_at_one_seed_only_is_named_at_that_seed(
    twice: Exercise, keep: Callable[..., None], ran: list[str]
) -> None:
    stored_number = 3.0 + Trial(SEED, frozenset()).random.random()
    keep(square=square, same=same)

    def lucky(number: float) -> float:
        return 2 * number if number in (stored_number, 1.0) else number**2

    assert name_of(twice, lucky) is None and ran, "at 1 it is right, and the square is not"


def test_where_the_fall_is_not_seen_at_the_stored_seed_a_mistake_that_falls_later_gives_no_name(
    twice: Exercise, keep: Callable[..., None]
) -> None:
    stored_number = 3.0 + Trial(SEED, frozenset()).random.random()

    def late(number: float) -> float:
        return 5.0 if number == 1 else 2 * number

    def lucky(number: float) -> float:
        return 2 * number if number in (stored_number, 1.0) else number**2

    keep(square=square, late=late)
    assert name_of(twice, late) == "late"
    assert name_of(twice, lucky) is None


def test_what_falls_earlier_at_the_stored_seed_has_the_name_of_the_mistake_that_does_so_there(
    twice: Exercise, keep: Callable[..., None], ran: list[str]
) -> None:
    stored_number = 3.0 + Trial(SEED, frozenset()).random.random()

    def near(number: float) -> float:
        return 9.0 if number in (stored_number, 1.0) else 2 * number

    keep(near=near, same=same)
    first = judge(twice, near, 1)
    assert first is not None and first.at == "of 1, too"
    assert name_of(twice, near) == "near"
    assert name_of(twice, lambda number: 8.0 if number == 1 else near(number)) == "near"
    assert name_of(twice, lambda number: 8.0 if number == stored_number else near(number)) is None
    assert ran == []


def test_an_answer_that_falls_as_one_mistake_does_has_its_name_whatever_comes_after(
    twice: Exercise, keep: Callable[..., None], ran: list[str]
) -> None:
    keep(square=square, same=same)
    assert name_of(twice, lambda number: 7.0 if number == 1 else number**2) == "square"
    assert name_of(twice, lambda number: 2.0 if number == 1 else number) == "same"
    assert ran == []


def test_of_mistakes_that_fall_alike_the_one_that_does_all_that_is_wrong_with_the_answer_gives_the_name(
    twice: Exercise, keep: Callable[..., None]
) -> None:
    twice.property("of 0, too", asks="of 0")(
        lambda answer, trial: trial.true(answer(0.0) == 0.0, "Not 0.", observed=answer(0.0))
    )

    def but(**numbers: float) -> Callable[[float], float]:
        return lambda number: {1.0: numbers["one"], 0.0: numbers["zero"]}.get(number, number**2)

    keep(square=square, three=but(one=3.0, zero=5.0))
    assert name_of(twice, but(one=2.0, zero=5.0)) == "three", "it is right at 1"
    assert name_of(twice, but(one=3.0, zero=0.0)) == "three", "it is right at 0"
    assert name_of(twice, but(one=2.0, zero=0.0)) is None, "both are wrong where it is"
    assert name_of(twice, but(one=7.0, zero=0.0)) is None, "neither is wrong at 1 as it is"


def test_where_the_properties_do_not_quote_the_docstring_a_mistake_must_fit_at_each(
    twice: Exercise, keep: Callable[..., None]
) -> None:
    twice.property("of 0, too")(lambda answer, trial: trial.true(answer(0.0) == 0.0, "Not 0."))
    keep(square=square, same=same)
    assert name_of(twice, square) == "square"
    assert name_of(twice, lambda number: 7.0 if number == 1 else number**2) is None


def test_a_mistake_that_falls_earlier_says_nothing_of_what_comes_later(
    twice: Exercise, keep: Callable[..., None]
) -> None:
    keep(square=square, same=same)
    assert name_of(twice, lambda number: 1.0 if number == 1 else 2 * number) is None
    keep(square=square)
    assert name_of(twice, lambda number: 1.0 if number == 1 else 2 * number) is None


def test_an_answer_that_depends_on_what_ran_before_has_the_name_of_a_mistake_that_is_known_there_alone(
    twice: Exercise, keep: Callable[..., None]
) -> None:
    calls: list[float] = []

    def at_first_wrong(number: float) -> float:
        calls.append(number)
        return 7.0 if len(calls) <= 2 else 2 * number  # compared, and observed

    keep(square=square)
    assert name_of(twice, at_first_wrong) is None
    kept = stored.of_exercise("99.twice")
    assert kept is not None
    rows = (*kept.rows, Row("only_once", ([7.0],), 0))
    (path,) = (paths.DATA / "exercises").glob("*/twice.json")
    path.write_text(stored.as_text(replace(kept, rows=rows)))
    calls.clear()
    assert name_of(twice, at_first_wrong) == "only_once"


@pytest.mark.parametrize("damage", ["nothing stored", "of other properties"])
def test_without_a_store_the_mistakes_run(
    twice: Exercise, keep: Callable[..., None], ran: list[str], damage: str
) -> None:
    if damage == "of other properties":
        keep(square=square, same=same)
        twice.property("of 0")(lambda answer, trial: trial.true(answer(0.0) == 0.0, "Not 0."))
    assert name_of(twice, square) == "square" and ran


slow = Exercise("99.slow", "Slow", objective="", minutes=1, difficulty="easy", hints=["", "", ""])


@slow.property("the double")
def doubled(answer: Any, trial: Trial) -> None:
    trial.true(answer(3.0) == 6.0, "Not the double.", observed=answer(3.0))


@slow.mistake()
def never_ends(number: float) -> float:
    """It never ends."""
    while True:
        pass


@pytest.mark.parametrize("inside", [False, True], ids=["in a process", "inside the kernel"])
def test_a_search_that_takes_too_long_is_stopped_and_the_card_says_so(
    inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "NAMING", 0.5)
    monkeypatch.setattr(slow, "inside_kernel", inside)
    report = slow.check(square)
    assert (report.verdict, report.mistake) == ("wrong", None), str(report)
    assert "The search for this mistake's name was stopped" in str(report)
