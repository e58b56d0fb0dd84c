"""The docstring is the contract: every sentence of it is held by a property that quotes it, or stands under "Not checked:".

A sentence that begins with the name of an argument and a colon describes the input and asks nothing, unless it holds a
word that demands. A sentence that stands in several docstrings of one exercise is quoted as many times.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Any

import pytest
import torch

import helpers
from helpers.check.judge import judge
from helpers.check.protocol import Result
from helpers.course.solutions import solution_source
from helpers.display.report import Report
from helpers.exercise import Exercise, reported

EXERCISES = helpers.exercises()
KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
NOT_CHECKED = "Not checked:"
DEMANDING = re.compile(
    r"\b(must|never|always|left|stays?|remains?|unchanged|untouched|edited|in place|raises?|returns?|cannot|no longer"
    r"|(is|are|do|does|may) not)\b"
)
FEWEST = 3  # words of a quotation that is no whole sentence: fewer stand anywhere


def contract(source: str) -> tuple[list[str], set[str]]:
    """The docstrings of all functions and classes of a source, and the names of their arguments."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, KINDS)]
    arguments = {part.arg for node in nodes for part in ast.walk(node) if isinstance(part, ast.arg)}
    return [text for node in nodes if (text := ast.get_docstring(node))], arguments


def paragraphs(docstring: str) -> list[str]:
    """The paragraphs and the items of lists that may be held, each in one line: not what stands under "Not checked:"."""
    parts = re.split(r"\n\s*\n|\n\s*(?=[-*] |\d+\. )", docstring)
    lines = [re.sub(r"^([-*]|\d+\.) ", "", " ".join(part.split())) for part in parts]
    return [line for line in lines if not line.startswith(NOT_CHECKED)]


def demands(docstring: str, arguments: set[str]) -> list[str]:
    """The sentences in which something is asked, each in one line."""
    found = []
    for text in paragraphs(docstring):
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`(]|\w+(?:, \w+)*: )", text):
            if re.fullmatch(r"\w+:", sentence):  # the heading of a list
                continue
            begins = re.match(r"(\w+)(?:, \w+)*: ", sentence)
            if not (begins and begins[1] in arguments) or DEMANDING.search(sentence):
                found.append(sentence)
    return found


def unasked(docstrings: list[str], arguments: set[str], asks: list[str]) -> list[str]:
    """The sentences that are not wholly covered by what is asked, the uncovered words in square brackets.

    A sentence that stands there several times must be covered as many times: two functions may ask for the same.
    """
    found = []
    for sentence, times in Counter(one for text in docstrings for one in demands(text, arguments)).items():
        covered = [0] * len(sentence)
        for words in asks:
            whole = sentence.rstrip(".") in words
            pattern = re.escape(sentence if whole else words.rstrip("."))
            for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", sentence):
                for place in range(*match.span()):
                    covered[place] += 1
        words = [(word[0], min(covered[word.start() : word.end()])) for word in re.finditer(r"\w+", sentence)]
        if any(count < times for _, count in words):
            found.append(" ".join(word if count >= times else f"[{word}]" for word, count in words))
    return found


def misquoted(docstrings: list[str], arguments: set[str], asks: list[str]) -> list[str]:
    """What is quoted and stands in no docstring, or under "Not checked:", or is too short to say what is held."""
    lines = [line for docstring in docstrings for line in paragraphs(docstring)]
    whole = {sentence.rstrip(".") for text in docstrings for sentence in demands(text, arguments)}
    found = [f"stands in no docstring: {words}" for words in asks if words not in " ".join(lines)]
    return found + [
        f"says too little: {words}"
        for words in asks
        if len(re.findall(r"\w+", words)) < FEWEST and words.rstrip(".") not in whole
    ]


def missing(exercise: Exercise) -> list[str]:
    """What an exercise lacks: a property without words, words that quote nothing, sentences that nothing asks."""
    docstrings, arguments = contract(solution_source(exercise.id, exercise.names))
    asks = [words for prop in exercise.properties for words in prop.asks]
    lacking = [f"asks nothing: {prop.description}" for prop in exercise.properties if not prop.asks]
    lacking += misquoted(docstrings, arguments, asks)
    return lacking + [f"asked by no property: {words}" for words in unasked(docstrings, arguments, asks)]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_every_sentence_of_the_docstring_is_held(exercise: Exercise) -> None:
    assert missing(exercise) == [], (
        f'a property that `asks` it, or "{NOT_CHECKED}" before what no property can hold'
    )


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


@pytest.mark.parametrize(
    ("line", "is_a_demand"),
    [
        ("x: a tensor of any shape, also of none.", False),
        ("x, y: two tensors, which need not be alike.", False),
        ("x: a tensor, left as it is.", True),
        ("x: a tensor, which must not be edited.", True),
        ("x: a tensor y: a list, which stays as it is.", True),
        ("x: a tensor; its memory is not shared.", True),
        ("ValueError: no such shape.", True),
    ],
)
def test_a_demand_in_the_description_of_an_argument(line: str, is_a_demand: bool) -> None:
    assert demands(f"Twice x.\n\n{line}", {"x", "y"}) == ["Twice x.", *([line] if is_a_demand else [])]


def test_half_a_word_is_not_enough() -> None:
    assert unasked(["Twice x."], {"x"}, ["Twi", "ce x"]) == ["[Twice] [x]"]


def test_what_is_not_checked_cannot_be_asked() -> None:
    assert misquoted([DOCSTRING], {"x"}, ["Not checked: speed."]) == [
        "stands in no docstring: Not checked: speed."
    ]
    assert misquoted([DOCSTRING], {"x"}, ["It is left as it is.", "of x: same shape"]) == []


def test_a_word_or_two_say_too_little() -> None:
    asks = ["The double", "of x: same shape", "same dtype", "It is left as it is.", "Integers stay integers"]
    assert misquoted([DOCSTRING], {"x"}, asks) == [
        "says too little: The double",
        "says too little: same dtype",
    ]
    assert misquoted(["Twice x."], {"x"}, ["Twice x."]) == [], "unless they are the whole sentence"


def test_what_two_functions_ask_is_quoted_twice() -> None:
    docstrings = ["Twice x.\n\nNothing is left behind.", "Half of x.\n\nNothing is left behind."]
    asks = ["Twice x.", "Half of x.", "Nothing is left behind."]
    assert unasked(docstrings, {"x"}, asks) == ["[Nothing] [is] [left] [behind]"]
    assert unasked(docstrings, {"x"}, [*asks, "Nothing is left behind."]) == []


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


def test_of_a_known_mistake_the_words_that_it_breaks_are_quoted() -> None:
    made = Exercise("11.double", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])
    made.property("one", asks=("The double of x.", "Same shape, same dtype."))(lambda answer, trial: None)
    made.property("two", asks="x and y are not edited.")(lambda answer, trial: None)
    made.add_mistake("upcast", len, why="float32 becomes float64.", breaks="same\n    dtype")
    found = {"verdict": "wrong", "message": "Wrong.", "at": "one"}

    def asked(name: str, breaks: str) -> tuple[str, ...]:
        return reported(made, len, Result(found, name, breaks)).asked

    assert asked("upcast", made.mistakes["upcast"].breaks) == ("Same shape, same dtype.",)
    assert asked("upcast", "not edited") == ("x and y are not edited.",), "the sentence, wherever it is asked"
    assert asked("upcast", "x: floating") == ("x: floating",), "what no property is there for, too"
    assert asked("upcast", "") == asked("unknown", "same dtype") == made.properties[0].asks


def asked_of(about: str, *asks: str, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What is quoted where a property that is there for `asks` finds something that every property sees."""
    made = Exercise("11.double", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])
    made.property("one", asks=asks)(lambda answer, trial: None)
    made.property("two", asks=others)(lambda answer, trial: None)
    found = {"verdict": "wrong", "message": "Wrong.", "at": "one", "about": about}
    return reported(made, len, Result(found)).asked


def test_of_an_edited_argument_the_words_about_it_are_quoted_or_none() -> None:
    stays, double = "x is left as it is.", "The double of x."
    assert asked_of("", double, stays) == (double, stays)
    assert asked_of("arguments", double, stays) == (stays,)
    assert asked_of("arguments", double, others=(stays,)) == (stays,)
    assert asked_of("arguments", double, others=(stays, "y is not edited.")) == ()
    assert asked_of("state", double, stays, others=("No global generator is moved.",)) == (
        "No global generator is moved.",
    )


def test_an_edited_argument_and_changed_state_are_known_as_that() -> None:
    def judged(answer: Any) -> str:
        made = Exercise("11.double", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])
        made.names = ("double",)
        made.property("one")(lambda answer, trial: trial.call(answer, torch.ones(2)))
        found = judge(made, answer, 1)
        return found.about if found else "right"

    assert judged(lambda x: x.add_(1)) == "arguments"
    assert judged(lambda x: torch.rand(1)) == "state"
    assert judged(lambda x: x + 1) == "right"
