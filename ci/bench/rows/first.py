"""Row `first` of `labbook bench`: the first check of a session against a later one."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from ci.bench.table import Table, row
from ci.bench.timing.rounds import Samples, in_turn, ratio, spread
from ci.bench.timing.tools import as_a_job

ROUNDS, LATER = 3, 5
READS = 4.0  # seconds: a learner who imports a lab needs more before there is anything to check
FIRST, AFTER = "first", "later"


@row("first", minutes=None)
def first(root: Path) -> Table:
    """The first check after a lab is imported in a new kernel, against a later one: one exercise of each lab."""
    import helpers

    table = Table(
        "first: seconds of a session's first check, on the solution",
        ["exercise", "first: median (min..max)", f"later: median of {LATER} (min..max)", "repeats", "ratio"],
        note=f"A stock kernel imports the lab, {READS:g} s pass, the check runs; then {LATER} more, 1 s apart.",
    )
    of_labs = {id[:2]: id for id in reversed(helpers.exercises())}
    with tempfile.TemporaryDirectory(prefix="labbook-bench-") as folder:
        for id in sorted(of_labs.values()):
            path = Path(folder) / f"{id}.ipynb"
            nbformat.write(session(root, id), path)
            fill(table, id, in_turn({id: partial(_cells, root, path)}, ROUNDS, "first")[id])
    return table


def session(root: Path, id: str) -> NotebookNode:
    """What a learner's kernel runs: the import, a while, the check, and further checks."""
    lab = next((root / "solutions").glob(f"{id[:2]}_*.ipynb")).stem[3:]
    begins = f"""\
from helpers.labs import {lab} as lab
from ci.notebooks.reference import solutions_of
from pathlib import Path
answer = solutions_of(Path({str(root)!r}), {id[:2]!r})[{id!r}]"""
    check = f"lab.{id[3:]}.check(answer)"
    cells = [begins, pause(READS), check, *[pause(1.0), check] * LATER]
    return new_notebook(cells=[new_code_cell(cell) for cell in cells])


def pause(seconds: float) -> str:
    return f"import time\ntime.sleep({seconds})"


def fill(table: Table, id: str, rounds: list[list[float]]) -> None:
    """The line of an exercise. rounds: the seconds of every cell of `session`."""
    found: Samples = {
        FIRST: [seconds[2] for seconds in rounds],
        AFTER: [statistics.median(seconds[4::2]) for seconds in rounds],
    }
    table.lines.append([id, *map(spread, found.values()), len(rounds), ratio(*found.values())])
    table.samples |= {f"{id}: {what}, s": seconds for what, seconds in found.items()}


def _cells(root: Path, notebook: Path) -> list[float]:
    command = [sys.executable, "-m", "ci.bench.timing.stock", "cells", str(notebook)]
    return json.loads(as_a_job(root, command, strict=False).output)[0]
