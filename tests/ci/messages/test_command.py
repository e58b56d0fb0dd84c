"""`labbook messages`: what it writes, and which mistakes it names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import helpers
from ci.messages import command
from helpers import paths
from helpers.course import catalogue
from helpers.display.report import Report
from tests.support.project import output_of

PROPERTY = "the double, for every number"


def report(verdict: str = "wrong", mistake: str | None = None) -> Report:
    return Report("99.twice", "Twice", verdict, mistake=mistake, at=PROPERTY)


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """An exercise with three mistakes: one has its name, one passes, one gets none."""
    exercise = SimpleNamespace(processes=True)
    found = {"square": report(mistake="square"), "right": report("passed"), "same": report()}
    monkeypatch.setattr(helpers, "exercises", lambda: {"99.twice": exercise})
    monkeypatch.setattr(command, "reports", lambda id: found)
    return exercise


def test_where_answers_start_processes_each_is_named_for_itself(bank: SimpleNamespace) -> None:
    passes, nameless = command.collisions("99.twice")
    assert passes == "99.twice right: no property rejects it"
    assert nameless.startswith(
        f"99.twice same gets no name. First rejected at the property {PROPERTY!r}: let"
    )


def test_only_what_changed_is_written(
    bank: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    monkeypatch.setattr(command, "messages_of", lambda number: "=== 99.twice square\n")
    monkeypatch.setattr(command, "entries", lambda stem: {})
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "99_twice.ipynb").touch()
    code, heard = output_of(lambda: command.messages(tmp_path, ["99"]))
    assert code == 1 and "99_twice: tests/messages/99.txt changed: read it\n" in heard
    assert (tmp_path / "tests" / "messages" / "99.txt").read_text() == "=== 99.twice square\n"
    assert not catalogue.folder().exists(), "what it would hold is what is known: nothing"
    assert "99_twice: nothing changed\n" in output_of(lambda: command.messages(tmp_path, ["99"]))[1]
