"""The fault table of the learner's work: cut off, full, at the same time. Nothing is lost, and it is said.

Each row is one test. What is damaged or removed stands in test_damage.py, what learners do in test_edits.py,
what is open in JupyterLab in test_opened.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from filelock import FileLock

from helpers import paths
from helpers.course import progress
from helpers.work import backups, commands, undo, update, writing
from tests.support import work_projects as tiny
from tests.support.work_projects import ANSWER, MORE, SEED, Project, reset_both


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A learner at work in lab 01 and lab 02, and a course that has gone on."""
    tiny.alone(monkeypatch)
    return Project(tmp_path / "project").begin().learn().go_on()


def updated_and_typed(project: Project) -> None:
    """Two commands to take back, and something typed since."""
    assert update.update(project.root) == 0 and reset_both(project.root) == 0
    project.change("work", lambda cells: cells.append(tiny.cell("since", "typed_since = 1")))


# command, what comes before it, what the learner has written then
COMMANDS = {
    "update": (update.update, lambda project: None, [ANSWER, "my_own_cell", "mine_too", 'guess = \\"B\\"']),
    "reset": (reset_both, lambda project: None, [ANSWER, "my_own_cell", "mine_too"]),
    "undo": (undo.undo, updated_and_typed, [ANSWER, "my_own_cell", "mine_too", "typed_since"]),
}


def tries(
    project: Project, command: str
) -> Iterator[tuple[Project, Callable[[], int], dict[str, bytes], list]]:
    """Fresh projects for one try after another: each with the command, how it ends undisturbed, and what is written."""
    call, before, written = COMMANDS[command]
    before(project)
    whole = Project(project.root.with_name("whole"))
    shutil.copytree(project.root, whole.root)
    assert call(whole.root) == 0 and whole.notebooks() != project.notebooks()
    for number in range(1, 200):
        copy = Project(project.root.with_name(f"try-{number}"))
        shutil.copytree(project.root, copy.root)
        yield copy, lambda root=copy.root: call(root), whole.notebooks(), written
    pytest.fail("the command never came to its end")


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_between_any_two_changes_to_the_disk(project: Project, command: str) -> None:
    for step, (copy, call, whole, written) in enumerate(tries(project, command), 1):
        code, _ = tiny.cut_off(call, copy.root, step)
        for path in copy.work.glob("[0-9]*.ipynb"):
            nbformat.validate(nbformat.read(path, 4))
        assert all(copy.kept(words) for words in written), step
        if code is not None:
            break
        assert is_done(copy, command) or call() == 0, step
        assert copy.notebooks() == whole, step
    assert code == 0 and step > 20


def is_done(project: Project, command: str) -> bool:
    """Whether the command was stopped after its last step: an undo called again would take the one before back."""
    [*_, newest] = backups.backups(project.work) or [None]
    return newest is not None and newest.command == command and newest.finished


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("error", "fix"), [(tiny.FULL, "free some space"), (tiny.REFUSED, "make the folder")]
)
def test_disk_is_full_or_refuses_from_any_write_on(
    project: Project, command: str, error: int, fix: str
) -> None:
    for step, (copy, call, whole, written) in enumerate(tries(project, command), 1):
        code, message = tiny.cut_off(call, copy.root, step, error)
        assert "Traceback" not in message, message
        assert all(copy.kept(words) for words in written), step
        if code == 0:
            assert copy.notebooks() == whole
            break
        assert code == 1 and (fix in message or "not noted" in message), (step, message)
        assert is_done(copy, command) or call() == 0, step
        assert copy.notebooks() == whole, step
    assert step > 10


def test_cut_off_by_a_kill_and_finished_is_taken_back_by_one_undo(project: Project) -> None:
    before = project.notebooks()
    for step in range(1, 100):
        code, _ = tiny.cut_off(lambda: update.update(project.root), project.root, step)
        halfway = project.notebooks()[SEED] != before[SEED] and project.notebooks()[MORE] == before[MORE]
        if halfway:
            break
    assert code is None
    assert update.update(project.root) == 0 and undo.undo(project.root) == 0
    assert project.notebooks() == before


def saving(project: Project, at: str) -> Callable[..., Any]:
    """Stands in for a function of os: another window saves the notebook in place just before it is called."""
    real = getattr(writing.os, at)

    def called(*args: Any, **options: Any) -> Any:
        target = project.work / SEED
        if Path(args[-1]) == target or (at == "link" and Path(args[0]) == target):
            project.change("work", lambda cells: tiny.replace(cells, "own", "= 1", "= 'saved meanwhile'"))
        return real(*args, **options)

    return called


@pytest.mark.parametrize("at", ["link", "replace"])
@pytest.mark.parametrize("command", COMMANDS)
def test_saved_by_another_window_meanwhile(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    at: str,
) -> None:
    call, before, _ = COMMANDS[command]
    before(project)
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(writing.os, at, saving(project, at))
        assert call(project.root) == 1
    assert project.source("own") == "my_own_cell = 'saved meanwhile'"
    assert f"{SEED}: somebody saved it just now, so it was left as it is. Run labbook {command}" in (
        capsys.readouterr().out
    )
    assert call(project.root) == 0
    assert project.kept("saved meanwhile")


def test_saved_meanwhile_on_a_disk_without_links(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    save = saving(project, "link")

    def link(*args: Any) -> None:
        save(*args)
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(writing.os, "link", link)
        assert update.update(project.root) == 1
    assert project.source("own") == "my_own_cell = 'saved meanwhile'"


def test_undo_leaves_alone_what_a_reset_left_alone(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(writing.os, "link", saving(project, "link"))
        assert reset_both(project.root) == 1
    assert "01.seed" in progress.read(project.work).solved
    assert undo.undo(project.root) == 0
    assert project.source("own") == "my_own_cell = 'saved meanwhile'" and "own-2" in project.ids(MORE)


@pytest.mark.parametrize("command", COMMANDS)
def test_two_commands_at_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    call, before, _ = COMMANDS[command]
    before(project)
    kept = project.notebooks()
    monkeypatch.setattr(commands, "PATIENCE", 0.1)
    with FileLock(project.work / commands.LOCK):
        assert call(project.root) == 1
    assert "another labbook command is at work in work/" in capsys.readouterr().err
    assert project.notebooks() == kept


OWN_MOUNTS = ("unshare", "--map-root-user", "--mount", "sh", "-c")
# The disk is gone with the shell: what is on it at the end is copied out. The filler leaves a few blocks of it free.
SMALL_DISK = """
mount -t tmpfs -o size=512k none "$1" && cp -a "$2/." "$1" && cat /dev/zero > "$1/filler" 2> /dev/null
truncate -s -"$3" "$1/filler"; shift 3; "$@"; code=$?
cp -a "$(dirname "$0")/project/work/." "$(dirname "$0")/after"; exit $code
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_is_really_full(project: Project, command: str) -> None:
    if not shutil.which("unshare") or subprocess.run([*OWN_MOUNTS, "mount -t tmpfs none /mnt"]).returncode:
        pytest.skip("a small disk needs the right to mount")
    COMMANDS[command][1](project)
    kept, after = project.root.with_name("kept"), project.root.with_name("after")
    shutil.copytree(project.work, kept)
    module = {
        "update": "update.update(root)",
        "reset": 'reset.reset(root, ["01.seed", "02"])',
        "undo": "undo.undo(root)",
    }
    code = f"import sys, pathlib; from helpers.work import {command}; root = pathlib.Path(sys.argv[1]); sys.exit({module[command]})"
    codes = set()
    for free in (0, 16_384, 49_152, 196_608):
        shutil.rmtree(after, ignore_errors=True)
        after.mkdir()
        arguments = [
            project.root.with_name("sh"),
            project.work,
            kept,
            free,
            sys.executable,
            "-c",
            code,
            project.root,
        ]
        description = subprocess.run(
            [*OWN_MOUNTS, SMALL_DISK, *map(str, arguments)], cwd=paths.ROOT, capture_output=True, text=True
        )
        assert "Traceback" not in description.stderr, description.stderr
        assert description.returncode == 0 or "free some space" in description.stderr, description
        codes.add(description.returncode)
        shutil.copytree(after, project.work, dirs_exist_ok=True)
        assert all(project.kept(words) for words in COMMANDS[command][2]), free
        shutil.rmtree(project.work)
        project.work.mkdir()
    assert codes == {0, 1}
