"""`labbook labs`: every lab runs to its end unsolved, and every exercise says that it was not attempted."""

from __future__ import annotations

import sys
from pathlib import Path

from ci.notebooks import Problem
from ci.pool import Job, Outcome, outcomes
from ci.progress import print_table
from ci.regenerate import guarded, told, worked
from ci.verdicts import words

UNTOUCHED = "not attempted"


def labs(root: Path, labs: list[str]) -> int:
    """Run the notebooks of labs/ as a learner finds them; returns the exit code.

    Args:
        root: The project.
        labs: Numbers of labs, none for all.
    """
    return guarded("labs", lambda: _labs(root, labs))


def _labs(root: Path, labs: list[str]) -> int:
    known = _catalogue(root)
    done = worked(root, "labs", labs, "labs", strict=False)
    rows = []
    for outcome in done:
        reports = [tuple(report) for report in outcome.result.get("verdicts", [])]
        lab = outcome.name[:2]
        mine = {kind: [name for name in ids if name.startswith(f"{lab}.")] for kind, ids in known.items()}
        if not outcome.faults:
            outcome.faults += [f"labs/{outcome.name}.ipynb: {fault}" for fault in silent(mine, reports)]
        count = {verdict: sum(r[2] == verdict for r in reports) for _, _, verdict in reports}
        exercises = f"{len(mine['exercises'])} + {len(mine['predictions'])}"
        rows.append(
            (
                outcome.name,
                f"{outcome.seconds:.1f}",
                outcome.result.get("cells", "-"),
                exercises,
                words(count),
            )
        )
    print_table(("notebook", "seconds", "cells", "exercises + predictions", "verdicts"), rows)
    return told("labs", done)


def silent(known: dict[str, list[str]], reports: list[tuple[str, str, str]]) -> list[str]:
    """What is wrong with the reports of an unsolved lab.

    Args:
        known: The lab's `exercises` and `predictions`, as ids.
        reports: Cell, exercise and verdict of each report in the outputs.
    """
    faults = []
    for cell, exercise, verdict in reports:
        if verdict != UNTOUCHED:
            faults.append(f"cell {cell}: {exercise} says {verdict!r} though nothing was solved")
    for exercise in known["exercises"]:
        cell = f"{exercise.split('.')[1].replace('_', '-')}-check"
        if not any((place, name) == (cell, exercise) for place, name, _ in reports):
            faults.append(f"cell {cell}: nothing says '{UNTOUCHED}: {exercise}'")
    for prediction in known["predictions"]:
        if not any(name == prediction for _, name, _ in reports):
            faults.append(f"no cell says '{UNTOUCHED}: {prediction}'")
    return faults


def _catalogue(root: Path) -> dict[str, list[str]]:
    argv = [sys.executable, "-m", "ci.worker", "catalogue"]
    [found] = outcomes([Job("catalogue", argv, strict=False)], root, "labs")
    if found.faults:
        raise Problem("\n".join(["the exercises cannot be listed", *found.faults]))
    return {kind: found.result[kind] for kind in ("exercises", "predictions")}


__all__ = ["Outcome", "labs", "silent"]
