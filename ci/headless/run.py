"""`labbook run`: every solution executed headless, its stored outputs rewritten where they changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ci.headless.cache import Cache
from ci.headless.jobs import Job, Outcome
from ci.headless.pool import outcomes
from ci.headless.progress import print_table
from ci.headless.schedule import starts_ranks
from ci.headless.warm.owner import kernels, tally
from ci.notebooks.files import Problem, WrongUse, is_run, notebooks, read
from ci.notebooks.verdicts import words


def run(root: Path, labs: list[str], *, force: bool) -> int:
    """Execute solutions with papermill and store what came; returns the exit code.

    Args:
        root: The project.
        labs: Numbers of labs, none for all.
        force: Run also what has not changed since it passed.
    """
    return guarded("run", lambda: _run(root, labs, force))


def _run(root: Path, labs: list[str], force: bool) -> int:
    done = worked(root, "solutions", labs, "run", lambda path: job_for(path, root, "run"), force=force)
    rows = [
        (
            o.name,
            seconds(o),
            o.result.get("cells", "-"),
            _word(o),
            words(o.result.get("verdicts", {})),
        )
        for o in done
    ]
    print_table(("notebook", "seconds", "cells", "stored", "verdicts"), rows)
    return summarise("run", done)


def _word(outcome: Outcome) -> str:
    if outcome.errors:
        return "untouched"
    if outcome.unchanged:
        return "unchanged"
    return "new outputs" if outcome.result["changed"] else "same bytes"


def seconds(outcome: Outcome) -> str:
    """How long the notebook took, for the table."""
    return "unchanged" if outcome.unchanged else f"{outcome.seconds:.1f}"


def job_for(path: Path, root: Path, task: str, *, strict: bool = True) -> Job:
    """The worker's job for a notebook.

    Raises:
        Problem: the notebook cannot be read.
    """
    notebook = read(path, root)
    argv = [sys.executable, "-m", "ci.headless.worker", task, str(path), str(root)]
    cells = sum(map(is_run, notebook.cells))
    return Job(path.stem, argv, strict=strict, cells=cells, ranks=starts_ranks(notebook), kernel=True)


def no_more_errors(outcome: Outcome) -> list[str]:
    """For a task whose jobs find every error themselves."""
    return []


def worked(
    root: Path,
    folder: str,
    labs: list[str],
    task: str,
    make: Callable[[Path], Job],
    *,
    force: bool,
    further: Callable[[Outcome], list[str]] = no_more_errors,
) -> list[Outcome]:
    """What came of a task on the notebooks of a folder; what has not changed since it passed is not run.

    Args:
        make: The job for a notebook. A Problem that it raises is the notebook's fault.
        force: Skip nothing.
        further: Tells further errors of a job that went well.
    """
    cache, done, jobs = Cache(root, task), {}, []
    paths = {path.stem: path for path in notebooks(root / folder, labs)}

    def recall() -> None:
        for name, path in paths.items():
            result = cache.recall(path)
            if result is not None and not force:
                done[name] = Outcome(name, result=result, unchanged=True)

    def judge(outcome: Outcome) -> None:
        if not outcome.errors:
            outcome.errors += further(outcome)
        if not outcome.errors:
            cache.remember(paths[outcome.name], outcome.result, outcome.result.get("written", ""))

    if not force:
        recall()
    # The server imports for seconds: it begins before all that can be done beside it.
    with kernels(root, len(done) < len(paths)) as served:
        if force:
            recall()
        for name in [name for name in paths if name not in done]:
            try:
                jobs.append(make(paths[name]))
            except Problem as problem:
                done[name] = Outcome(name, errors=[str(problem)])
        if jobs:
            done |= {outcome.name: outcome for outcome in outcomes(jobs, root, task, judge, served)}
    return [done[name] for name in paths]


def summarise(what: str, done: list[Outcome]) -> int:
    """Print the errors and the sum; returns the exit code."""
    failed = [outcome for outcome in done if outcome.errors]
    for outcome in failed:
        for error in outcome.errors:
            print(f"{what}: {error}")
    if line := tally(why for outcome in done for why in outcome.kernels):
        print(line)
    unchanged = sum(outcome.unchanged for outcome in done)
    skipped = f"; {unchanged} not run, unchanged since they passed (--force runs them)" if unchanged else ""
    print(f"{what}: {len(done) - len(failed)} of {len(done)} notebooks well{skipped}")
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
