"""`labbook new`: what it writes, what it refuses, and that the tests fail until it is filled."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ci.new.command import new
from ci.notebooks.files import Problem, WrongUse, read
from tests.support.project import code, output_of, store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    store(tmp_path / "solutions" / "11_tiny.ipynb", code("imports", "import torch"))
    return tmp_path


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_an_exercise_gets_its_folder_its_cells_and_its_right_answers(root: Path) -> None:
    code, heard = output_of(lambda: new(root, "11.twice_x"))
    assert code == 0 and "pytest tests/check -k 11.twice_x" in heard
    assert files(root) == {
        "helpers/labs/tiny/__init__.py",
        "helpers/labs/tiny/twice_x/exercise.py",
        "helpers/labs/tiny/twice_x/mistakes.py",
        "solutions/11_tiny.ipynb",
        "tests/labs/11_tiny/twice_x.py",
    }
    for path in root.rglob("*.py"):
        ast.parse(path.read_text())
        assert "TODO" in path.read_text(), path
    cells = read(root / "solutions" / "11_tiny.ipynb", root).cells
    assert [cell.id for cell in cells] == ["imports", "twice-x-box", "twice-x", "twice-x-check"]
    assert "def twice_x(" in cells[2].source and cells[3].source == "lab.twice_x.check(twice_x)"


def test_a_new_lab_is_made_when_it_is_named(root: Path) -> None:
    with pytest.raises(WrongUse, match="--lab allocators"):
        new(root, "12.pool")
    output_of(lambda: new(root, "12.pool", lab="two_words"))
    cells = read(root / "solutions" / "12_two_words.ipynb", root).cells
    assert cells[0].source.startswith("# 12 Two words\n\n**Question.** ")
    assert "from helpers.labs import two_words as lab" in cells[1].source


@pytest.mark.parametrize(
    ("id", "lab"), [("double", ""), ("11.Double", ""), ("11.double", "other"), ("12.x", "A b")]
)
def test_what_makes_no_sense_is_wrong_usage_and_writes_nothing(root: Path, id: str, lab: str) -> None:
    before = files(root)
    with pytest.raises(WrongUse):
        new(root, id, lab=lab)
    assert files(root) == before


def test_what_is_there_is_never_overwritten(root: Path) -> None:
    output_of(lambda: new(root, "11.twice_x"))
    before = {path: path.read_text() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(Problem, match="there already, and nothing was written"):
        new(root, "11.twice_x")
    (root / "helpers/labs/tiny/twice_x/exercise.py").unlink()
    (root / "helpers/labs/tiny/twice_x/mistakes.py").unlink()
    (root / "tests/labs/11_tiny/twice_x.py").unlink()
    with pytest.raises(Problem, match="a cell has the id"):
        new(root, "11.twice_x")
    assert all(path.read_text() == text for path, text in before.items() if path.exists())
