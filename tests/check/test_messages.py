"""The reports of all known mistakes, word for word, so that a person reads them when they change.

They stand in tests/messages/<lab>.txt. What the course itself needs of them, without running a check, stands in
data/exercises/<lab>.json. After a change that is meant: `labbook messages`, then read the difference.
"""

from __future__ import annotations

import difflib
import json

import pytest

import helpers
from ci.messages.texts import entry, lasting, messages_of
from helpers import paths
from helpers.course import catalogue
from helpers.display.hints import MOST, HintsShown
from helpers.display.report import Report
from tests.support.kept_messages import kept

EXERCISES, PREDICTIONS = helpers.exercises(), helpers.predictions()
STEMS = {path.stem[:2]: path.stem for path in paths.LABS.glob("[0-9][0-9]_*.ipynb")}
BY_EXERCISE = pytest.mark.parametrize("id", EXERCISES)


def difference(old: str, now: str, name: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), now.splitlines(), name, "now", n=2, lineterm="")
    return "\n".join(lines)


@pytest.mark.parametrize("id", [*EXERCISES, *PREDICTIONS])
def test_messages_are_as_they_were_read(id: str) -> None:
    old, now = kept(id[:2]).get(id, ""), messages_of(id)
    assert now == old, f"messages changed; `labbook messages {id[:2]}`:\n{difference(old, now, id)}"


def test_messages_are_kept_of_what_there_is_and_of_nothing_else() -> None:
    for number in {id[:2] for id in EXERCISES}:
        there = [id for id in [*EXERCISES, *PREDICTIONS] if id.startswith(f"{number}.")]
        assert list(kept(number)) == there, f"`labbook messages {number}`"


@BY_EXERCISE
def test_the_catalogue_holds_what_the_checks_say(id: str) -> None:
    kept_entry = (catalogue.of_lab(STEMS[id[:2]]) or {}).get(id)
    old, now = lasting({id: kept_entry} if kept_entry else {}), lasting({id: entry(id)})
    assert now == old, f"the catalogue is old; `labbook messages {id[:2]}`:\n{difference(old, now, id)}"


@pytest.mark.parametrize("number", STEMS)
def test_the_catalogue_has_the_order_of_the_cells(number: str) -> None:
    cells = [
        cell["id"]
        for cell in json.loads(paths.SOLUTIONS.joinpath(f"{STEMS[number]}.ipynb").read_text())["cells"]
    ]
    ids = [id[3:].replace("_", "-") for id in catalogue.of_lab(STEMS[number]) or {}]
    assert ids == [cell for cell in cells if cell in ids]
    assert len(ids) == sum(id.startswith(f"{number}.") for id in EXERCISES)


@BY_EXERCISE
def test_a_known_mistake_without_its_name_is_among_those_that_a_hint_offers(id: str) -> None:
    entry = catalogue.of_lab(STEMS[id[:2]])[id]
    for name, how in entry.mistakes.items():
        report = Report(id, entry.title, "wrong", message=how.message, at=how.at)
        offered = HintsShown(EXERCISES[id], catalogue.falls_of(id)).after(report).seen.maybe
        assert EXERCISES[id].mistakes[name].why in offered or len(offered) == MOST, f"{name}: {offered}"
