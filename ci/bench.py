"""`labbook bench`: measured ratios and times, printed and kept as JSON; never asserted by a clock.

A row is a module-level function marked with @row; it returns a table. Results go to .labbook/bench/.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Table:
    """What a row measured. columns: names, with units; lines: one list of cells each; note: how it was measured."""

    title: str
    columns: list[str]
    lines: list[list[Any]] = field(default_factory=list)
    note: str = ""


Row = Callable[[Path], Table]
ROWS: dict[str, Row] = {}


def row(name: str) -> Callable[[Row], Row]:
    """Registers a function as the row `name`."""

    def add(measure: Row) -> Row:
        ROWS[name] = measure
        return measure

    return add


def bench(root: Path, rows: list[str]) -> int:
    """Measures the rows (none means all); returns the exit code."""
    _load_rows()
    if unknown := [name for name in rows if name not in ROWS]:
        print(f"labbook bench: no row {', '.join(unknown)}; there are {', '.join(ROWS)}", file=sys.stderr)
        return 2
    for name in rows or list(ROWS):
        table = ROWS[name](root)
        _print(table)
        folder = root / ".labbook" / "bench"
        folder.mkdir(parents=True, exist_ok=True)
        kept = asdict(table) | {"machine": _machine(), "date": time.strftime("%Y-%m-%d")}
        (folder / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


def _load_rows() -> None:
    """Rows stand here and in every module ci/bench_*.py."""
    import ci

    for found in pkgutil.iter_modules(ci.__path__):
        if found.name.startswith("bench_"):
            importlib.import_module(f"ci.{found.name}")


def _print(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable

    shown = RichTable(title=table.title, caption=table.note, title_justify="left", caption_justify="left")
    for column in table.columns:
        shown.add_column(column, justify="left" if column == table.columns[0] else "right")
    for line in table.lines:
        shown.add_row(*(f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in line))
    Console(width=None if sys.stdout.isatty() else 110).print(shown)


def _machine() -> dict[str, Any]:
    import torch

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cores": os.cpu_count(),
        "system": platform.system(),
    }


def median_ms(call: Callable[[], Any], repeats: int, pause: float = 0.0) -> tuple[float, float, float]:
    """(smallest, median, largest) time of `call()` in milliseconds; `pause` seconds before each."""
    times = []
    for _ in range(repeats):
        time.sleep(pause)
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), statistics.median(times), max(times)


class Timed:
    """A function that adds up the time spent inside it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return self.function(*args, **kwargs)
        finally:
            self.seconds += time.perf_counter() - start


@row("check")
def check(root: Path) -> Table:
    """What a check costs beyond the time inside the answer, on the reference solutions."""
    import helpers
    from ci.reference import answers
    from helpers.judge import judge

    table = Table(
        "check: time beyond the answer's own, on the solution",
        ["exercise", "check ms (median)", "smallest", "largest", "inside the answer ms", "beyond ms"],
        note="9 checks each, 0.3 s apart, so that a spare child waits; 'inside' measured in one further run.",
    )
    exercises = helpers.exercises()
    for notebook in sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb")):
        for id, answer in answers(notebook, exercises).items():
            exercise = exercises[id]
            exercise.check(answer)
            least, middle, most = median_ms(lambda e=exercise, a=answer: e.check(a), 9, pause=0.3)
            parts = answer if isinstance(answer, tuple) else (answer,)
            timed = [part if isinstance(part, type) else Timed(part) for part in parts]
            judge(exercise, tuple(timed) if len(timed) > 1 else timed[0], 1)
            inside = sum(part.seconds for part in timed if isinstance(part, Timed)) * 1e3
            table.lines.append([id, middle, least, most, inside, middle - inside])
    return table
