"""Rows of the fault table: files that no JupyterLab writes, or that somebody is writing just now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.course import progress
from helpers.work import backups, reset, undo, update
from tests.support.work_projects import SEED, Project, aged, alone


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A learner at work in lab 01."""
    alone(monkeypatch)
    return Project(tmp_path).begin().learn()


@pytest.mark.parametrize("text", [b"", b'{\n "cells": [\n  {"cell_type'])
@pytest.mark.parametrize("command", ["reset", "undo"])
def test_a_notebook_that_is_being_saved_is_left_alone(
    project: Project, capsys: pytest.CaptureFixture[str], command: str, text: bytes
) -> None:
    """Who saves a file empties it first: what is read then is not what the learner has."""
    path = project.work / SEED
    assert reset.reset(project.root, ["01"]) == 0
    path.write_bytes(text)
    count = len(backups.backups(project.work))
    done = reset.reset(project.root, ["01"]) if command == "reset" else undo.undo(project.root)
    output = "".join(capsys.readouterr())
    assert done == 1 and path.read_bytes() == text and "is being saved just now" in output
    assert len(backups.backups(project.work)) == count
    aged(path)
    assert (reset.reset(project.root, ["01"]) if command == "reset" else undo.undo(project.root)) == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace('"nbformat_minor": 5', '"nbformat_minor": "5"'),
        lambda text: text.replace('"nbformat": 4', '"nbformat": ' + "9" * 5000),
        lambda text: '{"cells": ' + "[" * 100_000 + "]" * 100_000 + "}",
        lambda text: text.replace('"base": "', '"base": "\\u0000'),
    ],
    ids=["minor_as_text", "endless_number", "brackets_in_brackets", "odd_stamp"],
)
def test_an_odd_notebook_stops_no_other(
    project: Project, capsys: pytest.CaptureFixture[str], spoil: object
) -> None:
    path = project.work / SEED
    odd = spoil(path.read_text())
    path.write_text(odd)
    aged(path)
    project.go_on()
    assert update.update(project.root) == 1
    assert path.read_text() == odd
    assert f"{SEED}: " in capsys.readouterr().out


def test_half_an_emoji_is_kept(project: Project) -> None:
    path = project.work / SEED
    notebook = json.loads(path.read_text())
    notebook["cells"][-1]["source"] = ["x = '\ud83d'"]
    path.write_text(json.dumps(notebook))
    project.go_on()
    assert update.update(project.root) == 0
    assert "x = '\ud83d'" in ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def test_a_picture_in_a_cell_that_the_course_removed_is_kept(project: Project) -> None:
    picture = {"pasted.png": {"image/png": "aGk="}}

    def paste(cells: list[dict]) -> None:
        next(cell for cell in cells if cell["id"] == "summary")["attachments"] = picture

    project.change("work", paste)
    project.go_on()
    assert update.update(project.root) == 0
    assert [cell["attachments"] for cell in project.read("work")["cells"] if cell.get("attachments")] == [
        picture
    ]


def test_undo_of_a_cut_off_update_leaves_what_changed_since(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project.work / SEED
    before = path.read_bytes()
    backups.make(project.work, "update", {SEED: before}, {SEED: b"what it would have been"})
    path.write_bytes(before.replace(b"my_own_cell = 1", b"my_own_cell = 2"))
    newer = path.read_bytes()
    assert newer != before and undo.undo(project.root) == 1
    assert path.read_bytes() == newer and "was cut off" in capsys.readouterr().out


@pytest.mark.parametrize("text", [b"", b"{"])
def test_undo_with_two_damaged_files_puts_nothing_in_the_place_of_a_notebook(
    project: Project, capsys: pytest.CaptureFixture[str], text: bytes
) -> None:
    assert reset.reset(project.root, ["01"]) == 0
    [made] = backups.backups(project.work)
    (made.folder / backups.WHAT).write_text("{")
    (made.folder / SEED).write_bytes(text)
    now = (project.work / SEED).read_bytes()
    assert undo.undo(project.root) == 1
    assert (project.work / SEED).read_bytes() == now and "is no notebook" in capsys.readouterr().out


def test_reset_says_that_progress_could_not_be_read(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project.work / progress.NAME
    path.unlink(missing_ok=True)
    path.mkdir()
    assert reset.reset(project.root, ["01"]) == 1
    assert "may still be noted" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", "."])
def test_an_empty_name_is_wrong_usage(project: Project, name: str) -> None:
    before = project.notebooks()
    assert reset.reset(project.root, [name]) == 2 and reset.reset(project.root, []) == 2
    assert project.notebooks() == before


def test_a_merge_that_fails_leaves_the_copy_and_puts_the_lab_beside_it(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*notebooks: object) -> None:
        raise TypeError("what is that?")

    monkeypatch.setattr("helpers.work.update.merge", stumble)
    before = (project.work / SEED).read_bytes()
    project.go_on()
    assert update.update(project.root) == 1
    output = capsys.readouterr().out
    assert "cannot be merged (TypeError: what is that?)" in output and f"new-{SEED}" in output
    assert (project.work / SEED).read_bytes() == before and (project.work / f"new-{SEED}").exists()
