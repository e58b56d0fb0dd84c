"""Own code beside the solution's."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell, new_notebook

from helpers import exercise as facade
from helpers import paths
from helpers.display.comparison import Comparison
from helpers.notebook.objects import older_answer, source_of
from tests.support.hostile_exercises import scale

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
    monkeypatch.setattr(paths, "SOLUTIONS", tmp_path)


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
    assert source_of(facade.Exercise).startswith("class Exercise")
    assert source_of(len) == source_of(3) == ""


@pytest.mark.parametrize(
    ("yours", "differs"),
    [
        ("def f(x):\n    return x + 1", False),
        ("def f(x):\n    # a comment\n\n    return (x+1)  # more", False),
        ('def f(x):\n    """Other words."""\n    return x + 1', False),
        ("def f(x):\n    return 1 + x", True),
        ("def f(x):\n    return x + 1\n    return", True),
        ("def f(x", True),
        ("", False),
    ],
)
def test_only_other_code_differs(yours: str, differs: bool) -> None:
    solution = 'def f(x):\n    """One more."""\n    return x + 1'
    assert Comparison("99.f", yours, solution).differs is differs


def test_the_solution_differs_from_nothing_that_is_not_found() -> None:
    assert not Comparison("99.f", "def f(x): ...", "").differs


def test_a_long_line_is_wrapped_and_nothing_is_cut_off() -> None:
    table = Comparison("99.f", "x = 1", "y = " + "z" * 300).table()
    assert "table-layout:fixed;width:100%" in table
    for cell in re.findall(r"<td[^>]*>", table):
        assert "white-space:pre-wrap" in cell and "overflow-wrap:anywhere" in cell


def test_an_answer_that_wraps_itself_has_no_source() -> None:
    def f() -> None: ...

    f.__wrapped__ = f
    assert source_of(f) == ""


def test_an_answer_whose_source_is_not_found_is_said_so_in_the_card(solutions: None) -> None:
    found = scale.compare(len)
    assert "Nothing of yours was found" in found._repr_mimebundle_()["text/html"] and not found.differs


CELLS = {
    1: "def f():\n    return 1\n",
    2: "f()",
    3: "x = 2\ndef f(:\n    return 2\n",
    4: "print('def g')",
}


@pytest.mark.parametrize(
    ("name", "cells", "description"),
    [
        ("f", CELLS, "This is about the f that ran as Cell In[1]. Cell In[3] has a newer one"),
        ("f", {1: CELLS[1], 2: CELLS[2]}, ""),
        ("g", {1: "def g(): return 1", 4: CELLS[4]}, ""),
        ("f", {1: CELLS[1], 2: "class C:\n    def f(self):\n        return 3\n"}, ""),
    ],
)
def test_an_answer_whose_newer_cell_stopped_with_an_error_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, cells: dict[int, str], description: str
) -> None:
    shell = InteractiveShell()
    shell.user_ns["In"] = [cells.get(number, "") for number in range(5)]
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr("helpers.notebook.cells.cell_numbers", lambda: {"ipykernel_1/1.py": 1})
    space: dict = {}
    exec(compile(cells[1], "ipykernel_1/1.py", "exec"), space)
    assert older_answer((name,), space[name]).startswith(description) and bool(description) == bool(
        older_answer((name,), space[name])
    )


def test_docstrings_are_left_out_of_the_comparison() -> None:
    solution = 'def f(x):\n    """Twice.\n\n    x: a number.\n    """\n    return 2 * x\n'
    found = Comparison("01.f", "def f(x):\n    return x + x", solution)
    assert found.lines() == ["  def f(x):", "-     return x + x", "+     return 2 * x"]
    assert "Twice" not in found.table() and "Twice" in found.solution


@pytest.mark.parametrize(
    "source", ['def f():\n    """Only words."""', 'def f(): "words"; return 1', "def f(:"]
)
def test_what_is_no_docstring_of_its_own_lines_stays(source: str) -> None:
    assert [line[2:] for line in Comparison("01.f", source, source).lines()] == source.splitlines()
