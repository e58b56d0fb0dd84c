"""Row `start` of `labbook bench`: from opening a lab to the first torch result, and what `import helpers` costs."""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from ci.bench.table import Table, row
from ci.bench.timing.rounds import Samples, beyond, in_turn, ratio, spread
from ci.bench.timing.tools import as_a_job
from ci.notebooks.files import PAGE, is_run, notebooks, number, read

BARE = "bare kernel: import torch"
RESULT = "import torch\ntorch.ones(2).sum()"
ROUNDS, IMPORT_ROUNDS = 5, 9
IMPORTS = {"python, nothing": "", "helpers": "import helpers", "torch": "import torch"}
IMPORTS["torch, then helpers"] = "import torch, helpers"


@row("start", minutes=4.5)
def start(root: Path) -> Table:
    """From asking for a kernel to the first torch result in each lab, against a bare kernel; `import helpers`."""
    table = Table(
        "start: seconds to the first torch result, and what `import helpers` adds",
        ["measured", "s: median (min..max)", "repeats", "against", "ratio"],
        note="A lab: a stock kernel starts, runs the lab's cells up to the first that imports torch (that one included), "
        "and gives torch.ones(2).sum(). In turn. Imports: the wall time of a Python that does only this.",
    )
    with tempfile.TemporaryDirectory(prefix="labbook-bench-") as folder:
        kernels = {BARE: new_notebook(cells=[new_code_cell(RESULT)])}
        kernels |= {
            path.stem: opened(read(path, root)) for path in notebooks(root / "labs") if number(path) != PAGE
        }
        calls = {}
        for name, notebook in kernels.items():
            path = Path(folder) / f"{'bare' if name == BARE else name}.ipynb"
            nbformat.write(notebook, path)
            calls[name] = partial(_first, root, path)
        found = in_turn(calls, ROUNDS, "start")
    python = {name: partial(_import, root, code) for name, code in IMPORTS.items()}
    imported = in_turn(python, IMPORT_ROUNDS, "start")
    fill(table, found, imported)
    return table


def opened(notebook: NotebookNode) -> NotebookNode:
    """The lab's code up to the first cell that imports torch, that one included, and then a result of torch."""
    cells = []
    for cell in filter(is_run, notebook.cells):
        cells.append(new_code_cell(cell.source))
        if any(line.startswith(("import torch", "from torch")) for line in cell.source.splitlines()):
            break
    return new_notebook(cells=[*cells, new_code_cell(RESULT)])


def fill(table: Table, kernels: Samples, imports: Samples) -> None:
    """The lines of the table: labs beside the bare kernel, then the imports and what helpers adds to each."""
    for name, samples in kernels.items():
        against = ("", "") if name == BARE else (BARE, ratio(samples, kernels[BARE]))
        table.lines.append([name, spread(samples), len(samples), *against])
    nothing, helpers, torch, both = (imports[name] for name in IMPORTS)
    lines = {
        "import torch": (torch, "", ""),
        "import torch, helpers": (both, "import torch", ratio(both, torch)),
        "import helpers beyond import torch": (beyond(both, torch), "", ""),
        "import helpers alone": (helpers, "python, nothing", ratio(helpers, nothing)),
        "import helpers alone, beyond python": (beyond(helpers, nothing), "", ""),
    }
    for name, (samples, against, compared) in lines.items():
        table.lines.append([name, spread(samples), len(samples), against, compared])
    table.samples |= {f"first result, {name}, s": samples for name, samples in kernels.items()}
    table.samples |= {f"imported: {name}, s": samples for name, samples in imports.items()}


def _first(root: Path, notebook: Path) -> float:
    command = [sys.executable, "-m", "ci.bench.timing.stock", "first", str(notebook)]
    return json.loads(as_a_job(root, command, strict=False).output)[0]


def _import(root: Path, code: str) -> float:
    return as_a_job(root, [sys.executable, "-c", code], strict=False).seconds
