"""`labbook validate`: every solution run again, its outputs compared strictly with the stored ones (nbval)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ci.headless.child import NOTEBOOK
from ci.headless.jobs import Job, Outcome
from ci.headless.kernels import START_SECONDS, cell_seconds, kernel_error
from ci.headless.progress import print_table
from ci.headless.run import guarded, seconds, summarise, worked
from ci.headless.schedule import starts_ranks
from ci.notebooks.files import Problem, is_run, read, shown
from ci.notebooks.verdicts import words

if TYPE_CHECKING:
    from nbformat import NotebookNode

SHARE = 0.8  # of the cells with output must be compared


def validate(root: Path, labs: list[str], *, force: bool = False) -> int:
    """Run solutions with nbval and compare; returns the exit code.

    Args:
        root: The project.
        labs: Numbers of labs, none for all.
        force: Run also what has not changed since it passed.
    """
    return guarded("validate", lambda: _validate(root, labs, force))


def _validate(root: Path, labs: list[str], force: bool) -> int:
    if error := kernel_error():
        raise Problem(error)
    done = worked(
        root,
        "solutions",
        labs,
        "validate",
        lambda path: job_for(path, root),
        force=force,
        further=_too_thin,
    )
    rows = [(outcome.name, seconds(outcome), *_columns(outcome)) for outcome in done]
    print_table(("notebook", "seconds", "cells", "compared", "share", "verdicts"), rows)
    return summarise("validate", done)


def _too_thin(outcome: Outcome) -> list[str]:
    return thin(f"solutions/{outcome.name}.ipynb", outcome.result["of"], outcome.result["left_out"])


def _columns(outcome: Outcome) -> tuple[str, str, str, str]:
    if not outcome.result:
        return "-", "-", "-", "-"
    of, left = outcome.result["of"], len(outcome.result["left_out"])
    share = f"{(of - left) / of:.0%}" if of else "-"
    return str(outcome.result["cells"]), f"{of - left} of {of}", share, words(outcome.result["verdicts"])


def thin(where: str, of: int, left_out: dict[str, str]) -> list[str]:
    """The error that too few of the cells with output are compared, if so."""
    if not of or (of - len(left_out)) / of >= SHARE:
        return []
    cells = ", ".join(f"{cell} ({reason})" for cell, reason in left_out.items())
    return [
        f"{where}: {of - len(left_out)} of {of} cells with output are compared, under {SHARE:.0%}; not: {cells}"
    ]


def job_for(path: Path, root: Path) -> Job:
    """The job that compares a solution with nbval.

    Raises:
        Problem: the notebook cannot be read, or its cells were not run in order.
    """
    # They import nbformat, which takes its time: a kernel server has begun by now.
    from ci.headless.stored import SANITIZER
    from ci.notebooks.canonical import canonical

    notebook = read(path, root)
    where = shown(path, root)
    try:
        require_counts(canonical(notebook, solved=True))
    except Problem as problem:
        raise problem.placed(path=where) from None
    options = [
        "-p",
        "ci",
        "-p",
        "nbval.plugin",
        "-p",
        "ci.headless.nbval_plugin",
        "-p",
        "no:cacheprovider",
        "--noconftest",
    ]
    options += [
        "-s",
        "-q",
        "-vv",
        "--color=no",
        "--tb=line",
        "-c",
        os.devnull,
        "--rootdir",
        str(path.parent),
    ]
    nbval = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", f"{cell_seconds():g}"]
    nbval += ["--nbval-kernel-startup-timeout", str(START_SECONDS)]
    nbval += ["--nbval-sanitize-with", str(SANITIZER)]
    # From the project's folder, where the job runs: pytest takes [ in a path for the choice of one test.
    argv = [sys.executable, "-m", "pytest", *options, *nbval, os.path.relpath(path, root)]
    # Only nbval and the plugin: what else is installed for pytest has no business here.
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", NOTEBOOK: where}
    cells = sum(map(is_run, notebook.cells))
    return Job(path.stem, argv, env=env, cells=cells, ranks=starts_ranks(notebook), kernel=True)


def require_counts(notebook: NotebookNode) -> None:
    """Refuse a notebook that did not run from top to bottom: nbval does not compare a cell without a number.

    Raises:
        Problem: the numbers of the code cells are not 1, 2, 3, ...
    """
    for wanted, cell in enumerate(filter(is_run, notebook.cells), 1):
        if cell.execution_count != wanted:
            has = "none" if cell.execution_count is None else str(cell.execution_count)
            what = (
                f"its execution count should be {wanted} and is {has}: store the outputs with `labbook run`"
            )
            raise Problem(what, cell=cell.id)
    for cell in notebook.cells:
        if cell.cell_type == "code" and not is_run(cell) and cell.outputs:
            raise Problem("an empty cell has outputs: store them anew with `labbook run`", cell=cell.id)
