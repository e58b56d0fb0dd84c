"""Rows `course` and `unchanged` of `labbook bench`: the whole course with plain tools and with labbook, and again."""

from __future__ import annotations

from pathlib import Path

import nbformat

from ci.bench.table import Table, row
from ci.bench.timing.machine import cores
from ci.bench.timing.project import whole_copy
from ci.bench.timing.rounds import Samples, in_turn, ratio, spread
from ci.bench.timing.stock import seconds_inside
from ci.bench.timing.tools import RAN, execute, labbook, nbval, papermill, plain_seconds
from ci.notebooks.files import notebooks

PLAIN = {"run": "papermill commands", "validate": "pytest --nbval", "labs": "jupyter execute"}
AGAIN = 3


@row("course", minutes=19)
def course(root: Path) -> Table:
    """The whole course once with papermill, nbval and jupyter execute, one after another, and once with labbook."""
    with whole_copy(root) as project:
        solved, unsolved = (notebooks(project / folder) for folder in ("solutions", "labs"))
        out = project / "papermill"
        out.mkdir()
        calls = {
            PLAIN["run"]: lambda: plain_seconds(project, papermill(solved, out), strict=True),
            "labbook run --force": lambda: labbook(project, "run", "--force").seconds,
            PLAIN["validate"]: lambda: plain_seconds(project, nbval(solved), strict=True, ok=RAN),
            "labbook validate --force": lambda: labbook(project, "validate", "--force").seconds,
            PLAIN["labs"]: lambda: plain_seconds(project, execute(unsolved), strict=False),
            "labbook labs --force": lambda: labbook(project, "labs", "--force").seconds,
        }
        measured = in_turn(calls, 1, "course")
        inside = {
            "solutions": sum(map(_papermill_seconds, sorted(out.glob("*.ipynb")))),
            "unsolved": sum(map(_nbclient_seconds, sorted(project.glob("executed-*.ipynb")))),
        }
    return course_table(measured, inside)


def course_table(measured: Samples, inside: dict[str, float]) -> Table:
    """The table of the row `course`.

    Args:
        measured: Wall seconds of each plain tool and of labbook's command that does the same.
        inside: Seconds inside the cells of the `solutions`, and of the `unsolved` labs.
    """
    table = Table(
        "course: the whole course with plain tools one after another, and with labbook",
        ["command", "wall s", "repeats", "against", "ratio"],
        note=f"Once each, in a copy of the project, imports and stock kernels of the plain tools included. The cells' own "
        f"time is the sum of the durations that papermill and jupyter execute wrote down in the same run, imports "
        f"included; solutions count twice, once for nbval. Floor: that over {cores()} cores.",
        samples={f"{name}, wall s": samples for name, samples in measured.items()}
        | {f"cells of the {name}, s": [seconds] for name, seconds in inside.items()},
    )
    ours = {f"labbook {command} --force": tool for command, tool in PLAIN.items()}
    for name, tool in ours.items():
        table.lines.append([tool, spread(measured[tool]), 1, "", ""])
        table.lines.append([name, spread(measured[name]), 1, tool, ratio(measured[name], measured[tool])])
    plain = [sum(measured[tool][0] for tool in ours.values())]
    own = [2 * inside["solutions"] + inside["unsolved"]]
    floor = [own[0] / cores()]
    table.lines.append(["all plain tools", spread(plain), 1, "", ""])
    both = [sum(measured[name][0] for name in ours)]
    table.lines.append(["all of labbook (aim: 0.6)", spread(both), 1, "all plain tools", ratio(both, plain)])
    table.lines.append(["cells' own time", spread(own), 1, "all plain tools", ratio(own, plain)])
    table.lines.append(
        ["cells' own time over the cores: floor", spread(floor), 1, "all plain tools", ratio(floor, plain)]
    )
    return table


def _papermill_seconds(path: Path) -> float:
    """The sum of the durations that papermill wrote into a notebook's cells."""
    cells = nbformat.read(path, 4).cells
    return sum(cell.metadata.get("papermill", {}).get("duration") or 0.0 for cell in cells)


def _nbclient_seconds(path: Path) -> float:
    return seconds_inside(nbformat.read(path, 4).cells)


@row("unchanged", minutes=4.5)
def unchanged(root: Path) -> Table:
    """A second run, validate and labs of the whole course when nothing has changed, against the first."""
    table = Table(
        "unchanged: labbook a second time, nothing changed",
        ["command", "first s", "second s: median (min..max)", "repeats", "ratio, second to first"],
        note=f"The whole course in a fresh copy of the project that remembers no earlier run; second: {AGAIN} times. "
        "Aim: under 3 s.",
    )
    with whole_copy(root) as project:
        commands = {command: lambda command=command: labbook(project, command).seconds for command in PLAIN}
        first, again = (in_turn(commands, rounds, "unchanged") for rounds in (1, AGAIN))
    for command in PLAIN:
        name = f"labbook {command}"
        table.samples |= {f"{name}, first, s": first[command], f"{name}, again, s": again[command]}
        cells = [spread(first[command]), spread(again[command]), AGAIN, ratio(again[command], first[command])]
        table.lines.append([name, *cells])
    return table
