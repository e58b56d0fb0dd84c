"""The reports of all wrong answers, word for word, so that a person reads them when they change.

They stand in tests/messages/<lab>.txt. What the course itself needs of them, without running a check, stands in
data/exercises/<lab>.json. After a change that is meant: LABBOOK_UPDATE_MESSAGES=1 pytest tests/check/test_messages.py, then
read the difference.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

import helpers
from helpers import paths
from helpers.course import catalogue
from helpers.course.catalogue import Entry, Fall
from helpers.display.hints import MOST, HintsShown
from helpers.display.report import Report
from tests.support.wrong_reports import reports

FOLDER = paths.ROOT / "tests" / "messages"
NUMBERS = sorted({id.partition(".")[0] for id in helpers.exercises()})


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


def updating() -> bool:
    return os.environ.get("LABBOOK_UPDATE_MESSAGES") == "1"


def messages(number: str) -> str:
    """The reports of the wrong answers of one lab, and of the wrong choices of its predictions."""
    parts = []
    for id, exercise in helpers.exercises().items():
        if id.startswith(number + "."):
            parts += [
                f"=== {id} {name}\n{short(str(report), exercise.processes)}"
                for name, report in reports(id).items()
            ]
    for id, prediction in helpers.predictions().items():
        if id.startswith(number + "."):
            parts += [f"=== {id} {letter}\n{prediction.check(letter)}" for letter in prediction.choices]
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("number", NUMBERS)
def test_messages_are_as_they_were_read(number: str) -> None:
    path = FOLDER / f"{number}.txt"
    now = messages(number)
    if updating():
        FOLDER.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = "\n".join(
        difflib.unified_diff(old.splitlines(), now.splitlines(), str(path), "now", n=2, lineterm="")
    )
    assert now == old, f"messages changed; read them, then LABBOOK_UPDATE_MESSAGES=1:\n{difference}"


def entries(stem: str) -> dict[str, Entry]:
    """What the exercises of one lab are, and how their wrong answers fall now; in the order of its cells."""
    cells = json.loads((paths.SOLUTIONS / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
    place = {cell["id"]: at for at, cell in enumerate(cells)}
    found = {
        id: Entry(
            id,
            exercise.title,
            exercise.minutes,
            exercise.core,
            exercise.version,
            {name: Fall(report.said, report.message, report.given) for name, report in reports(id).items()},
        )
        for id, exercise in helpers.exercises().items()
        if id.startswith(stem[:2] + ".")
    }
    return {
        id: found[id] for id in sorted(found, key=lambda id: place[id.partition(".")[2].replace("_", "-")])
    }


def lasting(found: Mapping[str, Entry]) -> str:
    """The catalogue's file of these exercises without what changes from run to run."""
    return catalogue.as_text(
        {id: replace(entry, wrong=lasting_mistakes(id, entry.wrong)) for id, entry in found.items()}
    )


def lasting_mistakes(id: str, wrong: Mapping[str, Fall]) -> dict[str, Fall]:
    exercise = helpers.exercises().get(id)
    processes = exercise is not None and exercise.processes
    return {
        name: Fall(*(short(text, processes) for text in (how.said, how.message, how.input)))
        for name, how in wrong.items()
    }


@pytest.mark.parametrize("number", NUMBERS)
def test_the_catalogue_holds_what_the_checks_say(number: str) -> None:
    stem = next(paths.LABS.glob(f"{number}_*.ipynb")).stem
    now, old = entries(stem), catalogue.of_lab(stem) or {}
    if updating() and lasting(old) != lasting(now):
        catalogue.folder().mkdir(exist_ok=True)
        (catalogue.folder() / f"{stem}.json").write_text(catalogue.as_text(now), encoding="utf-8")
        old = catalogue.of_lab(stem) or {}
    difference = "\n".join(
        difflib.unified_diff(
            lasting(old).splitlines(), lasting(now).splitlines(), f"{stem}.json", "now", lineterm=""
        )
    )
    assert not difference, f"the catalogue is not up to date: LABBOOK_UPDATE_MESSAGES=1:\n{difference}"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_known_mistake_without_its_name_is_among_those_that_a_hint_offers(number: str) -> None:
    stem = next(paths.LABS.glob(f"{number}_*.ipynb")).stem
    for id, entry in (catalogue.of_lab(stem) or {}).items():
        exercise = helpers.exercises()[id]
        for name, how in entry.wrong.items():
            report = Report(id, entry.title, "wrong", message=how.message, said=how.said)
            offered = HintsShown(exercise, catalogue.falls_of(exercise.id)).after(report).seen.maybe
            assert exercise.mistakes[name].why in offered or len(offered) == MOST, f"{id} {name}: {offered}"
