"""Rows `headless`, `headless-one` and `headless-labs` of `labbook bench`: what run, validate and labs add, beside the plain tools."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ci.bench.table import Table, row
from ci.bench.timing.machine import cores
from ci.bench.timing.project import numbers, small_notebooks, whole_copy
from ci.bench.timing.rounds import Samples, added, beyond, in_turn, ratio, spread
from ci.bench.timing.tools import (
    RAN,
    execute,
    has_xdist,
    labbook,
    nbval,
    own_seconds,
    papermill,
    plain_seconds,
)
from ci.headless.schedule import History
from ci.notebooks.files import PAGE, notebooks, number

ONE = "03"
COPIES, ROUNDS, LAB_ROUNDS = 10, 5, 3  # copies: as many as there are labs
SOLUTIONS, LABS = "cells' own time, solutions", "cells' own time, unsolved"
PAPERMILL, NBVAL, EXECUTE = "papermill command", "pytest --nbval", "jupyter execute"
SIDE_BY_SIDE = f"pytest --nbval -n {cores()}"
RUN, VALIDATE, UNSOLVED = "labbook run --force", "labbook validate --force", "labbook labs --force"
PLAIN, OURS = (PAPERMILL, NBVAL, EXECUTE), (RUN, VALIDATE, UNSOLVED)
ALL_PLAIN, ALL_OURS = "the three plain tools", "the three of labbook"
AGAINST = dict(zip((*OURS, ALL_OURS), (*PLAIN, ALL_PLAIN), strict=True)) | {SIDE_BY_SIDE: NBVAL}
NOTE = (
    "Adds: a command's wall time minus the cells' own time, which is measured in the same round, in a stock kernel that "
    "has torch, torchvision and matplotlib imported: imports count as added, on both sides. Floor: own time over "
    f"{cores()} cores. Ratio: of medians; behind it the smallest and largest of one round. In turn, in a copy of the "
    "project. Plain tools have stock kernels and the environment of labbook's jobs. Of nbval on labs only the time "
    "counts: without labbook's plugin it compares volatile cells too. Labs of the course: one at a time, so that nothing "
    "runs side by side."
)


@row("headless", minutes=35)
def headless(root: Path) -> Table:
    """What run, validate and labs add to the cells' own time of small notebooks, beside papermill, nbval and jupyter execute."""
    table = _table("headless: what a tool adds to the cells' own time")
    with small_notebooks(root, COPIES) as project:
        show(table, f"{COPIES} small", _measured(project, numbers(COPIES), ROUNDS))
    return table


@row("headless-one", minutes=5)
def headless_one(root: Path) -> Table:
    """The same for one lab alone, as its author runs it."""
    table = _table(f"headless-one: what a tool adds to the cells' own time of lab {ONE} alone")
    with whole_copy(root) as project:
        show(table, f"lab {ONE}", _measured(project, [ONE], LAB_ROUNDS))
    return table


@row("headless-labs", minutes=31)
def headless_labs(root: Path) -> Table:
    """The same for the lightest, the middle and the heaviest lab."""
    table = _table("headless-labs: what a tool adds to the cells' own time of three labs")
    with whole_copy(root) as project:
        walls = {stem: _measured(project, [stem[:2]], LAB_ROUNDS) for stem in three_labs(root, project)}
    for stem, wall in walls.items():
        show(table, stem, wall)
    sums = {
        name: added(*(wall[name] for wall in walls.values())) for name in (SOLUTIONS, LABS, *PLAIN, *OURS)
    }
    show(table, "these three", sums)
    return table


def _table(title: str) -> Table:
    note = NOTE if has_xdist() else f"{NOTE} {SIDE_BY_SIDE} is left out: pytest-xdist is not installed."
    columns = ["notebooks", "command", "wall s", "adds s", "repeats", "against", "ratio of what is added"]
    return Table(title, columns, note=note)


def _measured(project: Path, labs: list[str], rounds: int) -> Samples:
    """Wall seconds of every command on these labs, and the cells' own."""
    labbook(project, "run", *labs)  # stores outputs to compare with, and warms the disk's cache
    solved, unsolved = (notebooks(project / folder, labs) for folder in ("solutions", "labs"))
    plain = partial(plain_seconds, project)
    calls: dict[str, Callable[[], float]] = {
        SOLUTIONS: lambda: own_seconds(project, solved, strict=True),
        LABS: lambda: own_seconds(project, unsolved, strict=False),
        PAPERMILL: lambda: plain(papermill(solved, project), strict=True),
        NBVAL: lambda: plain(nbval(solved), strict=True, ok=RAN),
        EXECUTE: lambda: plain(execute(unsolved), strict=False),
    }
    if has_xdist() and len(solved) > 1:
        several = ("-n", str(cores()), "--dist", "loadfile")
        calls[SIDE_BY_SIDE] = lambda: plain(nbval(solved, *several), strict=True, ok=RAN)
    for name in OURS:
        command = name.split()[1]
        calls[name] = lambda command=command: labbook(project, command, *labs, "--force").seconds
    return in_turn(calls, rounds, f"headless {labs[0]}")


def overheads(wall: Samples) -> Samples:
    """What each command adds to the cells' own time, round by round, and the sums of the three and the three."""
    own = {name: wall[LABS if name in (EXECUTE, UNSOLVED) else SOLUTIONS] for name in wall}
    adds = {name: beyond(wall[name], own[name]) for name in wall if name not in (SOLUTIONS, LABS)}
    adds[ALL_PLAIN] = added(*(adds[name] for name in PLAIN))
    adds[ALL_OURS] = added(*(adds[name] for name in OURS))
    return adds


def show(table: Table, notebooks: str, wall: Samples) -> None:
    """Add the lines and the samples of some notebooks to the table.

    Args:
        table: What is added to.
        notebooks: Their name.
        wall: Wall seconds of every command, and the cells' own, round by round.
    """
    for name in (SOLUTIONS, LABS):
        floor = spread([seconds / cores() for seconds in wall[name]])
        table.lines.append(
            [notebooks, name, spread(wall[name]), "", len(wall[name]), "over the cores, s", floor]
        )
    for name, adds in (found := overheads(wall)).items():
        against = AGAINST.get(name, "")
        compared = ratio(adds, found[against]) if against else ""
        seconds = spread(wall[name]) if name in wall else ""
        table.lines.append([notebooks, name, seconds, spread(adds), len(adds), against, compared])
    table.samples |= {f"{notebooks}: {name}, wall s": samples for name, samples in wall.items()}


def three_labs(root: Path, project: Path) -> list[str]:
    """The stems of the lightest, the middle and the heaviest lab, by what `labbook run` recorded last."""
    seconds = _recorded(root)
    stems = [path.stem for path in notebooks(project / "solutions") if number(path) != PAGE]
    if not all(stem in seconds for stem in stems):  # a fresh checkout
        labbook(project, "run")
        seconds = _recorded(project)
    ordered = sorted(stems, key=lambda stem: seconds[stem])
    return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]


def _recorded(project: Path) -> dict[str, float]:
    """By stem, the seconds that `labbook run` took for it last."""
    return {stem: job["seconds"] for stem, job in History(project, "run").mine.items() if "seconds" in job}
