"""`labbook reset` and `labbook undo`: what goes back, what stays, what is said."""

from __future__ import annotations

import json

import pytest

import helpers
from helpers import paths
from helpers.course import progress
from helpers.work import backups, reset, undo, update
from helpers.work.notebook import parsed
from tests.support import work_projects as tiny
from tests.support.work_projects import ANSWER, MORE, SEED, Project


@pytest.fixture
def project(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A learner at work in lab 01 and lab 02."""
    tiny.alone(monkeypatch)
    return Project(tmp_path).begin().learn()


def test_one_exercise(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_ids = project.ids()
    project.change("work", lambda cells: tiny.replace(cells, "seed-twice", "raise", "pass  # raise"))
    assert reset.reset(project.root, ["01.seed"]) == 0
    assert project.source("seed") == tiny.STUB
    assert next(one for one in project.read("work")["cells"] if one["id"] == "seed-check")["outputs"] == []
    assert project.ids() == tiny_ids and project.source("own") == "my_own_cell = 1"
    assert "pass  # raise" in project.source("seed-twice"), "another exercise whose name begins the same"
    assert project.source("guess") == 'guess = "B"'
    assert list(progress.read(project.work).solved) == ["01.guess"]
    output = capsys.readouterr().out
    assert (
        f"{SEED}: 01.seed begins anew (the cells seed-box, seed, seed-check). The rest of the lab is as it was."
        in output
    )
    assert "No longer noted as solved: 01.seed." in output
    assert "Before: work/.backups/0001-reset-" in output and "`labbook undo` takes this reset back." in output


def test_prediction(project: Project) -> None:
    assert reset.reset(project.root, ["1.guess"]) == 0
    assert project.source("guess") == "guess = ..." and ANSWER in project.source("seed")


def test_whole_lab(project: Project) -> None:
    assert reset.reset(project.root, ["01", "01.seed"]) == 0
    assert project.ids() == [one["id"] for one in tiny.SEEDS]
    assert progress.read(project.work).solved == {}
    assert "own-2" in project.ids(MORE)


def test_exercise_of_the_present_lab(project: Project) -> None:
    """The course went on, and the learner resets before an update: the update finds nothing to quarrel about."""
    project.go_on()
    assert reset.reset(project.root, ["01.seed"]) == 0
    newest = project.source("seed", folder="labs")
    assert project.source("seed") == newest and "seed-read" not in project.ids()
    assert update.update(project.root) == 0
    assert project.source("seed") == newest and "seed-read" in project.ids()


def test_deleted_cell_comes_back_to_its_place(project: Project) -> None:
    project.change("work", lambda cells: [cells.remove(tiny.find(cells, id)) for id in ("seed-box", "seed")])
    assert reset.reset(project.root, ["01.seed"]) == 0
    assert project.ids()[:6] == ["question", "imports", "seed-box", "seed", "seed-check", "own"]


def test_second_cell_with_one_id_is_the_learners_own(project: Project) -> None:
    project.change("work", lambda cells: cells.append(tiny.cell("seed", "the_twin = 1")))
    assert reset.reset(project.root, ["01.seed"]) == 0
    assert [one["source"] for one in project.read("work")["cells"] if one["id"] == "seed"] == [
        tiny.STUB,
        "the_twin = 1",
    ]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        (
            "77",
            "there is no lab 77. There are: 00, 01, 02. An exercise is named with its lab: 03.conv2d. Nothing was",
        ),
        ("seed", "there is no lab seed. There are: 00, 01, 02."),
        ("01.sow", "lab 01 has no exercise 01.sow. It has: 01.seed, 01.seed_twice, 01.guess."),
        ("01.", "lab 01 has no exercise 01.. It has: 01.seed"),
        ("02.more", "lab 02 has no exercise 02.more. It has: none."),
    ],
)
def test_unknown_name_is_wrong_usage_and_nothing_is_changed(
    project: Project, capsys: pytest.CaptureFixture[str], name: str, description: str
) -> None:
    before = project.notebooks()
    assert reset.reset(project.root, ["01", name]) == 2
    assert description in capsys.readouterr().err
    assert project.notebooks() == before and backups.backups(project.work) == []


def test_every_exercise_of_the_course_can_be_named() -> None:
    """By the cells alone, without loading a lab."""
    known = set()
    for lab in sorted(paths.LABS.glob("[0-9][0-9]_*.ipynb")):
        notebook = parsed(lab.read_bytes())
        for name in reset.exercises(notebook):
            id = f"{lab.name[:2]}.{name.replace('-', '_')}"
            known.add(id)
            cells = reset.cells_of(notebook, id)
            assert cells[-2:] == [name, f"{name}-check"] and len(cells) in (2, 3), cells
    assert known == {*helpers.exercises(), *helpers.predictions()}


def test_nothing_to_reset(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert reset.reset(project.root, ["01.seed", "02"]) == 0
    assert f"{SEED}: is as the course gives it already." in capsys.readouterr().out
    assert len(backups.backups(project.work)) == 1


def test_exercise_that_is_only_noted(project: Project) -> None:
    progress.note_solved("01.seed_twice", 1, project.work)
    assert reset.reset(project.root, ["01.seed_twice"]) == 0
    assert "01.seed_twice" not in progress.read(project.work).solved
    assert undo.undo(project.root) == 0
    assert "01.seed_twice" in progress.read(project.work).solved


def test_undo_takes_one_command_after_another_back(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    states = [project.notebooks()]
    project.go_on()
    for call in (update.update, lambda root: reset.reset(root, ["01.seed"])):
        assert call(project.root) == 0
        states.append(project.notebooks())
    for words, state in (("labbook reset 01.seed", states[1]), ("labbook update", states[0])):
        assert undo.undo(project.root) == 0
        assert f"{SEED}: as it was before `{words}`." in capsys.readouterr().out
        assert project.notebooks() == state
    assert undo.undo(project.root) == 0
    assert "There is no update or reset to take back. Nothing was changed." in capsys.readouterr().out
    assert project.notebooks() == states[0]
    assert update.update(project.root) == 0 and project.notebooks() == states[1]


def test_undo_keeps_what_was_typed_since(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert reset.reset(project.root, ["01.seed"]) == 0
    project.change("work", lambda cells: tiny.replace(cells, "seed", "raise", "typed_since = 1; raise"))
    progress.note_solved("01.seed_twice", 1, project.work)
    capsys.readouterr()
    assert undo.undo(project.root) == 0
    output = capsys.readouterr().out
    [kept] = project.work.glob(f".backups/0002-undo-*/{SEED}")
    assert f"It had changed since. What stood in it is in {kept.relative_to(project.root)}." in output
    assert "typed_since" in kept.read_text() and ANSWER in project.source("seed")
    assert "Noted as solved again: 01.seed." in output
    assert set(progress.read(project.work).solved) == {"01.seed", "01.guess", "01.seed_twice"}


def test_undo_brings_a_notebook_back_that_was_deleted_since(project: Project) -> None:
    assert reset.reset(project.root, ["01.seed"]) == 0
    (project.work / SEED).unlink()
    assert undo.undo(project.root) == 0
    assert ANSWER in project.source("seed")


def test_what_a_backup_holds(project: Project) -> None:
    before = (project.work / SEED).read_bytes()
    assert reset.reset(project.root, ["01.seed"]) == 0
    [kept] = backups.backups(project.work)
    assert (kept.folder / SEED).read_bytes() == before
    fields = json.loads((kept.folder / "what.json").read_text())
    assert (fields["command"], fields["arguments"], fields["finished"]) == (
        "reset",
        ["01.seed"],
        True,
    )
    assert list(fields["before"]) == list(fields["after"]) == [SEED]
    assert list(fields["progress"]) == ["01.seed"]


def test_backups_stay_in_order_when_there_are_many(project: Project) -> None:
    for number in (2, 9999, 10000):
        (project.work / f".backups/{number:04d}-update-2020-01-01_0000").mkdir(parents=True)
    assert reset.reset(project.root, ["02"]) == 0
    assert [kept.name[:5] for kept in backups.backups(project.work)] == ["0002-", "9999-", "10000", "10001"]


def test_nothing_to_update_makes_no_backup(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    before = project.notebooks()
    assert update.update(project.root) == 0
    output = capsys.readouterr().out
    assert output == "Your copies are up to date: there was nothing to do, and nothing was changed.\n"
    assert project.notebooks() == before and backups.backups(project.work) == []


def test_update_copies_new_labs(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write("labs", "03_third.ipynb", tiny.notebook(*tiny.SECOND))
    assert update.update(project.root) == 0
    assert "03_third.ipynb: copied, work/ did not have it." in capsys.readouterr().out
    assert (project.work / "03_third.ipynb").exists()


def test_copy_from_before_there_were_bases(project: Project) -> None:
    """It names none. If it has the lab's cells, that lab is its base."""
    project.write("work", SEED, tiny.notebook(*tiny.SEEDS))
    assert update.update(project.root) == 0
    project.change("work", tiny.answered)
    project.go_on()
    assert update.update(project.root) == 0
    assert ANSWER in project.source("seed") and "seed-read" in project.ids()
