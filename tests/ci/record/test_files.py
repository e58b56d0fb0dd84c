"""What stands in data/recordings/ was measured on a GPU by this project's code."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from ci.record.command import CODE, code_digest
from helpers import paths
from helpers.measurements.registry import measurements
from helpers.measurements.samples import summary_error
from helpers.recordings import MORE, RecordingError, recorded

FOLDER = paths.DATA / "recordings"
SHOWN = re.compile(r"\b(?:show|measured|recorded)\(['\"](\w+)['\"]\)")


def errors(path: Path) -> list[str]:
    """What is wrong with a file in the folder of recordings."""
    if path.name == "README.md":
        return []
    if path.suffix != ".json" or path.stem not in measurements():
        return [f"{path.name}: no measurement is called {path.stem}"]
    try:
        found = recorded(path.stem)
    except RecordingError as error:
        return [str(error)]
    missing = [key for key in MORE if not getattr(found, key)]
    summary = summary_error(found.samples)
    return [f"{path.name}: {key} is missing" for key in missing] + (
        [f"{path.name}: {summary}"] if summary else []
    )


def test_every_file_is_a_recording() -> None:
    assert [error for path in sorted(FOLDER.iterdir()) for error in errors(path)] == []


GOOD = {
    "device": "NVIDIA Testcard 1",
    "driver": "570.1",
    "cuda": "12.8",
    "cudnn": "91002",
    "torch": "2.11.0",
    "date": "2026-05-01",
    "commit": "0123456789abcdef",
    "code": "0123456789abcdef",
    "command": "labbook record first_call",
    "unit": "s",
    "samples": {"import_torch_s": [1.5, 2.5, 1.0, 2.0, 3.0]},
}


@pytest.mark.parametrize(
    ("name", "change", "description"),
    [
        ("first_call.json", {}, ""),
        ("nobody_knows.json", {}, "no measurement is called nobody_knows"),
        ("first_call.txt", {}, "no measurement"),
        ("first_call.json", {"device": "cpu"}, "device must be a GPU"),
        ("first_call.json", {"device": "AMD EPYC 9654 96-Core Processor"}, "device must be a GPU"),
        ("first_call.json", {"samples": {"import_torch_s": 1.5}}, "is one number"),
        ("first_call.json", {"samples": {"median_s": [1.5]}}, "holds 1 numbers"),
        *[("first_call.json", {key: ""}, "missing|must be") for key in GOOD if key != "samples"],
    ],
)
def test_a_file_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: dict, description: str
) -> None:
    monkeypatch.setattr(paths, "DATA", tmp_path)
    path = tmp_path / "recordings" / name
    path.parent.mkdir()
    path.write_text(json.dumps(GOOD | change))
    found = " ".join(errors(path))
    assert re.search(description, found) if description else not found


def measured_by(commit: str) -> str | None:
    """The digest of the measuring code of a commit; None where git does not have it."""
    if not (paths.ROOT / ".git").exists():
        return None
    listed = git("ls-tree", "--name-only", commit, f"{CODE}/")
    if listed is None:
        return None
    files = [path for path in listed.decode().splitlines() if path.endswith(".py")]
    return code_digest({Path(path).name: git("show", f"{commit}:{path}") for path in files})


def git(*args: str) -> bytes | None:
    done = subprocess.run(["git", "-C", str(paths.ROOT), *args], capture_output=True)
    return done.stdout if done.returncode == 0 else None


def test_the_commit_of_each_recording_holds_the_code_that_measured() -> None:
    """Nobody can type a commit that had other code. (A shallow checkout lacks old commits: nothing to compare.)"""
    for path in FOLDER.glob("*.json"):
        found = recorded(path.stem)
        assert measured_by(found.commit) in (None, found.code), path.name


def test_the_digest_of_a_commit_is_that_of_its_files() -> None:
    head = measured_by("HEAD")
    assert head is None or len(head) == 16
    assert measured_by("0123456789abcdef0123456789abcdef01234567") is None


def test_every_name_that_a_notebook_shows_is_a_measurement() -> None:
    shown = {
        name
        for path in paths.SOLUTIONS.glob("*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for name in SHOWN.findall("".join(cell["source"]))
        if cell["cell_type"] == "code"
    }
    assert shown and shown <= set(measurements())
