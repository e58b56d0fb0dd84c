"""The verdicts that stand in a notebook's outputs, read from the first line of each report."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ci.notebooks.files import texts

if TYPE_CHECKING:
    from nbformat import NotebookNode

VERDICTS = ("passed", "wrong", "crashed", "timed out", "not attempted")
REPORT = re.compile(rf"(?m)^({'|'.join(VERDICTS)}): (\d\d\.[a-z0-9_]+)(?= |$)")


def verdicts(notebook: NotebookNode) -> list[tuple[str, str, str]]:
    """Every report in the outputs: the cell that shows it, the exercise's id, the verdict."""
    return [
        (cell.id, exercise, verdict)
        for cell in notebook.cells
        if cell.cell_type == "code"
        for text in texts(cell.outputs)
        for verdict, exercise in REPORT.findall(text)
    ]


def counts(notebook: NotebookNode) -> dict[str, int]:
    """How often each verdict stands in a notebook."""
    return dict(Counter(verdict for _, _, verdict in verdicts(notebook)))


def words(count: dict[str, int]) -> str:
    """Counts as people read them: `9 passed, 1 wrong`; `-` if there are none."""
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS if count.get(verdict)) or "-"
