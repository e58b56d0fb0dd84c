"""`labbook bench`: measured ratios and times, printed and kept as JSON; never asserted by a clock.

A row is a function in a module of rows/, marked with @row; it returns a table. The first line of
its docstring says what it measures. Results go to .labbook/bench/.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

from ci.bench.table import ROWS, Table
from ci.bench.timing.machine import described, machine
from ci.notebooks.files import Problem
from helpers.files import put


def bench(root: Path, rows: list[str]) -> int:
    """Measures the rows; `all` means all, none lists them. Returns the exit code.

    A row that cannot be measured is told, and the next one is measured.
    """
    load_rows()
    if unknown := [name for name in rows if name not in (*ROWS, "all")]:
        known = ", ".join([*ROWS, "all"])
        print(f"labbook bench: no row {', '.join(unknown)}; there are {known}", file=sys.stderr)
        return 2
    if not rows:
        _print_rows()
        return 0
    failed = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does, and leaves no process
    for name in ROWS if "all" in rows else dict.fromkeys(rows):
        facts, start = machine(), time.monotonic()
        try:
            table = ROWS[name].measure(root)
        except Problem as problem:
            print(f"labbook bench: row {name}: {problem}", file=sys.stderr)
            failed += 1
            continue
        minutes = max(0.1, round((time.monotonic() - start) / 60, 1))
        _print(table, f"Machine: {described(facts)}. It took {minutes} minutes.")
        kept = asdict(table) | {"machine": facts, "minutes": minutes, "date": time.strftime("%Y-%m-%d")}
        put(root / ".labbook" / "bench" / f"{name}.json", json.dumps(kept, indent=1) + "\n")
    return int(failed > 0)


def load_rows() -> None:
    """Rows stand in every module of rows/."""
    from ci.bench import rows

    for found in pkgutil.iter_modules(rows.__path__):
        importlib.import_module(f"{rows.__name__}.{found.name}")
    ordered = sorted(ROWS.items())
    ROWS.clear()
    ROWS.update(ordered)


def _print_rows() -> None:
    lines = [
        [name, one.says, "?" if one.minutes is None else f"{one.minutes:g}"] for name, one in ROWS.items()
    ]
    note = "labbook bench ROW ... measures rows, labbook bench all measures all; minutes on 2 cores"
    _print(Table("", ["row", "measures", "minutes"], lines, note), left=2)


def _print(table: Table, last: str = "", *, left: int = 1) -> None:
    """Prints a table and, under it, how it was measured; the first `left` columns hold words."""
    from rich.console import Console
    from rich.table import Table as RichTable

    shown = RichTable(
        title=table.title,
        caption=f"{table.note} {last}".strip(),
        title_justify="left",
        caption_justify="left",
    )
    for index, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if index < left else "right")
    for line in table.lines:
        shown.add_row(*(f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in line))
    Console(width=None if sys.stdout.isatty() else 120).print(shown)
