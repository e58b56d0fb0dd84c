"""Set-up: what it refuses before anything is downloaded, and when it makes, updates or leaves .venv."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
import yaml

from ci.checkout import setup
from helpers import paths

SCRIPT = paths.ROOT / "ci" / "checkout" / "setup.py"
VERSION = namedtuple("VERSION", "major minor micro")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of three files, nothing of it installed."""
    (tmp_path / "ci" / "checkout").mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "ci" / "checkout")
    (tmp_path / "requirements.lock").write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def set_up(project: Path, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "ci/checkout/setup.py"]
    settings = {**os.environ, "LABBOOK_NEED_GB": "0", **environment}
    return subprocess.run(command, cwd=project, env=settings, capture_output=True, text=True)


def assert_one_line(done: subprocess.CompletedProcess, *words: str) -> None:
    """Exit code 1 and one line that holds the words and a fix."""
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in (*words, "Fix"))


def test_script_can_be_read_by_an_old_python() -> None:
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_too_old_python_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup.sys, "version_info", VERSION(3, 8, 18))
    assert "Python 3.8 is too old" in setup.python_error()
    assert "PYTHON=python3.12 make setup" in setup.python_error()


def test_missing_venv_module_is_told(project: Path) -> None:
    (project / "sitecustomize.py").write_text("import sys\nsys.modules['ensurepip'] = None\n")
    done = set_up(project, PYTHONPATH=str(project))
    assert_one_line(done, "no venv", "apt install python3.")
    assert not (project / ".venv").exists()


def test_full_disk_is_told(project: Path) -> None:
    assert_one_line(set_up(project, LABBOOK_NEED_GB="1000000"), "GB are free", "1000000 GB")
    assert not (project / ".venv").exists()


def test_missing_network_is_told(project: Path) -> None:
    nobody = "127.0.0.1:9"  # a proxy that refuses every connection
    none = {name: nobody for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")}
    assert_one_line(set_up(project, **none, NO_PROXY="", no_proxy="", PIP_NO_CACHE_DIR="1"), "no network")
    assert not (project / ".venv" / "labbook-stamp.json").exists()


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert setup.main(["--nonsense"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.fixture
def steps(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the costly steps as they are taken; they only make the Python that a venv has."""
    taken: list[str] = []

    def new_venv() -> None:
        taken.append("new venv")
        shutil.rmtree(setup.VENV, ignore_errors=True)
        setup.BIN.mkdir(parents=True)
        (setup.BIN / "python").symlink_to(sys.executable)

    monkeypatch.setattr(setup, "ROOT", project)
    monkeypatch.setattr(setup, "VENV", project / ".venv")
    monkeypatch.setattr(setup, "BIN", project / ".venv" / "bin")
    monkeypatch.setattr(setup, "STAMP", project / ".venv" / "labbook-stamp.json")
    monkeypatch.setattr(setup, "new_venv", new_venv)
    monkeypatch.setattr(setup, "install", lambda: taken.append("install"))
    return taken


def test_first_set_up_does_all_and_the_second_nothing(steps: list[str]) -> None:
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "install"]
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "install"]


def test_a_new_lock_is_installed_into_the_same_venv(steps: list[str], project: Path) -> None:
    setup.make_environment(chosen=False)
    (project / "requirements.lock").write_text("more")
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "install", "install"]


def test_a_set_up_that_broke_off_begins_anew(
    steps: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(setup, "install", broken)
        assert setup.main([]) == 130
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "new venv", "install"]


def test_an_update_that_broke_off_begins_anew(
    steps: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise setup.SetupFailed("the network went away")

    setup.make_environment(chosen=False)
    (project / "pyproject.toml").write_text("more")
    with monkeypatch.context() as patch:
        patch.setattr(setup, "install", broken)
        assert setup.main([]) == 1
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "install", "new venv", "install"]


def test_a_stamp_that_cannot_be_read_counts_as_none(steps: list[str]) -> None:
    setup.make_environment(chosen=False)
    setup.STAMP.write_text('{"folder": ')
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "install"] * 2


def test_a_moved_project_gets_a_new_venv(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    setup.make_environment(chosen=False)
    monkeypatch.setattr(setup, "ROOT", paths.ROOT)
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "install"] * 2


def test_another_python_by_name_gets_a_new_venv(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    setup.make_environment(chosen=False)
    monkeypatch.setattr(setup.sys, "version_info", VERSION(3, 99, 0))
    setup.make_environment(chosen=False)
    assert steps == ["new venv", "install"]
    setup.make_environment(chosen=True)
    assert steps == ["new venv", "install"] * 2


def test_a_linked_venv_is_left_alone(steps: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "file").write_text("kept")
    setup.VENV.symlink_to(other)
    setup.make_environment(chosen=False)
    assert steps == [] and (other / "file").read_text() == "kept"


def names(requirements: str) -> set[str]:
    """Names of the packages that a requirements file lists."""
    lines = (line.split("#")[0].strip() for line in requirements.splitlines())
    return {
        line.replace(">", "=").replace(" ", "=").split("=")[0].lower() for line in lines if line[:1].isalpha()
    }


def test_lock_pins_every_requirement_with_a_hash() -> None:
    wanted = names((paths.ROOT / "requirements.in").read_text())
    lock = (paths.ROOT / "requirements.lock").read_text()
    pins = [block for block in lock.split("\n") if block[:1].isalnum()]
    assert wanted and wanted <= names(lock)
    assert all("==" in pin and pin.endswith("\\") for pin in pins)


@pytest.mark.parametrize(
    "name",
    [
        "requirements.lock",
        "requirements.in",
        "environment.yml",
        "pyproject.toml",
        "Makefile",
        "ci/checkout/setup.py",
    ],
)
def test_no_file_of_the_set_up_names_an_address(name: str) -> None:
    assert "://" not in (paths.ROOT / name).read_text()


def test_conda_takes_its_versions_from_the_lock() -> None:
    environment = yaml.safe_load((paths.ROOT / "environment.yml").read_text())
    python, pip, packages = environment["dependencies"]
    assert python.startswith("python >=3.11") and pip == "pip"
    assert packages == {"pip": ["-r requirements.lock"]}


@pytest.mark.slow
def test_the_real_set_up(tmp_path: Path) -> None:
    for name in ("ci", "helpers"):
        shutil.copytree(paths.ROOT / name, tmp_path / name)
    for name in ("Makefile", "pyproject.toml", "requirements.in", "requirements.lock", "README.md"):
        shutil.copy(paths.ROOT / name, tmp_path)
    try:
        for description in (".venv is ready", ".venv is up to date"):
            done = subprocess.run(["make", "setup"], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert description in done.stdout
        command = [tmp_path / ".venv/bin/labbook", "--help"]
        assert "doctor" in subprocess.run(command, capture_output=True, text=True).stdout
    finally:
        shutil.rmtree(tmp_path / ".venv", ignore_errors=True)  # 6 GB that pytest would keep


def test_git_ignores_nothing_of_the_project() -> None:
    if not (paths.ROOT / ".git").exists():
        pytest.skip("not a checkout")
    folders = ["helpers", "ci", "tests", "labs", "solutions", "data"]
    command = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", *folders]
    listed = subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    kept_out = ("__pycache__/", ".ipynb_checkpoints/", ".hypothesis/")
    assert [line for line in listed.splitlines() if not any(part in line for part in kept_out)] == []
