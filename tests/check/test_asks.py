"""The docstring is the contract: every sentence of it is held by a property that quotes it, or stands under "Not checked:".

A sentence that begins with the name of an argument and a colon describes the input and asks nothing. Exercises that
are still to be done stand in without_asks.yaml, a list that only shrinks.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

import helpers
from helpers.check.protocol import Result
from helpers.course.solutions import solution_source
from helpers.display.report import Report
from helpers.exercise import Exercise, reported

EXERCISES = helpers.exercises()
TO_DO = yaml.safe_load(Path(__file__).with_name("without_asks.yaml").read_text(encoding="utf-8"))
KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
NOT_CHECKED = "Not checked:"


def contract(source: str) -> tuple[list[str], set[str]]:
    """The docstrings of all functions and classes of a source, and the names of their arguments."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, KINDS)]
    arguments = {part.arg for node in nodes for part in ast.walk(node) if isinstance(part, ast.arg)}
    return [text for node in nodes if (text := ast.get_docstring(node))], arguments


def paragraphs(docstring: str) -> list[str]:
    """The paragraphs and the items of lists that may be held, each in one line: not what stands under "Not checked:"."""
    parts = re.split(r"\n\s*\n|\n\s*(?=[-*] )", docstring)
    lines = [" ".join(part.split()).removeprefix("- ").removeprefix("* ") for part in parts]
    return [line for line in lines if not line.startswith(NOT_CHECKED)]


def demands(docstring: str, arguments: set[str]) -> list[str]:
    """The sentences in which something is asked, each in one line."""
    found = []
    for text in paragraphs(docstring):
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`(]|\w+(?:, \w+)*: )", text):
            if re.fullmatch(r"\w+:", sentence):  # the heading of a list
                continue
            begins = re.match(r"(\w+)(?:, \w+)*: ", sentence)
            if not (begins and begins[1] in arguments):
                found.append(sentence)
    return found


def unasked(docstrings: list[str], arguments: set[str], asks: list[str]) -> list[str]:
    """The sentences that are not wholly covered by what is asked, the uncovered words in square brackets."""
    found = []
    for sentence in (one for text in docstrings for one in demands(text, arguments)):
        covered = [False] * len(sentence)
        for words in asks:
            if sentence.rstrip(".") in words:
                covered = [True] * len(sentence)
            for match in re.finditer(rf"(?<!\w){re.escape(words.rstrip('.'))}(?!\w)", sentence):
                covered[match.start() : match.end()] = [True] * len(match[0])
        words = [(word[0], all(covered[word.start() : word.end()])) for word in re.finditer(r"\w+", sentence)]
        if not all(done for _, done in words):
            found.append(" ".join(word if done else f"[{word}]" for word, done in words))
    return found


def missing(exercise: Exercise) -> list[str]:
    """What an exercise lacks: a property without words, words that stand in no docstring, sentences that nothing asks."""
    docstrings, arguments = contract(solution_source(exercise.id, exercise.names))
    text = " ".join(line for docstring in docstrings for line in paragraphs(docstring))
    asks = [words for prop in exercise.properties for words in prop.asks]
    lacking = [f"asks nothing: {prop.description}" for prop in exercise.properties if not prop.asks]
    lacking += [f"stands in no docstring: {words}" for words in asks if words not in text]
    return lacking + [f"asked by no property: {words}" for words in unasked(docstrings, arguments, asks)]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_every_sentence_of_the_docstring_is_held(exercise: Exercise) -> None:
    lacking = missing(exercise)
    if exercise.id in TO_DO:
        assert lacking, f"{exercise.id} is done: take it off tests/check/without_asks.yaml"
    else:
        assert lacking == [], (
            f'a property that `asks` it, or "{NOT_CHECKED}" before what no property can hold'
        )


def test_the_list_only_shrinks() -> None:
    assert len(TO_DO) <= 82, "what was done stays done: lower this number with the list, never raise it"
    assert sorted(set(TO_DO)) == TO_DO, "in order, each once"
    assert [id for id in TO_DO if id not in EXERCISES] == [], "there is no such exercise"
    assert [id for id in TO_DO if id[:2] > "10"] == [], "a lab that came after the list is never on it"


DOCSTRING = """The double of x: same shape, same dtype.

    x: a tensor. It is left as it is.
    - Integers stay integers.

    Not checked: speed. Memory.
    """


def test_what_is_asked_by_a_docstring() -> None:
    found = demands(DOCSTRING, {"x"})
    assert found == [
        "The double of x: same shape, same dtype.",
        "It is left as it is.",
        "Integers stay integers.",
    ]


def test_half_a_word_is_not_enough() -> None:
    assert unasked(["Twice x."], {"x"}, ["Twi", "ce x"]) == ["[Twice] [x]"]


def test_what_is_not_checked_cannot_be_asked() -> None:
    assert paragraphs(DOCSTRING)[0].startswith("The double") and "speed" not in " ".join(
        paragraphs(DOCSTRING)
    )


def test_half_a_sentence_is_not_enough() -> None:
    asks = ["The double of x", "same dtype", "It is left as it is.", "Integers stay integers"]
    assert unasked([DOCSTRING], {"x"}, asks) == ["The double of x [same] [shape] same dtype"]
    assert unasked([DOCSTRING], {"x"}, [*asks, "same shape"]) == []


def test_the_card_quotes_what_was_asked() -> None:
    report = Report("11.double", "Twice", "wrong", at="the double", asked=("The double of `x`", "same dtype"))
    assert "  Property: the double\n  You were asked: The double of `x` ... same dtype\n" in f"{report}\n"
    assert "You were asked:</strong> The double of <code" in report._repr_html_()


def test_a_property_knows_what_it_asks() -> None:
    made = Exercise("11.double", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])
    made.property("one", asks="The double\n    of x")(lambda answer, trial: None)
    made.property("two", asks=("same shape", "same dtype"))(lambda answer, trial: trial.fail("Wrong."))
    assert [prop.asks for prop in made.properties] == [("The double of x",), ("same shape", "same dtype")]
    found = {"verdict": "wrong", "message": "Wrong.", "at": "two"}
    assert reported(made, len, Result(found)).asked == ("same shape", "same dtype")
