"""The learner's copies in work/, JupyterLab on top of them, the start page, and the doctor."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import helpers
from helpers import doctor, start, work


def write_lab(path: Path, first_cell: str = "# 01 Seeds\n\n**Question.** Why?") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": [first_cell]}]}))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a start page and one lab."""
    for folder in ("labs", "solutions"):
        write_lab(tmp_path / folder / "00_start.ipynb", folder)
        write_lab(tmp_path / folder / "01_seeds.ipynb")
    return tmp_path


def test_missing_labs_are_copied_whole(project: Path) -> None:
    copied = work.copy_missing_labs(project)
    assert [path.name for path in copied] == ["00_start.ipynb", "01_seeds.ipynb"]
    assert copied[1].read_bytes() == (project / "labs/01_seeds.ipynb").read_bytes()
    assert sorted(path.name for path in (project / "work").iterdir()) == [path.name for path in copied]


def drawn_list(project: Path) -> list[dict]:
    """The outputs of the cell that lists the labs, in the learner's copy of the real start page."""
    shutil.copy(helpers.ROOT / "labs" / work.START, project / "labs")
    work.copy_missing_labs(project)
    cells = json.loads((project / "work" / work.START).read_text())["cells"]
    return next(cell["outputs"] for cell in cells if cell["id"] == work.LIST)


def test_start_page_can_be_read_before_it_is_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "LABS", project / "labs")
    (output,) = drawn_list(project)
    assert "01 Seeds" in output["data"]["text/html"] and "01 Seeds" in output["data"]["text/plain"]


def test_start_page_is_copied_even_if_torch_is_broken(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ImportError("no torch")

    monkeypatch.setattr(start, "exercise_minutes", broken)
    assert drawn_list(project) == []


def test_a_copy_that_is_there_is_never_touched(project: Path) -> None:
    (project / "work").mkdir()
    (project / "work/01_seeds.ipynb").write_text("mine")
    (project / "work/00_start.ipynb").symlink_to("nowhere")
    assert work.copy_missing_labs(project) == []
    assert (project / "work/01_seeds.ipynb").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "free some space"), (errno.EROFS, "make the folder writable")]
)
def test_a_disk_that_refuses_leaves_nothing_and_is_told(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    words: str,
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(work.os, "fsync", refuse)
    assert work.lab(project) == 1
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and os.strerror(number) in said and words in said
    assert list((project / "work").iterdir()) == []


def test_no_labs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert work.lab(tmp_path) == 1
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
    assert work.has_display(environment, platform) is shown


def test_only_root_is_allowed_as_root(tmp_path: Path) -> None:
    plain = work.server_options(tmp_path, "secret", browser=True, superuser=False)
    assert "--allow-root" not in plain
    assert "--allow-root" in work.server_options(tmp_path, "secret", browser=True, superuser=True)


@pytest.fixture
def copy_of_the_project(tmp_path: Path) -> Path:
    """What `labbook lab` needs of the project, in another folder."""
    for name in ("helpers", "ci", "labs", "solutions"):
        shutil.copytree(helpers.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
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
    finally:
        server.send_signal(signal.SIGINT)
        rest = server.stdout.read()
        code = server.wait(30)
    assert code == 0 and "Traceback" not in rest


def test_lab_starts_with_title_and_question(project: Path) -> None:
    write_lab(project / "labs/01_seeds.ipynb", "# 01 Seeds\n\n**Question.** Why `a`\nand <b>?\n\nMore.")
    entry = start.entry(project / "labs/01_seeds.ipynb", {"01": 40})
    assert entry == start.LabEntry("01", "Seeds", "Why `a` and <b>?", "01_seeds.ipynb", 40)


@pytest.mark.parametrize("text", ["", "# 02 Seeds", "No title."])
def test_lab_without_a_title_is_listed_by_its_file(project: Path, text: str) -> None:
    write_lab(project / "labs/01_seeds.ipynb", text)
    entry = start.entry(project / "labs/01_seeds.ipynb", {})
    assert (entry.title, entry.question) == ("Seeds", "")


def test_course_lists_the_labs_that_are_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "LABS", project / "labs")
    monkeypatch.setattr(start, "exercise_minutes", lambda: {"01": 40})
    course = start.course()
    assert str(course) == "01 Seeds\n   Why?\n   exercises: about 40 minutes"
    assert '<a href="01_seeds.ipynb"><b>01 Seeds</b></a>' in course._repr_html_()


def test_course_as_html_needs_no_trust() -> None:
    html = start.Course([start.LabEntry("01", "a<b", "Why `x<y`?", "01_a.ipynb")])._repr_html_()
    assert "a&lt;b" in html and "<code>x&lt;y</code>" in html
    assert not re.search(r"<style|<script|class=|id=|var\(", html)


def test_stored_start_page_does_not_change_with_the_labs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABBOOK_HEADLESS", "1")
    monkeypatch.setattr(helpers, "LABS", project / "labs")
    one = start.course()
    write_lab(project / "labs/02_more.ipynb")
    two = start.course()
    assert [len(one.labs), len(two.labs)] == [1, 2]
    assert str(one) == str(two) and one._repr_html_() is two._repr_html_() is None


@pytest.mark.parametrize("lab", start.lab_files(helpers.SOLUTIONS), ids=lambda path: path.stem)
def test_first_cell_of_every_lab_has_a_title_and_a_question(lab: Path) -> None:
    text = "".join(json.loads(lab.read_text(encoding="utf-8"))["cells"][0]["source"])
    title = start.TITLE.search(text)
    assert title and title[1] == lab.name[:2], (
        f"{lab.name}: the first cell has no line '# {lab.name[:2]} Title'"
    )
    assert start.QUESTION.search(text), f"{lab.name}: the first cell has no paragraph '**Question.** ...'"


def test_doctor_finds_this_machine_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.doctor(helpers.ROOT) == 0
    said = capsys.readouterr().out
    assert "torchvision" in said and "JupyterLab" in said and "kernel starts" in said


def test_doctor_names_one_fix_for_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "TORCH_PROBE", "raise RuntimeError('torchvision::nms does not exist')")
    monkeypatch.setattr(doctor, "FINDINGS", (doctor.torch_finding, doctor.gpu_finding))
    assert doctor.doctor(helpers.ROOT) == 1
    said = capsys.readouterr().out
    assert (
        "WRONG  torch with torchvision: RuntimeError: torchvision::nms does not exist\n       fix: " in said
    )


def test_doctor_lives_through_a_torch_that_kills_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TORCH_PROBE", "import os; os.kill(os.getpid(), 11)")
    assert "died of signal 11" in doctor.torch_finding(helpers.ROOT).said


def test_doctor_does_not_need_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABBOOK_BROWSER", "/nowhere/chromium")
    monkeypatch.setattr(doctor, "FINDINGS", (doctor.browser_finding,))
    assert doctor.doctor(helpers.ROOT) == 0
    assert doctor.browser_finding(helpers.ROOT).sign == "note"


def test_doctor_knows_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEED_GB", 1e9)
    assert doctor.disk_finding(helpers.ROOT).sign == "WRONG"


def test_doctor_knows_a_kernel_of_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = 'import json; print(json.dumps({"prefix": "/elsewhere", "error": []}))'
    monkeypatch.setattr(doctor, "KERNEL_PROBE", answer)
    finding = doctor.kernel_finding(helpers.ROOT)
    assert "/elsewhere" in finding.said and finding.fix == "jupyter kernelspec remove python3"
