"""Every exercise's mistakes are rejected and named, its right ones accepted.

Right answers stand in tests/labs/, a folder a lab: RIGHT = [answer, answer] in 01_reproducibility/seed_everything.py.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import helpers
from ci.messages.bank import errors
from ci.messages.outcomes import differences
from ci.messages.reports import SEED, checked, reports
from ci.messages.texts import short
from helpers.check.spec import Mistake
from helpers.course import catalogue
from helpers.display.report import Report
from helpers.exercise import Exercise
from tests.labs import right_answers
from tests.support.kept_messages import kept_of

EXERCISES = helpers.exercises()
MISTAKES = [
    pytest.param(exercise, name, id=f"{exercise.id}-{name}")
    for exercise in EXERCISES.values()
    for name in exercise.mistakes
]
BY_EXERCISE = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))


def named(found: Report, name: str, mistake: Mistake) -> None:
    """Fails unless the report rejects the answer and names the mistake."""
    assert found.verdict in ("wrong", "crashed", "timed out"), str(found)
    assert found.mistake == name, str(found)
    assert mistake.why in str(found)


def drawn() -> int:
    """A seed as a learner's check has it: none that anything is stored for."""
    return random.SystemRandom().randrange(1, 2**31)


def disguised(answer: Any) -> Any:
    """The same behaviour under another name and behind a plain wrapper."""
    if isinstance(answer, tuple):
        return tuple(disguised(part) for part in answer)
    if isinstance(answer, type):
        return type("Disguised", (answer,), {})

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs)

    return wrapped


def bare(found: Report) -> Report:
    """Without what only a check of its own gives: the output, and whether something stays between calls."""
    return replace(found, output="", cut=False, note="")


@pytest.mark.parametrize(("exercise", "name"), MISTAKES)
def test_mistake_is_rejected_and_named(exercise: Exercise, name: str) -> None:
    named(reports(exercise.id)[name], name, exercise.mistakes[name])


@BY_EXERCISE
def test_variants_are_named(exercise: Exercise) -> None:
    assert errors(exercise, SEED) == []


@BY_EXERCISE
def test_what_is_stored_is_what_the_mistakes_do(exercise: Exercise) -> None:
    assert differences(exercise) == [], f"after a change that is meant: labbook messages {exercise.id[:2]}"


@pytest.mark.slow
@BY_EXERCISE
def test_the_check_itself_says_the_same_of_a_mistake_at_each_property(exercise: Exercise) -> None:
    known = catalogue.of_exercise(exercise.id).mistakes
    names = list({fall.at: name for name, fall in reversed(known.items())}.values())
    found = checked(exercise, [exercise.mistakes[name].answer for name in names])
    for name, report in zip(names, found, strict=True):
        assert short(str(bare(report)), exercise.processes) == kept_of(exercise.id)[name]


@pytest.mark.slow
@BY_EXERCISE
def test_the_check_itself_finds_every_name(exercise: Exercise) -> None:
    found = checked(exercise, [mistake.answer for mistake in exercise.mistakes.values()], drawn())
    for (name, mistake), report in zip(exercise.mistakes.items(), found, strict=True):
        named(report, name, mistake)


@pytest.mark.slow
@BY_EXERCISE
def test_no_draw_of_the_inputs_changes_a_verdict(exercise: Exercise) -> None:
    seeds = [drawn() for _ in range(6)]
    assert [error for seed in seeds for error in errors(exercise, seed)] == []
    right = [found for seed in seeds for found in checked(exercise, right_answers(exercise.id), seed)]
    assert [str(found) for found in right if not found.passed] == []


@pytest.mark.slow
@BY_EXERCISE
def test_the_check_itself_names_disguises_and_variants(exercise: Exercise) -> None:
    for name, mistake in exercise.mistakes.items():
        for found in checked(exercise, [disguised(mistake.answer), *mistake.variants], drawn()):
            named(found, name, mistake)


@BY_EXERCISE
def test_right_answers_pass(exercise: Exercise) -> None:
    answers = right_answers(exercise.id)
    assert len(answers) >= 2, "an exercise has two right answers of different shape or more"
    for found in checked(exercise, [*answers, disguised(answers[0])]):
        assert found.passed, str(found)


@pytest.mark.slow
@BY_EXERCISE
def test_the_check_itself_accepts_right_answers_in_disguise(exercise: Exercise) -> None:
    for found in checked(exercise, map(disguised, right_answers(exercise.id)), drawn()):
        assert found.passed, str(found)


@BY_EXERCISE
def test_exercise_is_complete(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 6
    assert len(exercise.hints) >= 3 and all(exercise.hints)
    assert exercise.title and exercise.objective and exercise.minutes > 0
    texts = [
        exercise.title,
        exercise.objective,
        *exercise.hints,
        *(prop.description for prop in exercise.properties),
    ]
    assert not [text for text in texts if "TODO" in text], "labbook new left a text to be written"
    assert len({mistake.why for mistake in exercise.mistakes.values()}) == len(exercise.mistakes)
    messages = [prop.description for prop in exercise.properties]
    assert len(set(messages)) == len(messages), "two properties with one text"


@BY_EXERCISE
def test_an_answer_of_no_sense_is_wrong_and_has_no_name(exercise: Exercise) -> None:
    for found in checked(exercise, [None, "hello", 42, lambda *args, **kwargs: None]):
        assert found.verdict == "wrong" and found.mistake is None, str(found)


@BY_EXERCISE
def test_a_stub_is_not_attempted(exercise: Exercise) -> None:
    def stub(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(exercise.id)

    answer: Any = type("Stub", (), {"__init__": stub}) if exercise.kind == "class" else stub
    several = len(exercise.names) > 1
    assert exercise.check((answer,) * len(exercise.names) if several else answer).verdict == "not attempted"
    assert exercise.check(...).verdict == "not attempted"
