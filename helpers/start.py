"""What the start page shows: the labs that are there, each with its question and its link."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import helpers

TITLE = re.compile(r"^#\s+(\d\d)\s+(.+?)\s*$", re.MULTILINE)
QUESTION = re.compile(r"^\*\*Question\.\*\*\s+(.+?)\s*(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class LabEntry:
    """One line of the list. `minutes` is what its exercises take together, None if that is not known."""

    number: str
    title: str
    question: str
    file: str
    minutes: int | None = None

    @property
    def time(self) -> str:
        """The minutes in words, '' if they are not known."""
        return f"exercises: about {self.minutes} minutes" if self.minutes else ""


@dataclass(frozen=True)
class Course:
    """The list of labs, as plain text and as HTML that needs no script and no trust."""

    labs: Sequence[LabEntry]

    def __repr__(self) -> str:
        return "\n".join(
            f"{lab.number} {lab.title}" + "".join(f"\n   {line}" for line in (lab.question, lab.time) if line)
            for lab in self.labs
        )

    def _repr_html_(self) -> str:
        return "".join(html_line(lab) for lab in self.labs)


class Undrawn(Course):
    """The list in a headless run: one line, so that the stored page stays the same when a lab is added."""

    def __repr__(self) -> str:
        return "The list of labs is drawn when this page is opened with `make lab`."

    def _repr_html_(self) -> None:
        return None


def html_line(lab: LabEntry) -> str:
    """One lab as a paragraph. Styles stand inline, since untrusted notebooks lose all others."""
    rest = "".join(f"<br>{html_text(line)}" for line in (lab.question, lab.time) if line)
    return (
        '<p style="margin:0 0 0.8em 0;padding-left:0.8em;border-left:3px solid #8a8a8a;text-align:left">'
        f'<a href="{escape(lab.file)}"><b>{lab.number} {html_text(lab.title)}</b></a>{rest}</p>'
    )


def html_text(words: str) -> str:
    """One line of markdown as HTML; of its signs, only those of code are known."""
    return CODE.sub(r"<code>\1</code>", escape(words))


def course() -> Course:
    """The labs of this project, in their order."""
    minutes = exercise_minutes()
    labs = [entry(path, minutes) for path in lab_files(helpers.LABS)]
    return Undrawn(labs) if os.environ.get("LABBOOK_HEADLESS") == "1" else Course(labs)


def lab_files(folder: Path) -> list[Path]:
    """The labs of a folder in their order, without the start page."""
    return [path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")) if not path.name.startswith("00_")]


def entry(path: Path, minutes: Mapping[str, int]) -> LabEntry:
    """What the first cell of a lab says about it: `# 01 Title` and `**Question.** ...`.

    A lab without them is listed by its file's name, so that a lab that is being written can be opened.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "".join(cells[0]["source"]) if cells else ""
    title, question = TITLE.search(text), QUESTION.search(text)
    number, _, topic = path.stem.partition("_")
    return LabEntry(
        number,
        title[2] if title and title[1] == number else topic.replace("_", " ").capitalize(),
        " ".join(question[1].split()) if question else "",
        path.name,
        minutes.get(number),
    )


def exercise_minutes() -> dict[str, int]:
    """Minutes of all exercises together, by lab number. Loads torch, about two seconds."""
    total: dict[str, int] = {}
    for exercise in helpers.exercises().values():
        number = exercise.id[:2]
        total[number] = total.get(number, 0) + exercise.minutes
    return total
