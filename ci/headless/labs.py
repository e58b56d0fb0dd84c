"""`labbook labs`: every lab runs to its end unsolved, and every exercise says that it was not attempted."""

from __future__ import annotations

from pathlib import Path

from ci.headless.jobs import Outcome
from ci.headless.progress import print_table
from ci.headless.run import guarded, job_for, seconds, summarise, worked
from ci.notebooks.verdicts import words

UNTOUCHED = "not attempted"


def labs(root: Path, labs: list[str], *, force: bool = False) -> int:
    """Run the notebooks of labs/ as a learner finds them; returns the exit code.

    Args:
        root: The project.
        labs: Numbers of labs, none for all.
        force: Run also what has not changed since it passed.
    """
    return guarded("labs", lambda: _labs(root, labs, force))


def _labs(root: Path, labs: list[str], force: bool) -> int:
    done = worked(
        root,
        "labs",
        labs,
        "labs",
        lambda path: job_for(path, root, "labs", strict=False),
        force=force,
        further=_silences,
    )
    rows = []
    for outcome in done:
        reports = [tuple(report) for report in outcome.result.get("verdicts", [])]
        count = {verdict: sum(r[2] == verdict for r in reports) for _, _, verdict in reports}
        rows.append(
            (
                outcome.name,
                seconds(outcome),
                outcome.result.get("cells", "-"),
                " + ".join(str(len(ids)) for ids in outcome.result["known"].values())
                if outcome.result
                else "-",
                words(count),
            )
        )
    print_table(("notebook", "seconds", "cells", "exercises + predictions", "verdicts"), rows)
    return summarise("labs", done)


def _silences(outcome: Outcome) -> list[str]:
    reports = [tuple(report) for report in outcome.result["verdicts"]]
    return [f"labs/{outcome.name}.ipynb: {error}" for error in silent(outcome.result["known"], reports)]


def silent(known: dict[str, list[str]], reports: list[tuple[str, str, str]]) -> list[str]:
    """What is wrong with the reports of an unsolved lab.

    Args:
        known: The lab's `exercises` and `predictions`, as ids.
        reports: Cell, exercise and verdict of each report in the outputs.
    """
    errors = []
    for cell, exercise, verdict in reports:
        if verdict != UNTOUCHED:
            errors.append(f"cell {cell}: {exercise} says {verdict!r} though nothing was solved")
    for exercise in known["exercises"]:
        cell = f"{exercise.split('.')[1].replace('_', '-')}-check"
        if not any((place, name) == (cell, exercise) for place, name, _ in reports):
            errors.append(f"cell {cell}: nothing says '{UNTOUCHED}: {exercise}'")
    for prediction in known["predictions"]:
        if not any(name == prediction for _, name, _ in reports):
            errors.append(f"no cell says '{UNTOUCHED}: {prediction}'")
    return errors


__all__ = ["Outcome", "labs", "silent"]
