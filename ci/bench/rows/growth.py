"""Row `growth` of `labbook bench`: time and memory of `labbook run` as notebooks and cores grow."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ci.bench.table import Table, row
from ci.bench.timing.machine import cores
from ci.bench.timing.project import numbers, small_notebooks
from ci.bench.timing.rounds import in_turn, ratio, spread
from ci.bench.timing.tools import labbook

COPIES = (1, 5, 10, 20, 40)
ROUNDS = 3
ON_CORES = 10  # notebooks, for the lines with fewer cores and jobs


@dataclass
class Grown:
    """Wall seconds, seconds of all cores together, and the most memory in MB (None: not watched)."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    peak_mb: float | None = None

    @property
    def busy(self) -> float:
        """How many cores were busy all the time."""
        return statistics.median(cpu / wall for cpu, wall in zip(self.cpu_seconds, self.seconds, strict=True))


@row("growth", minutes=9)
def growth(root: Path) -> Table:
    """Wall time and memory of `labbook run --force` on 1 to 40 small notebooks, and on fewer cores."""
    counts = {count: Grown() for count in COPIES}
    places = {place: Grown() for place in _places()}
    with small_notebooks(root, max(COPIES)) as project:

        def one(grown: Grown, count: int, use: Sequence[int] = (), jobs: int = 0) -> Callable[[], float]:
            def call() -> float:
                ended = labbook(project, "run", "--force", *numbers(count), cores=use, jobs=jobs)
                grown.seconds.append(ended.seconds)
                grown.cpu_seconds.append(ended.cpu_seconds)
                return ended.seconds

            return call

        labbook(project, "run", *numbers(1))  # warms the disk's cache
        by_count = {many(count, "notebook"): one(grown, count) for count, grown in counts.items()}
        by_place = {name: one(places[name], ON_CORES, *use) for name, use in _places().items()}
        in_turn(by_count | by_place, ROUNDS, "growth")
        for count, grown in counts.items():
            grown.peak_mb = labbook(project, "run", "--force", *numbers(count), memory=True).peak_mb
    return growth_table(counts, places)


def many(count: int, what: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _places() -> dict[str, tuple[tuple[int, ...], int]]:
    """By name: the cores to use (none: all) and the number of jobs at once, 1, 2, 4, ... up to what there is."""
    powers = [1]
    while powers[-1] * 2 <= cores():
        powers.append(powers[-1] * 2)
    if not hasattr(os, "sched_setaffinity"):
        return {f"{many(jobs, 'job')}, all cores": ((), jobs) for jobs in powers}
    mine = sorted(os.sched_getaffinity(0))
    places = {
        f"{many(count, 'job')}, {many(count, 'core')}": (tuple(mine[:count]), count) for count in powers
    }
    return places | {"1 job, all cores": ((), 1)}


def growth_table(counts: dict[int, Grown], places: dict[str, Grown]) -> Table:
    """The table of the row `growth`: by the number of notebooks, and by jobs and cores."""
    columns = [
        "measured",
        "wall s: median (min..max)",
        "repeats",
        "against",
        "ratio",
        "cores busy",
        "peak MB",
    ]
    table = Table("growth: labbook run --force on small notebooks", columns, note=bounds(counts))
    first = min(counts)
    lines = {
        many(count, "notebook"): (grown, many(first, "notebook"), counts[first])
        for count, grown in counts.items()
    }
    slowest = next(iter(places))
    lines |= {
        f"{many(ON_CORES, 'notebook')}, {name}": (grown, slowest, places[slowest])
        for name, grown in places.items()
    }
    for name, (grown, against, other) in lines.items():
        compared = ["", ""] if grown is other else [against, ratio(grown.seconds, other.seconds)]
        peak = "-" if grown.peak_mb is None else f"{grown.peak_mb:.0f}"
        table.lines.append(
            [name, spread(grown.seconds), len(grown.seconds), *compared, f"{grown.busy:.2f}", peak]
        )
        table.samples |= {f"{name}, wall s": grown.seconds, f"{name}, cpu s": grown.cpu_seconds}
        if grown.peak_mb is not None:
            table.samples[f"{name}, peak MB"] = [grown.peak_mb]
    return table


def bounds(counts: dict[int, Grown]) -> str:
    """What a notebook adds, what is there without one, and whether the processor bounds it, in words."""
    wall = statistics.linear_regression(
        list(counts), [statistics.median(grown.seconds) for grown in counts.values()]
    )
    cpu = statistics.linear_regression(
        list(counts), [statistics.median(grown.cpu_seconds) for grown in counts.values()]
    )
    most = max(counts)
    busy = counts[most].busy
    bound = "the processor" if busy > 0.8 * cores() else "waiting, not the processor,"
    memory = "the most of one further run each, all its processes, what they share counted once (PSS)"
    return (
        "A notebook imports torch, torchvision and matplotlib, and makes one sum. In turn, in a copy of the project. "
        f"A line through the medians: {wall.intercept:.2f} s once and {wall.slope:.3f} s a notebook; processor time "
        f"{cpu.intercept:.2f} s once and {cpu.slope:.3f} s a notebook. With {many(most, 'notebook')} {busy:.2f} of {cores()} "
        f"cores are busy, so {bound} bounds the time. Memory: {memory}."
    )
