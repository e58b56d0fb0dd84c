"""The fault table of the learner's work, part two: what is damaged, lost, renamed or removed. A row is a test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.course import progress
from helpers.work import reset, undo, update
from tests.support import work_projects as tiny
from tests.support.work_projects import ANSWER, MORE, SEED, Project, aged, reset_both


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A learner at work in lab 01 and lab 02, and a course that has gone on."""
    tiny.alone(monkeypatch)
    return Project(tmp_path / "project").begin().learn().go_on()


COMMANDS = {"update": update.update, "reset": reset_both, "undo": undo.undo}


def test_damaged_progress_file(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    path = project.work / progress.NAME
    damaged = path.read_text(encoding="utf-8")
    damaged = damaged.rstrip().removesuffix("}")
    path.write_text(damaged, encoding="utf-8")
    assert reset_both(project.root) == 0
    assert list(progress.read(project.work).solved) == ["01.guess"]
    assert any(kept.read_text() == damaged for kept in project.work.glob("progress.json.damaged-*"))
    path.write_text("not even close", encoding="utf-8")
    assert undo.undo(project.root) == 0
    assert list(progress.read(project.work).solved) == ["01.seed"]
    assert ANSWER in project.source("seed")


def renamed(cells: list[dict]) -> None:
    """01.seed becomes 01.sow."""
    for part in ("", "-box", "-check"):
        one = tiny.find(cells, f"seed{part}")
        one["id"], one["source"] = f"sow{part}", one["source"].replace("seed", "sow")


def test_renamed_exercise_that_the_learner_filled(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.change("labs", renamed)
    assert update.update(project.root) == 0
    output = capsys.readouterr().out
    assert "The course no longer has what you wrote in: seed. These cells are kept" in output
    assert ANSWER in project.source("seed") and "def sow" in project.source("sow")
    assert "seed-check" not in project.ids()


def test_removed_exercise(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    def less(cells: list[dict]) -> None:
        cells[:] = [one for one in cells if not one["id"].startswith("seed") and "guess" not in one["id"]]

    project.change("labs", less)
    assert update.update(project.root) == 0
    assert "what you wrote in: seed, guess." in capsys.readouterr().out
    assert project.ids() == ["question", "imports", "seed", "own", "guess"]


def test_removed_lab(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (project.labs / MORE).unlink()
    shutil.copy(project.work / MORE, project.work / "03_my_own_copy.ipynb")
    kept = project.notebooks()[MORE]
    assert update.update(project.root) == 0
    output = capsys.readouterr().out
    assert f"{MORE}: the course no longer has this lab. Your copy stays as it is." in output
    assert project.notebooks()[MORE] == kept and "my_own_copy" not in output


DAMAGED = {
    "half a file": (b'{"cells": [', "it is not valid JSON (line 1)"),
    "no text": (b"\xff\xfe\x00", "it is not UTF-8"),
    "empty": (b"", "it is not valid JSON (line 1)"),
    "no notebook": (b"[1, 2]", "it is not a notebook: it has no list of cells"),
    "cells without ids": (b'{"cells": [{"source": ""}]}', "its cell 1 has no id"),
    "text that is none": (b'{"cells": [{"id": "a", "source": 3}]}', "the text of its cell 1 is damaged"),
}


@pytest.mark.parametrize(("content", "why"), DAMAGED.values(), ids=list(DAMAGED))
def test_damaged_notebook(
    project: Project, capsys: pytest.CaptureFixture[str], content: bytes, why: str
) -> None:
    (project.work / SEED).write_bytes(content)
    aged(project.work / SEED)
    assert update.update(project.root) == 1
    output = capsys.readouterr().out
    assert (
        f"{SEED}: your copy was left alone, since {why}. " in output and "`labbook reset 01` puts" in output
    )
    assert reset.reset(project.root, ["01.seed"]) == 1
    assert why in capsys.readouterr().out and (project.work / SEED).read_bytes() == content
    assert "news" in project.ids(MORE), "the other lab was merged"
    assert reset.reset(project.root, ["01"]) == 0
    assert "seed-read" in project.ids()
    assert undo.undo(project.root) == 0
    assert (project.work / SEED).read_bytes() == content


def test_damaged_lab(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (project.labs / SEED).write_text("<<<<<<< HEAD")
    (project.work / MORE).unlink()
    kept = project.notebooks()[SEED]
    assert update.update(project.root) == 1
    assert f"{SEED}: the lab in labs/ is damaged: it is not valid JSON" in capsys.readouterr().out
    assert reset.reset(project.root, ["01"]) == 1
    assert "Fix: git checkout labs" in capsys.readouterr().err
    assert project.notebooks()[SEED] == kept and "news" in project.ids(MORE)


def spoil_base(project: Project) -> None:
    for path in (project.work / ".base").glob("01_*"):
        path.write_bytes(path.read_bytes().replace(b"Seeds", b"Sides"))


def lose_base(project: Project) -> None:
    shutil.rmtree(project.work / ".base")


def lose_stamp(project: Project) -> None:
    found = project.read("work")
    del found["metadata"]["labbook"]
    project.write("work", SEED, found)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (spoil_base, "what it was made from is damaged or missing in work/.base"),
        (lose_base, "what it was made from is damaged or missing in work/.base"),
        (lose_stamp, "what it was made from is not known"),
    ],
)
def test_base_that_is_not_there(
    project: Project, capsys: pytest.CaptureFixture[str], fault: Callable[[Project], None], why: str
) -> None:
    fault(project)
    kept = project.notebooks()[SEED]
    for _ in range(2):
        assert update.update(project.root) == 1
        output = capsys.readouterr().out
        assert f"{SEED}: your copy was left alone, since {why}" in output
        assert "The course's version stands beside it: new-01_seeds.ipynb." in output
    assert project.notebooks()[SEED] == kept
    assert [path.name for path in project.work.glob("new-01*")] == ["new-01_seeds.ipynb"]
    assert "seed-read" in project.ids("new-01_seeds.ipynb")
    # The learner takes what stands beside: from then on updates are merged.
    (project.work / "new-01_seeds.ipynb").replace(project.work / SEED)
    project.change("labs", lambda cells: cells.append(tiny.text("later", "Later.")))
    update.update(project.root)
    assert "later" in project.ids()


def test_what_stands_beside_is_never_written_over(project: Project) -> None:
    lose_stamp(project)
    update.update(project.root)
    project.change("work", lambda cells: cells.append(tiny.cell("x", "typed_here = 1")), "new-01_seeds.ipynb")
    update.update(project.root)
    project.change("labs", lambda cells: cells.append(tiny.text("later", "Later.")))
    update.update(project.root)
    assert project.kept("typed_here") and "later" in project.ids("new-01_seeds-2.ipynb")
    assert len(list(project.work.glob("new-*"))) == 2


def test_base_that_is_lost_while_nothing_is_new_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.alone(monkeypatch)
    project = Project(tmp_path).begin().learn()
    lose_base(project)
    assert update.update(project.root) == 0
    project.go_on()
    assert update.update(project.root) == 0
    assert ANSWER in project.source("seed") and "seed-read" in project.ids()


@pytest.mark.parametrize("content", ["{", "[]", '{"progress": 3}', None])
def test_damaged_record_of_a_command(
    project: Project, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    before = project.notebooks()
    assert reset_both(project.root) == 0
    [what] = project.work.glob(".backups/*/what.json")
    what.unlink() if content is None else what.write_text(content)
    assert undo.undo(project.root) == 1
    output = capsys.readouterr().out
    assert "is damaged. Its notebooks go back; what was noted as solved does not." in output
    assert {**project.notebooks(), "progress": b""} == {**before, "progress": b""}
    assert undo.undo(project.root) == 0 and "no update or reset" in capsys.readouterr().out


def test_damaged_backup(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert reset_both(project.root) == 0
    [kept] = project.work.glob(f".backups/*/{SEED}")
    kept.write_text("spoilt")
    now = project.notebooks()[SEED]
    assert undo.undo(project.root) == 1
    assert f"{SEED}: left as it is, since its backup in work/.backups/0001-reset" in capsys.readouterr().out
    assert project.notebooks()[SEED] == now and "own-2" in project.ids(MORE)


@pytest.mark.parametrize("command", COMMANDS)
def test_work_is_a_file(project: Project, capsys: pytest.CaptureFixture[str], command: str) -> None:
    shutil.rmtree(project.work)
    project.work.write_text("mine")
    assert COMMANDS[command](project.root) == 1
    assert "is a file, and must be the folder of your notebooks" in capsys.readouterr().err
    assert project.work.read_text() == "mine"


def test_notebook_that_is_a_link(project: Project) -> None:
    elsewhere = project.root / "elsewhere.ipynb"
    (project.work / SEED).rename(elsewhere)
    (project.work / SEED).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    assert update.update(project.root) == 0
    assert (project.work / SEED).is_symlink() and "seed-read" in elsewhere.read_text()
    assert undo.undo(project.root) == 0
    assert (project.work / SEED).is_symlink() and elsewhere.read_bytes() == before


@pytest.mark.parametrize("command", ["update", "reset"])
def test_link_that_leads_nowhere(project: Project, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (project.work / SEED).unlink()
    (project.work / SEED).symlink_to("nowhere")
    assert COMMANDS[command](project.root) == 1
    assert f"work/{SEED} is a link that leads nowhere" in capsys.readouterr().out
    assert (project.work / SEED).is_symlink()
    assert json.loads((project.work / MORE).read_text())["cells"][-1]["id"] == "news"


def test_copy_that_the_learner_deleted(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (update.update, reset_both):
        (project.work / SEED).unlink()
        assert command(project.root) == 0
        assert "copied" in capsys.readouterr().out and "seed-read" in project.ids()
