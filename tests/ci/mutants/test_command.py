"""`labbook mutants`: what passes needs a reason, and a reason needs what passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import helpers
from ci.checkout import test as stages
from ci.mutants import command
from ci.mutants.answers import SOLUTION, Mutant
from ci.mutants.equivalents import NAME
from ci.notebooks.files import Problem, WrongUse
from helpers import paths
from helpers.exercise import Exercise

twice = Exercise(
    "99.twice", "Twice", objective="", minutes=1, difficulty="easy", hints=["", "", ""], seconds=1
)


@twice.property("the double")
def doubled(answer: Any, trial: Any) -> None:
    trial.true(answer(3.0) == 6.0, "Not the double.", observed=answer(3.0))


def double(number: float) -> float:
    return 2 * number


def thrice(number: float) -> float:
    return 3 * number


def rounded(number: float) -> float:
    return round(2 * number)


def never_ends(number: float) -> float:
    while True:
        pass


REJECTED = [
    Mutant(SOLUTION, "return 2 * x", "2 to 3", thrice),
    Mutant(SOLUTION, "for", "Lt to LtE", never_ends),
]
PASSES = Mutant("by_sum", "return x + x", "round() left out", rounded)
ENTRY = "- in: by_sum\n  line: return x + x\n  edit: round() left out\n  reason: {reason}\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs the command for these mutants of an exercise, with these reasons on file."""

    def run(*of_the_exercise: Mutant, reasons: str = "", unedited: Any = double) -> int:
        monkeypatch.setattr(command, "_exercises", lambda root, asked: [twice])
        monkeypatch.setattr(command, "_folder", lambda root, exercise: tmp_path)
        monkeypatch.setattr(command, "mutants", lambda exercise: list(of_the_exercise))
        monkeypatch.setattr(command, "unedited", lambda exercise: [(SOLUTION, unedited)])
        (tmp_path / NAME).write_text(reasons)
        return command.command(paths.ROOT, ["99"])

    return run


def test_what_is_rejected_needs_no_reason_also_where_it_hangs(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*REJECTED) == 0
    assert "99.twice: 2 mutants, 0 pass" in capsys.readouterr().out


def test_mutants_of_an_answer_that_fails_itself_say_nothing(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(unedited=thrice) == 1
    assert "solution: it fails without an edit, too" in capsys.readouterr().out


def test_what_passes_fails_the_command_and_shows_the_entry_to_be_written(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*REJECTED, PASSES) == 1
    assert ENTRY.format(reason="TODO") in capsys.readouterr().out


@pytest.mark.parametrize("any_of", ["in", "line"])
def test_with_a_reason_it_may_pass(run: Callable[..., int], any_of: str) -> None:
    assert run(PASSES, reasons=ENTRY.format(reason="Halves are not asked for.")) == 0
    lines = ENTRY.format(reason="Halves are not asked for.").splitlines()
    wide = [f"{line.partition(':')[0]}: '*'" if f"{any_of}:" in line else line for line in lines]
    assert run(PASSES, reasons="\n".join(wide)) == 0


def test_only_a_reason_for_any_line_is_for_the_second_such_edit_of_a_line(run: Callable[..., int]) -> None:
    second = replace(PASSES, edit=f"{PASSES.edit} (2)")
    reason = ENTRY.format(reason="Halves are not asked for.")
    assert run(PASSES, second, reasons=reason) == 1
    assert run(PASSES, second, reasons=reason.replace("line: return x + x", "line: '*'")) == 0


def test_a_reason_without_its_mutant_fails_the_command(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*REJECTED, reasons=ENTRY.format(reason="Halves are not asked for.")) == 1
    assert "no such mutant passes: by_sum: return x + x: round() left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    "reasons",
    [ENTRY.format(reason="TODO"), ENTRY.format(reason="''"), "- in: by_sum\n", "- line: for a in b: pass\n"],
)
def test_a_reason_is_a_text(run: Callable[..., int], reasons: str) -> None:
    with pytest.raises(Problem, match="equivalent.yaml"):
        run(PASSES, reasons=reasons)


@pytest.mark.parametrize("asked", ["04.ema", "4", "optim", "47"])
def test_what_is_not_known_is_wrong_use(asked: str) -> None:
    with pytest.raises((WrongUse, Problem)):
        command.command(paths.ROOT, [asked])


def test_without_a_name_all_labs() -> None:
    assert command._exercises(paths.ROOT, []) == list(helpers.exercises().values())
    assert {one.id[:2] for one in command._exercises(paths.ROOT, ["03"])} == {"03"}


def test_every_night_no_lab_that_is_done_has_a_mutant_without_a_reason() -> None:
    assert [*stages.LABBOOK, "mutants"] in [stage.command for stage in stages.MORE_STAGES]
