"""What is found of an answer that is not finished."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.judge import judge
from helpers.trial import Trial


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
    assert found is not None and found.message == "The stub is still in place."
