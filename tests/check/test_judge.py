"""What is found of an answer that is not finished."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from helpers.check.judge import Finding, judge
from helpers.check.naming import mistake
from helpers.check.trial import Trial
from helpers.exercise import Exercise


def test_a_stub_behind_right_parts_is_told_where_it_was_reached() -> None:
    halves = Exercise("99.halves", "Halves", objective="", minutes=1, difficulty="easy", hints=["", "", ""])

    @halves.property("the first half")
    def _(answer, trial: Trial) -> None:
        trial.true(answer("first") == 1, "Not 1.")

    @halves.property("the second half")
    def _(answer, trial: Trial) -> None:
        trial.true(answer("second") == 2, "Not 2.")

    def half_done(part: str) -> int:
        if part == "first":
            return 1
        raise NotImplementedError("99.halves")

    found = judge(halves, half_done, seed=1)
    assert found is not None and found.verdict == "not attempted"
    assert found.message.endswith("The checks before it hold; it was reached at: the second half.")

    def untouched(part: str) -> int:
        raise NotImplementedError("99.halves")

    found = judge(halves, untouched, seed=1)
    assert found is not None and found.message.startswith("The stub is still in place")


def test_what_is_asked_once_right_hides_no_name_and_runs_for_no_wrong_answer() -> None:
    doubled = Exercise(
        "99.doubled", "Doubled", objective="", minutes=1, difficulty="easy", hints=["", "", ""]
    )
    asked = []

    @doubled.property("the double")
    def _(answer, trial: Trial) -> None:
        trial.true(answer(3) == 6, "Not the double.", observed=answer(3))

    @doubled.property("refuses text", once_right=True)
    def _(answer, trial: Trial) -> None:
        asked.append(answer(1))
        trial.raises(TypeError, lambda: answer("a"), "for text")

    doubled.add_mistake("square", lambda x: x**2, why="")
    doubled.add_mistake("takes_text", lambda x: x * 2, why="")

    def square(x: object) -> object:  # with another error: it takes text, too
        return x * x if isinstance(x, int) else x

    first = judge(doubled, square, seed=1)
    assert first is not None and mistake(doubled, square, 1, first) == "square"
    assert asked == []
    first = judge(doubled, lambda x: x + x, seed=1)
    assert first is not None and mistake(doubled, lambda x: x + x, 1, first) == "takes_text"
    with pytest.raises(ValueError, match="no earlier property"):
        doubled.property("another one", after=(square,))


def test_a_mistake_is_compared_only_at_the_property_at_which_it_falls() -> None:
    numbers = Exercise(
        "99.numbers", "Numbers", objective="", minutes=1, difficulty="easy", hints=["", "", ""]
    )
    ran: list[tuple[str, str]] = []

    def ask(part: str) -> None:
        @numbers.property(part)
        def _(answer, trial: Trial) -> None:
            ran.append((part, answer.__name__))
            trial.true(answer(part) == part, f"Not {part}.", observed=answer(part))

    for part in ("first", "second", "third"):
        ask(part)

    def no_second(part: str) -> str:
        return "" if part == "second" else part

    def no_third(part: str) -> str:
        return "" if part == "third" else part

    def hangs(part: str) -> str:
        raise AssertionError("what it does is written down")

    numbers.add_mistake("second_lost", no_second, why="", at="second")
    numbers.add_mistake("third_lost", no_third, why="", at="third")
    numbers.add_mistake("second_never_ends", hangs, why="", at="second", observed="hangs")

    def learners(part: str) -> str:  # with a second error behind the first
        return part if part == "first" else ""

    first = judge(numbers, learners, seed=1)
    assert first is not None and mistake(numbers, learners, 1, first) == "second_lost"
    assert ("second", "no_second") in ran and not {name for part, name in ran if part != "second"} - {
        "learners"
    }

    def never_ends(part: str) -> str:
        return part if part == "first" else "hangs"

    first = judge(numbers, never_ends, seed=1)
    assert first is not None and mistake(numbers, never_ends, 1, first) == "second_never_ends"


def test_a_learners_name_for_a_class_hides_no_mistake() -> None:
    pairs = Exercise(
        "99.pairs", "Pairs", objective="", minutes=1, difficulty="easy", hints=["", "", ""], kind="class"
    )

    @pairs.property("takes two")
    def _(answer, trial: Trial) -> None:
        answer().forward(1, 2)

    @pairs.mistake()
    class TakesOne:
        """It takes one."""

        def forward(self, x: int) -> None: ...

    class Mine:
        def forward(self, x: int) -> None: ...

    first = judge(pairs, Mine, seed=1)
    assert first is not None and mistake(pairs, Mine, 1, first) == "takes_one"


def test_what_is_observed_of_an_error_from_a_worker_holds_no_path() -> None:
    """Else no name would be found where the project lies in a different folder."""
    made = Exercise("11.double", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""])

    @made.property("raises as a DataLoader does")
    def _(answer: Any, trial: Any) -> None:
        answer()

    def fails_in_a_worker() -> None:
        trace = 'Original Traceback (most recent call last):\n  File "/home/a/worker.py", line 3, in loop'
        raise TypeError(f"Caught TypeError in DataLoader worker process 0.\n{trace}\nTypeError: no len()")

    found = judge(made, fails_in_a_worker, 1)
    assert found.observed[2].endswith("TypeError: no #()") and "/home" not in found.observed[2]


def of_one_property(check: Any, answer: Any) -> Finding:
    """What an exercise of this one property finds."""
    one = Exercise("99.one", "One", objective="", minutes=1, difficulty="easy", hints=["", "", ""])
    one.property("the one")(check)
    found = judge(one, answer, seed=1)
    assert found is not None
    return found


def test_an_edited_argument_is_told_with_its_place_and_its_numbers() -> None:
    def check(answer: Any, trial: Trial) -> None:
        trial.call(answer, torch.zeros(2), torch.ones(3), [1])

    def edits(x: Tensor, y: Tensor, items: list[int]) -> None:
        y[1] = 5.0

    found = of_one_property(check, edits)
    assert found.message == "The answer changed its second argument."
    assert "[1, 1, 1]" in found.expected and "[1, 5, 1]" in found.got
    found = of_one_property(check, lambda x, y, items: x.requires_grad_())
    assert found.message == "The answer changed its first argument: requires_grad is True, and was False."
    found = of_one_property(check, lambda x, y, items: items.append(2))
    assert found.message == "The answer changed its third argument, a list."
    assert found.got == "1 entries before, 2 after"


def test_entries_in_a_different_order_are_told_from_different_entries() -> None:
    def check(answer: Any, trial: Trial) -> None:
        trial.call(answer, [[3], [1], [2]])

    found = of_one_property(check, lambda rows: rows.sort())
    assert found.got == "the same entries in a different order"
    found = of_one_property(check, lambda rows: rows.__setitem__(0, [3]))
    assert found.got == "as many entries as before, and others among them"


def test_an_endless_recursion_is_one_mistake_wherever_the_stack_ends() -> None:
    def shallow(x: int) -> int:
        return shallow(x)

    def compares(x: Any) -> bool:
        return compares([x]) == [x]

    seen = [of_one_property(lambda answer, trial: answer(1), answer) for answer in (shallow, compares)]
    assert [found.verdict for found in seen] == ["crashed", "crashed"]
    assert seen[0].observed == seen[1].observed
