"""The texts that are kept: the reports of a lab word for word, and its part of the catalogue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import helpers
from ci.messages.reports import reports
from helpers import paths
from helpers.course import catalogue
from helpers.course.catalogue import Entry, Fall


def short(text: str, processes: bool) -> str:
    """The text without what changes from run to run: long numbers and addresses, drawn at random or by the clock.

    processes: the answer starts processes, so what was seen depends on who was first; it is left out.
    """
    if processes:
        text = re.sub(r"^  Got: .*(\n    .*)*", "  Got: ...", text, flags=re.M)
        text = re.sub(r"^  \| .*(\n  \| .*)*", "  | ...", text, flags=re.M)
        text = re.sub(r"\d+", "#", text)
    text = re.sub(r"\.py, line \d+", ".py, line #", text)  # of the bank; an edit above it moves it
    # Python 3.12 has no frame for a comprehension.
    text = re.sub(r"\n    \S+, line #, in <(list|dict|set)comp>: .*", "", text)
    if "RecursionError" in text:  # eight of thousands of frames are told; which, depends on Python
        text = re.sub(r"\n  Where: .*(\n    .*)*", "\n  Where: ...", text)
    text = text.replace("float division by zero", "division by zero")  # as Python 3.14 says it
    return re.sub(r"0x[0-9a-f]+|\d[\d,]{5,}|0\.\d{4,}", "#", text)


def messages(number: str) -> str:
    """The reports of the mistakes of one lab, and of the wrong choices of its predictions."""
    ids = [*_of_lab(helpers.exercises(), number), *_of_lab(helpers.predictions(), number)]
    return "\n\n".join(messages_of(id) for id in ids) + "\n"


def messages_of(id: str) -> str:
    """The reports of the mistakes of one exercise, or of the wrong choices of one prediction."""
    if exercise := helpers.exercises().get(id):
        texts = {name: short(str(report), exercise.processes) for name, report in reports(id).items()}
    else:
        prediction = helpers.predictions()[id]
        texts = {letter: str(prediction.check(letter)) for letter in prediction.choices}
    return "\n\n".join(f"=== {id} {name}\n{text}" for name, text in texts.items())


def entries(stem: str) -> dict[str, Entry]:
    """What the exercises of one lab are, and how their mistakes fall now; in the order of its cells."""
    cells = json.loads((paths.SOLUTIONS / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
    place = {cell["id"]: at for at, cell in enumerate(cells)}
    ids = _of_lab(helpers.exercises(), stem[:2])
    return {id: entry(id) for id in sorted(ids, key=lambda id: place[id[3:].replace("_", "-")])}


def entry(id: str) -> Entry:
    """What an exercise is, and how its mistakes fall now."""
    exercise = helpers.exercises()[id]
    falls = {
        name: Fall(exercise.mistakes[name].why, report.at, report.message, report.given)
        for name, report in reports(id).items()
    }
    return Entry(id, exercise.title, exercise.minutes, exercise.core, exercise.version, falls)


def _of_lab(ids: Iterable[str], number: str) -> list[str]:
    return [id for id in ids if id.startswith(f"{number}.")]


def lasting(found: Mapping[str, Entry]) -> str:
    """The catalogue's file of these exercises without what changes from run to run."""
    return catalogue.as_text(
        {id: replace(entry, mistakes=lasting_mistakes(id, entry.mistakes)) for id, entry in found.items()}
    )


def lasting_mistakes(id: str, mistakes: Mapping[str, Fall]) -> dict[str, Fall]:
    exercise = helpers.exercises().get(id)
    processes = exercise is not None and exercise.processes
    return {
        name: Fall(how.why, *(short(text, processes) for text in (how.at, how.message, how.input)))
        for name, how in mistakes.items()
    }
