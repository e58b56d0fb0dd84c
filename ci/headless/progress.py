"""Progress of jobs and a table at the end: moving bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import TaskID


class Progress:
    """Shows jobs as they begin, go from cell to cell, and end."""

    def __init__(self, what: str, total: int) -> None:
        from rich import progress as bars  # takes its time: a kernel server has begun by now
        from rich.console import Console

        self.what, self.total, self.count = what, total, 0
        self.console = Console(highlight=False, markup=False, soft_wrap=True)
        self.moving = self.console.is_terminal and not os.environ.get("CI")
        self.tasks: dict[str, TaskID] = {}
        columns = (
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("{task.fields[cell]}", markup=False),
        )
        self.bars = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            *columns,
            bars.TimeElapsedColumn(),
            console=self.console,
            transient=True,
        )

    def __enter__(self) -> Progress:
        if self.moving:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.moving:
            self.bars.stop()

    def started(self, name: str, cells: int) -> None:
        if self.moving:
            self.tasks[name] = self.bars.add_task(name, total=cells or None, cell="starting")
        else:
            self._line(f"{self.what} {name}: started")

    def event(self, name: str, event: dict[str, Any]) -> None:
        if self.moving and event["event"] == "cell":
            self.bars.update(self.tasks[name], completed=event["index"], cell=event["cell"])

    def ended(self, name: str, seconds: float, *, failed: bool) -> None:
        self.count += 1
        if self.moving:
            self.bars.remove_task(self.tasks.pop(name))
        word = "FAILED" if failed else "ok"
        self._line(f"{self.what} {name}: {word} in {seconds:.1f} s ({self.count} of {self.total})")

    def _line(self, text: str) -> None:
        self.console.print(text)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; columns in which a value begins with a digit are right-aligned."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = index > 0 and any(str(row[index])[:1].isdigit() for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*[str(value) for value in row])
    Console(highlight=False, markup=False, width=None if os.isatty(1) else 120).print(table)
