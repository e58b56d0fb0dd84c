"""What a row of `labbook bench` is, and the table that it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Table:
    """What a row measured.

    columns: names, with units.
    lines: one list of cells each.
    note: how it was measured.
    samples: every single measurement, by what was measured; kept, not shown.
    """

    title: str
    columns: list[str]
    lines: list[list[Any]] = field(default_factory=list)
    note: str = ""
    samples: dict[str, list[float]] = field(default_factory=dict)


Measure = Callable[[Path], Table]


@dataclass(frozen=True)
class Row:
    """measure: returns the table; says: one sentence; minutes: what it took on 2 cores, None before that is known."""

    measure: Measure
    says: str
    minutes: float | None


ROWS: dict[str, Row] = {}


def row(name: str, *, minutes: float | None) -> Callable[[Measure], Measure]:
    """Registers a function as the row `name`."""

    def add(measure: Measure) -> Measure:
        ROWS[name] = Row(measure, (measure.__doc__ or "").strip().splitlines()[0], minutes)
        return measure

    return add
