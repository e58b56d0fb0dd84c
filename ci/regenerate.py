"""`labbook run`: every solution executed headless, its stored outputs rewritten where they changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ci.notebooks import Problem, WrongUse, is_run, notebooks, read
from ci.pool import Job, Outcome, outcomes
from ci.progress import print_table
from ci.verdicts import words


def run(root: Path, labs: list[str], *, force: bool) -> int:
    """Execute solutions with papermill and store what came; returns the exit code.

    Args:
        root: The project.
        labs: Numbers of labs, none for all.
        force: Never skip a notebook. Nothing is skipped yet, so it changes nothing yet.
    """
    return guarded("run", lambda: _run(root, labs))


def _run(root: Path, labs: list[str]) -> int:
    done = worked(root, "solutions", labs, "run", strict=True)
    rows = [
        (
            o.name,
            f"{o.seconds:.1f}",
            o.result.get("cells", "-"),
            _word(o),
            words(o.result.get("verdicts", {})),
        )
        for o in done
    ]
    print_table(("notebook", "seconds", "cells", "stored", "verdicts"), rows)
    return told("run", done)


def _word(outcome: Outcome) -> str:
    if outcome.faults:
        return "untouched"
    return "new outputs" if outcome.result["changed"] else "same bytes"


def worked(root: Path, folder: str, labs: list[str], task: str, *, strict: bool) -> list[Outcome]:
    """What came of a worker's task on the notebooks of a folder. A notebook that cannot be read fails at once."""
    broken, jobs = [], []
    paths = notebooks(root / folder, labs)
    for path in paths:
        try:
            cells = sum(map(is_run, read(path, root).cells))
        except Problem as problem:
            broken.append(Outcome(path.stem, faults=[str(problem)]))
            continue
        argv = [sys.executable, "-m", "ci.worker", task, str(path), str(root)]
        jobs.append(Job(path.stem, argv, strict=strict, cells=cells))
    done = {outcome.name: outcome for outcome in [*broken, *outcomes(jobs, root, task)]}
    return [done[path.stem] for path in paths]


def told(what: str, done: list[Outcome]) -> int:
    """Print the faults and the sum; returns the exit code."""
    failed = [outcome for outcome in done if outcome.faults]
    for outcome in failed:
        for fault in outcome.faults:
            print(f"{what}: {fault}")
    print(f"{what}: {len(done) - len(failed)} of {len(done)} notebooks well")
    return int(bool(failed))


def guarded(what: str, task: Callable[[], int]) -> int:
    """The task's exit code; a problem is printed (1, or 2 for wrong usage), an interrupt is 130."""
    try:
        return task()
    except WrongUse as problem:
        print(f"{what}: {problem}", file=sys.stderr)
        return 2
    except Problem as problem:
        print(f"{what}: {problem}")
        return 1
    except KeyboardInterrupt:
        print(f"\n{what}: interrupted; no notebook was changed half-way, no process is left", file=sys.stderr)
        return 130
