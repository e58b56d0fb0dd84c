"""Where a learner stands: the labs of the course, what is solved in each, what is next. Needs no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import paths
from helpers.course import catalogue, progress
from helpers.course.progress import Progress, Solved

TITLE = re.compile(r"^#\s+(\d\d)\s+(.+?)\s*$", re.MULTILINE)
QUESTION = re.compile(r"^\*\*Question\.\*\*\s+(.+?)\s*(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One exercise. state: "solved", "open", or "changed", which is one that was solved in another version.

    rejected: how many wrong answers its check knows.
    """

    id: str
    title: str
    minutes: int
    core: bool
    rejected: int
    state: str


@dataclass(frozen=True)
class Lab:
    """One lab. steps: its exercises, none where nothing is known of them."""

    number: str
    title: str
    question: str
    file: str
    steps: Sequence[Step] = ()

    def of(self, core: bool, *states: str) -> list[Step]:
        """The core exercises, or the optional ones, in these states; in any, if none is named."""
        return [step for step in self.steps if step.core == core and (not states or step.state in states)]

    def minutes(self, core: bool) -> int:
        return sum(step.minutes for step in self.of(core))

    @property
    def solved(self) -> bool:
        """A lab is solved when its core exercises are."""
        return bool(self.of(True)) and not self.of(True, "open", "changed")

    @property
    def begun(self) -> bool:
        """Whether one of its exercises was ever solved."""
        return any(step.state != "open" for step in self.steps)

    @property
    def changed(self) -> list[Step]:
        return [step for step in self.steps if step.state == "changed"]

    @property
    def rejected(self) -> int:
        return sum(step.rejected for step in self.steps)


@dataclass(frozen=True)
class Overview:
    """All labs. error: what is wrong with the file of progress, or "". unknown: what it names and no lab has."""

    labs: Sequence[Lab]
    error: str = ""
    unknown: Sequence[str] = ()

    @property
    def next(self) -> tuple[Lab, Step] | None:
        """Where to go on: the first core exercise that is not solved, then the first optional one."""
        left = [
            (lab, step)
            for core in (True, False)
            for lab in self.labs
            for step in lab.of(core, "open", "changed")
        ]
        return left[0] if left else None

    def count(self, core: bool, *states: str) -> int:
        return sum(len(lab.of(core, *states)) for lab in self.labs)


def overview() -> Overview:
    """Where the learner of this folder stands. Never raises for a file that is damaged or missing."""
    found = progress.read(paths.WORK)
    labs = [lab_of(path, found) for path in lab_files(paths.LABS)]
    known = {step.id for lab in labs for step in lab.steps}
    return Overview(labs, found.error, sorted(set(found.solved) - known))


def lab_files(folder: Path) -> list[Path]:
    """The labs of a folder in their order, without the start page."""
    return [path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")) if not path.name.startswith("00_")]


def lab_of(path: Path, found: Progress) -> Lab:
    """One lab: what its first cell says (`# 01 Title` and `**Question.** ...`), and its exercises.

    A lab without them is listed by its file's name, so that a lab that is being written can be opened.
    """
    cells = cells_of(path)
    text = "".join(cells[0].get("source", "")) if cells else ""
    title, question = TITLE.search(text), QUESTION.search(text)
    number, _, topic = path.stem.partition("_")
    return Lab(
        number,
        title[2] if title and title[1] == number else topic.replace("_", " ").capitalize(),
        " ".join(question[1].split()) if question else "",
        path.name,
        [step_of(entry, found.solved) for entry in (catalogue.of_lab(path.stem) or {}).values()],
    )


def step_of(entry: catalogue.Entry, solved: Mapping[str, Solved]) -> Step:
    noted = solved.get(entry.id)
    state = "open" if noted is None else "solved" if noted.version == entry.version else "changed"
    return Step(
        entry.id,
        entry.title,
        entry.minutes,
        entry.core,
        len(entry.mistakes),
        state,
    )


def cells_of(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook, none where it cannot be read."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return [cell for cell in cells if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []
