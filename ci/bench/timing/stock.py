"""Notebooks timed in stock kernels: `python -m ci.bench.timing.stock own|first|cells NOTEBOOK ...` prints JSON.

`own` prints each notebook's own time: the seconds inside its cells in a kernel that has torch imported already.
`first` prints the seconds from asking for a kernel to the end of the last cell, `cells` the seconds of every cell.
Nothing is written.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

IMPORTED = "import matplotlib.pyplot, torch, torchvision"


def seconds_inside(cells: Sequence[NotebookNode]) -> float:
    """The seconds that a kernel was busy with these cells, by its own clock, as nbclient wrote them down."""
    stamps = [cell.metadata.execution for cell in cells if "execution" in cell.metadata]
    return sum(_time(one["shell.execute_reply"]) - _time(one["iopub.status.busy"]) for one in stamps if one)


def own(notebook: NotebookNode, folder: Path) -> float:
    """The seconds inside the cells, once torch, torchvision and matplotlib are imported."""
    notebook.cells.insert(0, new_code_cell(IMPORTED))
    _client(notebook, folder).execute()
    return seconds_inside([cell for cell in notebook.cells[1:] if cell.cell_type == "code"])


def first(notebook: NotebookNode, folder: Path) -> float:
    """The seconds from asking for a kernel to the end of the last cell."""
    ends: list[float] = []
    start = time.perf_counter()
    _client(notebook, folder, on_cell_executed=lambda **_: ends.append(time.perf_counter())).execute()
    return ends[-1] - start


def cells(notebook: NotebookNode, folder: Path) -> list[float]:
    """The seconds inside each cell; every cell is code."""
    _client(notebook, folder).execute()
    return [seconds_inside([cell]) for cell in notebook.cells]


def _client(notebook: NotebookNode, folder: Path, **options: object) -> NotebookClient:
    resources = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, kernel_name="python3", resources=resources, **options)


def _time(stamp: str) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def main(argv: list[str]) -> int:
    """Times the notebooks, one after another."""
    measure = {"own": own, "first": first, "cells": cells}[argv[0]]
    paths = [Path(name) for name in argv[1:]]
    print(json.dumps([measure(nbformat.read(path, 4), path.parent) for path in paths]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
