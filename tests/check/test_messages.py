"""The reports of all known mistakes, word for word, so that a person reads them when they change.

They stand in tests/messages/<lab>.txt. What the course itself needs of them, without running a check, stands in
data/exercises/<lab>.json. After a change that is meant: `labbook messages`, then read the difference.
"""

from __future__ import annotations

import difflib

import pytest

import helpers
from ci.messages.texts import entries, lasting, messages
from helpers import paths
from helpers.course import catalogue
from helpers.display.hints import MOST, HintsShown
from helpers.display.report import Report

NUMBERS = sorted({id.partition(".")[0] for id in helpers.exercises()})


def difference(old: str, now: str, name: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), now.splitlines(), name, "now", n=2, lineterm="")
    return "\n".join(lines)


@pytest.mark.parametrize("number", NUMBERS)
def test_messages_are_as_they_were_read(number: str) -> None:
    path = paths.ROOT / "tests" / "messages" / f"{number}.txt"
    old, now = path.read_text(encoding="utf-8") if path.exists() else "", messages(number)
    assert now == old, f"messages changed; `labbook messages {number}`:\n{difference(old, now, path.name)}"


@pytest.mark.parametrize("number", NUMBERS)
def test_the_catalogue_holds_what_the_checks_say(number: str) -> None:
    stem = next(paths.LABS.glob(f"{number}_*.ipynb")).stem
    old, now = lasting(catalogue.of_lab(stem) or {}), lasting(entries(stem))
    assert now == old, f"the catalogue is old; `labbook messages {number}`:\n{difference(old, now, stem)}"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_known_mistake_without_its_name_is_among_those_that_a_hint_offers(number: str) -> None:
    stem = next(paths.LABS.glob(f"{number}_*.ipynb")).stem
    for id, entry in (catalogue.of_lab(stem) or {}).items():
        exercise = helpers.exercises()[id]
        for name, how in entry.mistakes.items():
            report = Report(id, entry.title, "wrong", message=how.message, at=how.at)
            offered = HintsShown(exercise, catalogue.falls_of(exercise.id)).after(report).seen.maybe
            assert exercise.mistakes[name].why in offered or len(offered) == MOST, f"{id} {name}: {offered}"
