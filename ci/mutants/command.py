"""`labbook mutants`: gives every mutant to the check of its exercise, and shows those that pass without a reason."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import helpers
from ci.messages.nameless import Nameless
from ci.messages.reports import checked
from ci.mutants.answers import Mutant, mutants, unedited
from ci.mutants.equivalents import NAME, as_entry, equivalents
from ci.notebooks.files import WrongUse, notebooks
from helpers.exercise import Exercise

TOGETHER = 64  # mutants that are given to their checks before the next are made


def command(root: Path, asked: Sequence[str]) -> int:
    """`labbook mutants [NN | ID ...]`. Returns the exit code: 1 if one passes without a reason, or a reason is old.

    asked: numbers of labs (04) and ids of exercises (04.ema_update); none: all.
    """
    failed = 0
    for exercise in _exercises(root, asked):
        failed += _worked(exercise, _folder(root, exercise))
    print(
        f"mutants without a reason, and reasons without a mutant: {failed}"
        if failed
        else "mutants: none without a reason"
    )
    return int(bool(failed))


def _exercises(root: Path, asked: Sequence[str]) -> list[Exercise]:
    known = helpers.exercises()
    notebooks(root / "solutions", [one for one in asked if re.fullmatch(r"\d\d", one)])  # knows the numbers
    if unknown := [one for one in asked if "." in one and one not in known or not re.match(r"\d\d", one)]:
        raise WrongUse(f"no exercise {', '.join(unknown)}: give numbers of labs (04) or ids (04.ema_update)")
    wanted = asked or {id[:2] for id in known}
    return [exercise for id, exercise in known.items() if id in wanted or id[:2] in wanted]


def _folder(root: Path, exercise: Exercise) -> Path:
    (notebook,) = (root / "solutions").glob(f"{exercise.id[:2]}_*.ipynb")
    return root / "helpers" / "labs" / notebook.stem[3:] / exercise.id[3:]


def _worked(exercise: Exercise, folder: Path) -> int:
    """Prints what is wrong with the mutants of an exercise; returns how many lines of that there are."""
    start, excused = time.monotonic(), equivalents(folder)
    every = list(mutants(exercise))
    passing = passed(exercise, every)
    holes = [mutant for mutant in passing if not any(known.is_of(mutant) for known in excused)]
    stale = [known for known in excused if not any(known.is_of(mutant) for mutant in passing)]
    print(
        f"{exercise.id}: {len(every)} mutants, {len(passing)} pass, {len(passing) - len(holes)} of them with a reason "
        f"({time.monotonic() - start:.0f} s)",
        flush=True,
    )
    shown = dict.fromkeys(as_entry(mutant) for mutant in holes)
    print("".join(shown), end="")
    for known in stale:
        print(f"  {folder / NAME}: no such mutant passes: {known.where}: {known.line}: {known.edit}")
    untold = failing(exercise)
    for where in untold:
        print(f"  {where}: it fails without an edit, too, so its mutants say nothing")
    sys.stdout.flush()
    return len(shown) + len(stale) + len(untold)


def failing(exercise: Exercise) -> list[str]:
    """The right answers that the check refuses when they are made in the way of their mutants."""
    answers = list(unedited(exercise))
    reports = checked(Nameless(exercise), [answer for _, answer in answers], seconds=exercise.seconds)
    return [where for (where, _), report in zip(answers, reports, strict=True) if not report.passed]


def passed(exercise: Exercise, every: Sequence[Mutant]) -> list[Mutant]:
    """Those that the check accepts, at its fixed seed. One that hangs is ended by the check's own limit."""
    nameless, found = Nameless(exercise), []
    for start in range(0, len(every), TOGETHER):
        some = every[start : start + TOGETHER]
        reports = checked(nameless, [mutant.answer for mutant in some], seconds=exercise.seconds)
        found += [mutant for mutant, report in zip(some, reports, strict=True) if report.passed]
    return found
