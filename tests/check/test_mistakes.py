"""How an author writes a mistake: as a function or a class, whose name and docstring are the mistake's."""

from __future__ import annotations

import ast
import pickle
from typing import Any

import pytest

import helpers
from helpers.check.spec import returned
from helpers.course.solutions import solution_source
from helpers.exercise import Exercise

EXERCISES = helpers.exercises()


@pytest.fixture
def double() -> Exercise:
    hints = ["What is twice x?", "Add it to itself.", "return x + x"]
    return Exercise("11.double", "Twice", objective="Double.", minutes=2, difficulty="easy", hints=hints)


def test_name_and_sentence_are_those_of_the_function(double: Exercise) -> None:
    @double.mistake(breaks="Twice x")
    def squared(x: Any) -> Any:
        """Squaring doubles
        the 2 only.
        """
        return x * x

    assert squared(3) == 9, "the decorator gives back what was written"
    assert list(double.mistakes) == ["squared"]
    known = double.mistakes["squared"]
    assert (known.why, known.breaks) == ("Squaring doubles the 2 only.", "Twice x")
    assert known.answer is squared and known.variants == ()


def test_the_name_of_a_class_is_written_in_small_letters(double: Exercise) -> None:
    @double.mistake()
    class XForXHat:
        """x was taken."""

    assert list(double.mistakes) == ["x_for_x_hat"]


def test_variants_are_kept_with_their_mistake(double: Exercise) -> None:
    @double.mistake()
    def squared(x: Any) -> Any:
        """Squaring doubles the 2 only."""
        return x * x

    @double.variant(squared)
    def by_power(x: Any) -> Any:
        return x**2

    double.variant("squared")(pow)
    assert double.mistakes["squared"].variants == (by_power, pow)


def test_a_bank_makes_the_answers_of_what_is_written(double: Exercise) -> None:
    tensors = double.bank(lambda written: lambda x: written(x) + 1, lambda written: (written, "a variant"))

    @tensors.mistake()
    def same(x: Any) -> Any:
        """Nothing was doubled."""
        return x

    @tensors.variant(same)
    def negated(x: Any) -> Any:
        return -x

    known = double.mistakes["same"]
    assert known.answer(3) == 4 and known.variants[0] == (same, "a variant")
    assert known.variants[1](3) == -2 and known.variants[2] == (negated, "a variant")


def test_a_mistake_may_return_its_answer(double: Exercise) -> None:
    @double.bank(returned).mistake()
    def pair() -> Any:
        """Two were given."""
        return 1, 2

    assert double.mistakes["pair"].answer == (1, 2)


def test_what_an_author_forgets_is_said(double: Exercise) -> None:
    with pytest.raises(ValueError, match=r"11\.double: the mistake squared has no docstring"):

        @double.mistake()
        def squared(x: Any) -> Any:
            return x * x

    with pytest.raises(ValueError, match=r"11\.double: a variant of squared, and there is no such mistake"):
        double.variant("squared")(len)
    double.add_mistake("squared", len, why="It is squared.")
    with pytest.raises(ValueError, match=r"11\.double: the mistake squared stands twice"):
        double.add_mistake("squared", len, why="It is squared.")
    with pytest.raises(
        ValueError, match=r"11\.double: a variant of squared, which is no mistake of this exercise"
    ):
        double.variant(squared_elsewhere)(len)
    with pytest.raises(ValueError, match=r"11\.double: halved falls at no property: none says 'twice'"):
        double.add_mistake("halved", len, why="It is halved.", at="twice")


def squared_elsewhere() -> None: ...


squared_elsewhere.__name__ = "squared"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_a_different_process_finds_an_exercise_by_its_id(exercise: Exercise) -> None:
    assert pickle.loads(pickle.dumps(exercise)) is exercise
    assert len(pickle.dumps(exercise)) < 200, "none of its code travels"


def test_an_exercise_of_no_lab_travels_itself(double: Exercise) -> None:
    assert pickle.loads(pickle.dumps(double)).title == "Twice"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_what_a_mistake_breaks_stands_in_the_docstring(exercise: Exercise) -> None:
    given = {name: mistake.breaks for name, mistake in exercise.mistakes.items() if mistake.breaks}
    text = docstrings(solution_source(exercise.id, exercise.names))
    assert [
        f"{name}: {words!r}" for name, words in given.items() if " ".join(words.split()) not in text
    ] == []


def docstrings(source: str) -> str:
    """The docstrings of all functions and classes of a source, in one line."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = (ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    return " ".join(" ".join(filter(None, found)).split())
