"""Own code beside the solution's."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import helpers
import helpers.exercise
from helpers.answers import source_of
from tests.hostile.exercises import scale

SOLUTION = '''import torch

def scale(x: torch.Tensor, k: float) -> torch.Tensor:
    """x times k, plus one."""
    ### BEGIN SOLUTION
    return x * k + 1
    ### END SOLUTION'''


@pytest.fixture
def solutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = new_notebook(cells=[new_code_cell(SOLUTION, id="scale")])
    nbformat.write(notebook, tmp_path / "99_hostile.ipynb")
    monkeypatch.setattr(helpers, "SOLUTIONS", tmp_path)


def test_own_lines_and_the_solutions_are_told_apart(solutions: None) -> None:
    def scale_of_mine(x, k):  # noqa: ANN001, ANN202
        return x * k

    found = scale.compare(scale_of_mine)
    assert "-         return x * k" in str(found) and "+     return x * k + 1" in str(found)
    assert "SOLUTION" not in str(found) and "import torch" not in str(found)
    html = found._repr_mimebundle_()["text/html"]
    assert "<table" in html and "yours" in html and "class=" not in html


def test_without_an_answer_the_solution_is_shown(solutions: None) -> None:
    assert "x * k + 1" in str(scale.compare())


def test_source_of_a_class_and_of_what_has_none() -> None:
    assert source_of(helpers.exercise.Exercise).startswith("class Exercise")
    assert source_of(len) == source_of(3) == ""
