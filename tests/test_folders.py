"""Folders stay small: names say what a file is about, and a folder can be taken in at a glance."""

from __future__ import annotations

import re
from pathlib import Path

import helpers
from helpers import paths

LABS = paths.ROOT / "helpers" / "labs"
EXERCISES = {path.parent.name for path in LABS.glob("*/*/exercise.py")}
MADE_BY_SIZE = re.compile(r"(\d|_size|_index|_more|_parts)$")


def test_no_file_has_a_name_that_a_limit_of_size_made() -> None:
    files = [*LABS.rglob("*.py"), *(paths.ROOT / "tests").rglob("*.py")]
    named = [path for path in files if MADE_BY_SIZE.search(path.stem) and path.stem not in EXERCISES]
    assert len(files) > 500 and named == []


def test_no_folder_of_a_lab_holds_more_than_seven_files() -> None:
    folders = [LABS, *(path for path in LABS.rglob("*") if path.is_dir())]
    count = {path: sum(file.stem != "__init__" for file in path.glob("*.py")) for path in folders}
    assert {path: files for path, files in count.items() if files > 7} == {}


def test_helpers_holds_few_modules_beside_its_folders() -> None:
    assert len(list((paths.ROOT / "helpers").glob("*.py"))) <= 14


def test_every_exercise_has_its_folder_and_its_right_answers() -> None:
    found = helpers.exercises()
    assert {id.partition(".")[2] for id in found} == EXERCISES
    for id in found:
        number, _, name = id.partition(".")
        assert list(Path(__file__).parent.glob(f"labs/{number}_*/{name}.py")), id


def test_a_file_past_600_lines_is_split_by_topic() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in LABS.rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 600} == {}
