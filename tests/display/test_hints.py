"""Hints: what the last check saw comes first, then the written ones, and never less than those."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import torch

from helpers import paths
from helpers.check.trial import Trial
from helpers.course import catalogue
from helpers.course.catalogue import Entry, Fall
from helpers.display.errors import meaning
from helpers.display.hints import MOST, Hint, HintsShown, Seen
from helpers.display.report import Report
from helpers.exercise import Exercise
from tests.support.hostile_exercises import scale

WRITTEN = ["Multiply.", "Then add.", "x * k + 1"]
VALUES = "x * k + 1, for every shape"
WHY = {
    "one_forgotten": "The 1 is gone.",
    "no_tensor": "It is a list.",
    "key": "No such key.",
    "elsewhere": "It fails at another property.",
}


def exercise(names: tuple[str, ...] | None = None) -> Exercise:
    """An exercise; the catalogue has four known mistakes of it, three of them at its property."""
    made = Exercise(
        "99.scale", "Scale", objective="o", minutes=1, difficulty="easy", hints=WRITTEN, names=names
    )

    @made.property(VALUES)
    def check(answer: Any, trial: Trial) -> None:
        x = torch.randn(3, generator=trial.generator)
        trial.equal(trial.call(answer, x, 2.0), x * 2 + 1)

    return made


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue knows how the three fall."""
    monkeypatch.setattr(paths, "DATA", tmp_path)
    catalogue.folder().mkdir()
    messages = {
        "one_forgotten": "Every value is 1.0 below the expected one.",
        "no_tensor": "Expected a tensor, got list.",
        "key": "The check could not use what the answer gave: KeyError: 'k'",
    }
    wrong = {name: Fall(WHY[name], VALUES, message, "x") for name, message in messages.items()}
    wrong["elsewhere"] = Fall(WHY["elsewhere"], "another property", "Expected a tensor, got list.", "x")
    entries = {"99.scale": Entry("99.scale", "Scale", 1, True, 1, wrong)}
    (catalogue.folder() / "99_scale.json").write_text(catalogue.as_text(entries))


def report(message: str, verdict: str = "wrong", description: str = VALUES, **more: Any) -> Report:
    return Report("99.scale", "Scale", verdict, message=message, at=description, **more)


def hints_of(tried: Exercise) -> HintsShown:
    return HintsShown(tried, catalogue.falls_of(tried.id))


def test_without_a_check_the_written_hints_come_one_more_each_time() -> None:
    hints = hints_of(exercise())
    shown = [hints.after(None) for _ in range(5)]
    assert [len(hint.hints) for hint in shown] == [1, 2, 3, 3, 3]
    assert all(hint.seen == Seen() for hint in shown)
    assert str(shown[1]) == "hint 2 of 3: 99.scale Scale\n  1. Multiply.\n  2. Then add."


def test_after_the_last_hint_the_solution_is_named() -> None:
    for names, call in ((None, "compare(scale)"), (("up", "down"), "compare((up, down))")):
        hints = hints_of(exercise(names))
        messages = [f"lab.scale.{call}" in str(hints.after(None)) for _ in range(4)]
        assert messages == [False, False, True, True]


def test_what_the_check_saw_comes_first_and_then_one_more_hint_each_time() -> None:
    hints = hints_of(exercise())
    seen = report("Every value is 2.5 below the expected one.")
    first, second, third = (hints.after(seen) for _ in range(3))
    assert str(first) == (
        "hint: 99.scale Scale\n"
        f"  The last check stopped at this property: {VALUES}.\n"
        "  A known mistake fails there, too. Is it yours?\n"
        "  - The 1 is gone.\n"
        "  If that does not help: call hint() again for the first of 3 written hints."
    )
    assert [hint.hints for hint in (second, third)] == [("Multiply.",), ("Multiply.", "Then add.")]
    assert second.seen == third.seen == first.seen


def test_the_nearest_mistakes_come_first_and_no_more_than_a_few() -> None:
    tried, words = exercise(), ("much above", "above", "over", "just below", "below")
    wrong = {
        word: Fall(f"It is {word}.", VALUES, f"Every value is 1.0 {word} the expected one.", "x")
        for word in words
    }
    entries = {"99.scale": Entry("99.scale", "Scale", 1, True, 1, wrong)}
    (catalogue.folder() / "99_scale.json").write_text(catalogue.as_text(entries))
    maybe = hints_of(tried).after(report("Every value is 2.5 below the expected one.")).seen.maybe
    assert len(maybe) == MOST and maybe[:2] == ("It is below.", "It is just below.")


def test_another_symptom_changes_the_beginning_and_keeps_the_hints() -> None:
    hints = hints_of(exercise())
    for _ in range(2):
        hints.after(report("Every value is 2.5 below the expected one."))
    changed = hints.after(report("Expected a tensor, got tuple."))
    assert changed.seen.maybe == ("It is a list.",) and changed.hints == ("Multiply.",)
    assert hints.after(report("Expected a tensor, got tuple.")).hints == ("Multiply.", "Then add.")


def test_other_numbers_are_no_other_symptom() -> None:
    hints = hints_of(exercise())
    for count, number in enumerate((12, 7, 103)):  # the cell has been run again, other inputs were drawn
        place = f"Cell In[{number}], line 1, in scale: return x[3]"
        hint = hints.after(report(f"The answer raised IndexError: {number}", "crashed", where=(place,)))
        assert len(hint.hints) == count


def test_a_symptom_without_help_does_not_cost_a_hint() -> None:
    hint = hints_of(exercise()).after(report("Nothing that any known mistake says."))
    assert hint.hints == ("Multiply.",) and hint.seen.maybe == () and VALUES in str(hint)


def test_a_mistake_that_was_named_is_told_again_and_the_written_hints_come() -> None:
    hint = hints_of(exercise()).after(report("m", mistake="no_tensor", known={"no_tensor": "It is a list."}))
    assert hint.hints == ("Multiply.",) and "The check knows your mistake, no_tensor: It is a list." in str(
        hint
    )


def test_a_crash_is_told_with_its_line_and_what_such_an_error_means() -> None:
    place = "Cell In[3], line 2, in scale: return x.nope"
    hints = hints_of(exercise())
    crash = report("The answer raised AttributeError: no", "crashed", where=("Cell In[2], line 1", place))
    first = hints.after(crash)
    assert first.hints == () and f"The answer stopped at {place}" in str(first)
    assert meaning("AttributeError") in str(first) and first.seen.maybe == ()
    assert hints.after(crash).hints == ("Multiply.",)


def test_a_crash_like_that_of_a_known_mistake_names_it() -> None:
    hint = hints_of(exercise()).after(report("The answer raised KeyError: 'z'", "crashed"))
    assert hint.seen.maybe == ("No such key.",)


def test_a_time_out_is_told_with_the_line_where_it_stood() -> None:
    place = "Cell In[3], line 4, in scale: while True:"
    hint = hints_of(exercise()).after(
        report("No result after 5 seconds of processor time.", "timed out", where=(place,))
    )
    assert f"Time ran out at {place}" in str(hint) and hint.hints == ()


def test_an_end_that_nothing_is_known_of_does_not_cost_a_hint() -> None:
    hint = hints_of(exercise()).after(report("The answer ended its process (exit code 3).", "crashed"))
    assert hint.hints == ("Multiply.",)


def test_a_fault_of_the_check_itself_is_not_explained_as_the_learners() -> None:
    broken = "The check itself failed, which is not your answer's fault: KeyError: 'x'"
    hint = hints_of(exercise()).after(report(broken, "crashed", description=""))
    assert hint.seen == Seen() and hint.hints == ("Multiply.",)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("The stub is still in place.", False),
        ("The answer calls 01.other, which is still a stub. Solve that one first.", True),
    ],
)
def test_before_the_first_attempt_the_first_hint_comes(message: str, shown: bool) -> None:
    hint = hints_of(exercise()).after(report(message, "not attempted"))
    assert hint.hints == ("Multiply.",) and (message in str(hint)) is shown


def test_once_it_has_passed_only_the_written_hints_are_left() -> None:
    hint = hints_of(exercise()).after(report("", "passed"))
    assert hint.hints == ("Multiply.",) and "Your answer has passed." in str(hint)


def test_a_lab_without_a_catalogue_has_its_hints() -> None:
    (catalogue.folder() / "99_scale.json").write_text("{")
    hint = hints_of(exercise()).after(report("Every value is 2.5 below the expected one."))
    assert hint.hints == ("Multiply.",) and hint.seen.maybe == ()


def test_a_hint_begins_with_the_last_check_in_this_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_hints_shown", None)
    assert scale.check(lambda x, k: [1]).verdict == "wrong"
    assert f"The last check stopped at this property: {scale.properties[0].description}." in str(scale.hint())
    assert scale.check(lambda x, k: x * k + 1).passed
    assert "last check" not in str(scale.hint())


def test_text_says_all_that_the_card_says() -> None:
    hints = hints_of(exercise())
    for _ in range(4):
        hint: Hint = hints.after(report("Expected a tensor, got `tuple`."))
        card = hint._repr_mimebundle_()["text/html"]
        shown = set(re.findall(r"[\w()]+", unescape(re.sub(r"<[^>]+>", " ", card))))
        message = set(re.findall(r"[\w()]+", str(hint)))
        assert shown - message <= {"Hint"} and message - shown <= {"hint", "99", "scale", "1", "2", "3"}


def test_a_learners_line_cannot_put_html_into_the_card() -> None:
    place = ("Cell In[1], line 1, in f: return '<script>'",)
    hint = hints_of(exercise()).after(report("The answer raised ValueError", "crashed", where=place))
    assert "<script>" not in hint._repr_mimebundle_()["text/html"]


def raised(code: str) -> str:
    """The message of the report on an answer that runs this code."""
    try:
        exec(code, {"torch": torch})
    except Exception as error:
        return f"The answer raised {type(error).__name__}: {error}"
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("torch.ones(2, requires_grad=True).add_(1)", "in place while gradients"),
        ("x = torch.ones(2, requires_grad=True).exp().sum(); x.backward(); x.backward()", "walked twice"),
        ("x = torch.ones(2, requires_grad=True).exp(); y = x * x; x.add_(1); y.sum().backward()", "edited"),
        ("torch.ones(2).sum().backward()", "no graph behind it"),
        ("torch.ones(2, 3) + torch.ones(4)", "Two shapes"),
        ("torch.ones(2, 3) @ torch.ones(2, 3)", "Two shapes"),
        ("torch.ones(2) @ torch.ones(2).double()", "A dtype"),
        ("None.shape", "is None"),
        ("3 .shape", "no such attribute"),
        ("len(3, 4)", "other arguments"),
        ("3 + ''", "kind of object"),
        ("nope", "not known here"),
        ("def f():\n    n += 1\nf()", "no value yet"),
        ("[][0]", "one more than there is"),
        ("next(iter([]))", "one more than there is"),
        ("{}['a']", "no such key"),
        ("1 / 0", "is 0"),
        ("int('x')", "the value is not"),
        ("torch.linalg.inv(torch.zeros(2, 2, dtype=torch.int64))", "A dtype"),
    ],
)
def test_an_error_of_torch_or_python_gets_its_own_meaning(code: str, words: str) -> None:
    assert words in meaning(raised(code))


def test_an_error_that_nobody_knows_gets_no_meaning() -> None:
    assert meaning("The answer raised ConnectionResetError: x") == ""
