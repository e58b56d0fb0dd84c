"""The report as text and card; predictions; hints; strict mode."""

from __future__ import annotations

import ast
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import pytest

import helpers
from helpers.check.protocol import Result
from helpers.display.comparison import Comparison
from helpers.display.report import NotPassed, Report
from helpers.exercise import Exercise, reported
from helpers.prediction import Choice, Prediction
from tests.labs import right_answers
from tests.support.hostile_exercises import scale


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w.()]+", text))


def html(report: Report) -> str:
    return report._repr_mimebundle_()["text/html"]


def test_text_says_all_that_the_card_says() -> None:
    for answer in (lambda x, k: x * k, lambda x, k: x * k + 1, lambda x, k: print("printed") or 3, None, ...):
        report = scale.check(answer)
        card = unescape(re.sub(r"<[^>]+>", " ", html(report)))
        shown = words(card) - {"Passed", "Not", "yet", "yet:", "attempted", "crashed", "wrong"}
        assert shown <= words(str(report)), shown - words(str(report))


def test_card_needs_no_script_no_class_and_no_trust() -> None:
    card = html(scale.check(lambda x, k: x * k + 1))
    assert not re.search(r"<script|<style|class=|\bon\w+=", card)
    for declaration in re.findall(r"([\w-]+):[^;\"]*var\(--", card):
        assert re.search(rf"{declaration}(-color)?:[^;\"v]+|border", card), (
            "a literal value before each variable"
        )
    for summary in re.findall(r"<summary[^>]*>", card):
        assert 'data-lm-suppress-shortcuts="true"' in summary, "typing dd would delete the cell"


def test_an_answer_cannot_put_html_into_the_card() -> None:
    report = scale.check(lambda x, k: "<script>alert(1)</script>")
    assert report.verdict == "wrong", str(report)
    assert "<script>" not in html(report) and "&lt;script&gt;" in html(report)


def test_output_beyond_50_lines_is_cut_and_that_is_said() -> None:
    def answer(x, k):  # noqa: ANN001, ANN202
        print("\n".join(f"line {n}" for n in range(60)))
        return x * k + 1

    text = str(scale.check(answer))
    assert "| line 49" in text and "| line 51" not in text and "cut here" in text


def test_strict_mode_raises_with_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABBOOK_STRICT", "1")
    assert scale.check(lambda x, k: x * k + 1).passed
    with pytest.raises(NotPassed, match="wrong: 99.scale"):
        scale.check(lambda x, k: x)
    with pytest.raises(NotPassed, match="not attempted: 99.scale"):
        scale.check(...)


def passed(**more: Any) -> Report:
    """A passed report with two known mistakes, one of which is known to break on something."""
    known = {"sign": "The sign is lost.", "empty": "No `x`."}
    return Report(
        "99.scale", "Scale", "passed", known=known, breaks={"sign": "Breaks on: x = [-1,\n 2]"}, **more
    )


def test_a_passed_card_tells_what_each_mistake_breaks_on() -> None:
    for shown in (str(passed()), unescape(re.sub(r"<[^>]+>", " ", html(passed())))):
        assert "Breaks on: x = [-1," in shown and "The sign is lost." in shown
        assert shown.index("sign") < shown.index("Breaks on") < shown.index("empty")
    assert "    Breaks on: x = [-1,\n       2]\n  - empty" in str(passed())


def test_a_passed_card_shows_own_code_beside_the_solution_if_they_differ() -> None:
    assert "beside" not in html(passed()) + str(passed())
    both = passed(beside=Comparison("99.scale", "return x + x", "return 2 * x"))
    assert "    - return x + x\n    + return 2 * x" in str(both)
    assert html(both).count("<summary") == 2 and "<th scope=" in html(both)


def test_text_of_a_passed_card_says_all_that_the_card_says() -> None:
    report = passed(beside=Comparison("99.scale", "return x + x", "return 2 * x"), properties=("linear",))
    card = unescape(re.sub(r"<[^>]+>", " ", html(report)))
    assert words(card) - {"Passed", "(", ")"} <= words(str(report))


def test_a_right_answer_of_a_lab_is_told_what_the_known_mistakes_break_on() -> None:
    exercise = helpers.exercises()["01.seed_everything"]
    report = exercise.check(right_answers("01.seed_everything")[0])
    assert report.passed and set(report.breaks) == set(exercise.mistakes)
    assert all(text.startswith(("Breaks on: ", "Does not hold: ")) for text in report.breaks.values())
    assert report.beside is not None and "beside the solution" in html(report)


def test_checks_in_two_threads_parse_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, now, most = ast.parse, [], []

    def slow(*args: Any, **kwargs: Any) -> ast.AST:
        now.append(args)
        most.append(len(now))
        time.sleep(0.01)  # here a different thread goes on
        now.pop()
        return parse(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", slow)
    exercise, answer = helpers.exercises()["01.seed_everything"], right_answers("01.seed_everything")[0]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: reported(exercise, answer, Result(None)), range(8)))
    assert all(report.passed and report.beside is not None for report in found)
    assert max(most) == 1


def test_a_wrong_answer_is_not_shown_the_solution() -> None:
    exercise = helpers.exercises()["01.seed_everything"]
    report = exercise.check(lambda seed: None)
    assert report.beside is None and report.breaks == {} and "Breaks on" not in str(report)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(id="3.conv"), "no exercise id"),
        (dict(id="03.Conv2d"), "no exercise id"),
        (dict(hints=["one"]), "three hints"),
        (dict(difficulty="brutal"), "difficulty"),
    ],
)
def test_an_author_is_told_what_is_wrong_with_an_exercise(wrong: dict, message: str) -> None:
    right = dict(id="03.conv2d", objective="o", minutes=1, difficulty="easy", hints=["a", "b", "c"])
    with pytest.raises(ValueError, match=message):
        Exercise(title="T", **(right | wrong))


prediction = Prediction(
    "99.order",
    "Order",
    {
        "A": Choice("first", "It is not: the second wins.", "first_wins"),
        "B": Choice("second", "The second wins, always."),
    },
)


def test_a_prediction_names_the_wrong_idea_and_hides_the_right_letter() -> None:
    wrong, right = prediction.check("A"), prediction.check(" b ")
    assert (wrong.verdict, wrong.mistake) == ("wrong", "first_wins") and "the second wins" in str(wrong)
    assert right.passed and not re.search(r"\bB\b", str(right))
    assert prediction.check().verdict == prediction.check(...).verdict == "not attempted"
    assert "A, B" in str(prediction.check("Z")) and prediction.check("Z").mistake is None
    assert prediction.check(3).verdict == "wrong"


def test_a_prediction_has_one_right_choice() -> None:
    with pytest.raises(ValueError, match="one choice"):
        Prediction("99.two", "T", {"A": Choice("a", "w"), "B": Choice("b", "w")})


def test_when_cpp_logged_a_line_is_not_told() -> None:
    def answer(x, k):
        os.write(2, b"[W1121 23:21:24.123456789 reducer.cpp:1545] Warning: slow\n")
        return x * k

    text = str(scale.check(answer))
    assert "[W reducer.cpp:1545] Warning: slow" in text and "23:21" not in text
