"""The learner's copies in work/, the list on the start page, JupyterLab on top of them, and the doctor."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from helpers import doctor, paths, start
from helpers.work import copies, opened, page, serve
from tests.support import work_projects as tiny
from tests.support.work_projects import SEED, Project


class Listed:
    """Stands in for the list of labs."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return f"<p>{self.words}</p>"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A course whose start page has a list, and copies of it; JupyterLab is never started."""
    tiny.alone(monkeypatch)
    monkeypatch.setattr(start, "course", lambda: Listed("01 Seeds"))
    monkeypatch.setattr(serve, "serve", lambda root: 0)
    project = Project(tmp_path).begin()
    listing = tiny.cell(page.LIST, "course()")
    project.write("labs", page.START, tiny.notebook(tiny.text("welcome", "# Welcome"), listing))
    (project.work / page.START).unlink()
    return project


def listed(project: Project) -> list[dict[str, Any]]:
    """The outputs of the list on the learner's start page."""
    return tiny.find(project.read("work", page.START)["cells"], page.LIST)["outputs"]


def test_missing_labs_are_copied_whole(project: Project) -> None:
    shutil.rmtree(project.work)
    copied = copies.copy_missing_labs(project.root)
    assert [path.name for path in copied] == [page.START, "01_seeds.ipynb", "02_more.ipynb"]
    copy, lab = project.read("work"), project.read("labs")
    assert copy["metadata"].pop("labbook")["lab"] == SEED
    assert copy == lab
    assert sorted(path.name for path in project.work.iterdir()) == [".base", *(path.name for path in copied)]


def test_copy_names_its_base_and_the_base_is_the_lab(project: Project) -> None:
    name, base = copies.stamped(project.read("work"))
    assert copies.base_text(project.work, name, base) == (project.labs / SEED).read_bytes()
    assert copies.stamped(project.read("labs")) == ("", "")


def test_older_copies_are_those_that_an_update_would_change(project: Project) -> None:
    assert copies.older_copies(project.root) == []
    project.change("labs", lambda cells: cells.append(tiny.text("news", "News.")))
    (project.work / tiny.MORE).write_text("damaged")
    assert copies.older_copies(project.root) == [SEED]
    (project.work / SEED).unlink()
    assert copies.older_copies(project.root) == []


def test_base_is_the_same_whatever_git_does_to_line_ends(project: Project) -> None:
    lab = project.labs / SEED
    before = copies.fingerprint(copies.lab_text(lab))
    lab.write_bytes(lab.read_bytes().replace(b"\n", b"\r\n"))
    assert copies.fingerprint(copies.lab_text(lab)) == before


def test_start_page_can_be_read_before_it_is_run(project: Project) -> None:
    assert serve.lab(project.root) == 0
    [output] = listed(project)
    assert output["data"] == {"text/plain": "01 Seeds", "text/html": "<p>01 Seeds</p>"}


def test_list_is_drawn_anew_each_time_and_nothing_else_is_touched(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve.lab(project.root)
    project.change(
        "work", lambda cells: cells.append(tiny.cell("own", "1", outputs=[tiny.OUTPUT])), page.START
    )
    before = project.read("work", page.START)
    monkeypatch.setattr(start, "course", lambda: Listed("01 Seeds, solved"))
    assert serve.lab(project.root) == 0
    after = project.read("work", page.START)
    assert listed(project)[0]["data"]["text/plain"] == "01 Seeds, solved"
    tiny.find(before["cells"], page.LIST)["outputs"] = listed(project)
    assert after == before


def broken_list() -> None:
    raise ImportError("no torch")


def test_start_page_is_copied_even_if_the_list_is_broken(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "course", broken_list)
    assert serve.lab(project.root) == 0
    assert listed(project) == []


def keeps_open(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    monkeypatch.setattr(page, "opened", lambda work: opened.Opened(frozenset([page.START])))


def in_doubt(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    monkeypatch.setattr(page, "opened", lambda work: opened.Opened(doubt="A server is silent."))


def list_broken(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    monkeypatch.setattr(start, "course", broken_list)


def no_notebook(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    (project.work / page.START).write_text('{"cells": [')


def list_deleted(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    project.change("work", lambda cells: cells.pop(), page.START)


def disk_full(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    monkeypatch.setattr(os, "fsync", refusing(errno.ENOSPC))


def refusing(number: int) -> Any:
    def refuse(*args: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("fault", [keeps_open, in_doubt, list_broken, no_notebook, list_deleted, disk_full])
def test_start_page_stays_as_it_is_where_its_list_cannot_be_drawn(
    project: Project, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    serve.lab(project.root)
    monkeypatch.setattr(start, "course", lambda: Listed("newer"))
    fault(monkeypatch, project)
    before = (project.work / page.START).read_bytes()
    assert serve.lab(project.root) == 0
    assert (project.work / page.START).read_bytes() == before
    assert len(list(project.work.glob(".*"))) == 1, "only .base"


def test_a_copy_that_is_there_is_never_touched(project: Project) -> None:
    (project.work / SEED).write_text("mine")
    (project.work / page.START).symlink_to("nowhere")
    assert copies.copy_missing_labs(project.root) == []
    assert (project.work / SEED).read_text() == "mine"


def test_damaged_lab_is_told_and_the_others_are_copied(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(project.work)
    (project.labs / SEED).write_text("<<<<<<< HEAD")
    assert serve.lab(project.root) == 0
    assert f"labs/{SEED} was not copied: it is not valid JSON (line 1). Fix: git checkout" in (
        capsys.readouterr().err
    )
    assert sorted(path.name for path in project.work.glob("*.ipynb")) == [page.START, tiny.MORE]


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "free some space"), (errno.EROFS, "make the folder writable")]
)
def test_a_disk_that_refuses_leaves_nothing_and_is_told(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    words: str,
) -> None:
    shutil.rmtree(project.work)
    monkeypatch.setattr(os, "fsync", refusing(number))
    assert serve.lab(project.root) == 1
    output = capsys.readouterr().err
    assert len(output.splitlines()) == 1 and os.strerror(number) in output and words in output
    assert [path for path in project.work.rglob("*") if path.is_file()] == []


def test_no_labs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.lab(tmp_path) == 1
    assert "labs/ holds no notebook" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "platform", "shown"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"DISPLAY": ":0", "LABBOOK_NO_BROWSER": "1"}, "linux", False),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "here"}, "darwin", False),
    ],
)
def test_browser_opens_only_where_there_is_a_display(environment: dict, platform: str, shown: bool) -> None:
    assert serve.has_display(environment, platform) is shown


def test_only_root_is_allowed_as_root(tmp_path: Path) -> None:
    plain = serve.server_options(tmp_path, "secret", browser=True, superuser=False)
    assert "--allow-root" not in plain
    assert "--allow-root" in serve.server_options(tmp_path, "secret", browser=True, superuser=True)


@pytest.fixture
def copy_of_the_project(tmp_path: Path) -> Path:
    """What `labbook lab` needs of the project, in another folder."""
    for name in ("helpers", "ci", "labs", "solutions"):
        shutil.copytree(paths.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_served_with_a_token_until_it_is_stopped(copy_of_the_project: Path) -> None:
    root = copy_of_the_project
    folders = {
        name: str(root / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "helpers.cli", "lab"],
        cwd=root,
        env={**os.environ, **folders, "LABBOOK_NO_BROWSER": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        address = next(match[0] for line in server.stdout if (match := re.search(r"http://127\S+", line)))
        assert "/lab/tree/work/00_start.ipynb?token=" in address
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.partition("/lab/")[0] + "/api/contents")
        assert (root / "work/00_start.ipynb").exists()
        [note] = (root / "work/.servers").iterdir()
        assert json.loads(note.read_text())["token"] in address
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
    finally:
        server.send_signal(signal.SIGINT)
        rest = server.stdout.read()
        code = server.wait(120)
    assert code == 0 and "Traceback" not in rest
    assert list((root / "work/.servers").iterdir()) == []


def test_doctor_finds_this_machine_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.doctor(paths.ROOT) == 0
    output = capsys.readouterr().out
    assert "torchvision" in output and "JupyterLab" in output and "kernel starts" in output


def test_doctor_names_one_fix_for_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "TORCH_PROBE", "raise RuntimeError('torchvision::nms does not exist')")
    monkeypatch.setattr(doctor, "FINDINGS", (doctor.torch_finding, doctor.gpu_finding))
    assert doctor.doctor(paths.ROOT) == 1
    output = capsys.readouterr().out
    assert (
        "WRONG  torch with torchvision: RuntimeError: torchvision::nms does not exist\n       fix: " in output
    )


def test_doctor_lives_through_a_torch_that_kills_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TORCH_PROBE", "import os; os.kill(os.getpid(), 11)")
    assert "died of signal 11" in doctor.torch_finding(paths.ROOT).message


def test_doctor_does_not_need_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABBOOK_BROWSER", "/nowhere/chromium")
    monkeypatch.setattr(doctor, "FINDINGS", (doctor.browser_finding,))
    assert doctor.doctor(paths.ROOT) == 0
    assert doctor.browser_finding(paths.ROOT).sign == "note"


@pytest.mark.parametrize(
    ("version", "sign", "says"),
    [
        ((3, 10, 9), "WRONG", "Python 3.10.9 is too old"),
        ((3, 11, 2), "ok", "Python 3.11.2, "),
        ((3, 14, 0), "ok", "Python 3.14.0, "),
        (
            (3, 15, 0),
            "note",
            "Python 3.15.0: the lab book was tried with 3.11 to 3.14, and may work here, too",
        ),
    ],
)
def test_doctor_knows_which_python_was_tried(
    version: tuple[int, ...], sign: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.sys, "version_info", version)
    finding = doctor.python_finding(paths.ROOT)
    assert finding.sign == sign and finding.message.startswith(says) and bool(finding.fix) == (sign != "ok")


def test_doctor_knows_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEED_GB", 1e9)
    assert doctor.disk_finding(paths.ROOT).sign == "WRONG"


def test_doctor_knows_a_kernel_of_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = 'import json; print(json.dumps({"prefix": "/elsewhere", "error": []}))'
    monkeypatch.setattr(doctor, "KERNEL_PROBE", answer)
    finding = doctor.kernel_finding(paths.ROOT)
    assert "/elsewhere" in finding.message and finding.fix == "jupyter kernelspec remove python3"
