"""What `labbook new` writes fails the tests until its TODOs are filled, and goes the author's whole way then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import copied_project
from tests.test_adding_a_lab import git, run

MISTAKES = '''"""What people write for 19.twice_x, and why it is wrong."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.labs.pairs.twice_x.exercise import twice_x


@twice_x.mistake(breaks="Twice x")
def unchanged(x: Tensor) -> Tensor:
    """x came back as it was."""
    return x


@twice_x.mistake(breaks="Twice x")
def squared(x: Tensor) -> Tensor:
    """x was multiplied by itself. At 2 that is the same."""
    return x * x


@twice_x.mistake(breaks="Twice x")
def thrice(x: Tensor) -> Tensor:
    """One x too many was added."""
    return x + x + x


@twice_x.mistake(breaks="Twice x")
def sizes_only(x: Tensor) -> Tensor:
    """The sign is lost: abs() was taken."""
    return 2 * x.abs()


@twice_x.mistake(breaks="a tensor of the same shape")
def summed(x: Tensor) -> Tensor:
    """The result is one number: the sum of all."""
    return 2 * x.sum()


@twice_x.mistake(breaks="a tensor of the same shape")
def stacked(x: Tensor) -> Tensor:
    """Two copies of x are no sum of them."""
    return torch.cat((x, x))
'''
RIGHT = '''"""Right answers of 19.twice_x, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

RIGHT: list[Any] = [lambda x: x + x, lambda x: x - -x]
'''
DOCSTRING = "TODO: what it returns, with shapes, dtypes and errors. Each sentence is held by a property."

ASKS = "TODO: the words of the docstring that it holds"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = copied_project(tmp_path_factory.mktemp("project"))
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "copy")
    run(project, "-m", "helpers.cli", "new", "19.twice_x", "--lab", "pairs")
    return project


def checked(project: Path, code: int) -> str:
    return run(project, "-m", "pytest", "-q", "tests/check", "-k", "19.twice_x or 19_pairs", code=code)


def filled(path: Path) -> None:
    """Writes something for each TODO of a file."""
    text = path.read_text(encoding="utf-8")
    for to_do in (DOCSTRING, ASKS):
        text = text.replace(to_do, "Twice x: a tensor of the same shape.")
    path.write_text(text.replace("TODO", "Done"), encoding="utf-8")


@pytest.mark.slow
def test_it_fails_until_it_is_filled_and_then_goes_the_whole_way(project: Path) -> None:
    message = checked(project, code=1)
    assert "test_exercise_is_complete[19.twice_x]" in message and "TODO" in message
    lab = project / "helpers" / "labs" / "pairs"
    for path in (
        lab / "__init__.py",
        lab / "twice_x" / "exercise.py",
        project / "solutions" / "19_pairs.ipynb",
    ):
        filled(path)
    (lab / "twice_x" / "mistakes.py").write_text(MISTAKES, encoding="utf-8")
    (project / "tests" / "labs" / "19_pairs" / "twice_x.py").write_text(RIGHT, encoding="utf-8")
    for command in (["format"], ["derive"], ["run", "19"], ["validate", "19"], ["labs", "19"]):
        run(project, "-m", "helpers.cli", *command)
    message = run(project, "-m", "helpers.cli", "messages", "19")
    assert "every mistake is rejected, and named" in message
    assert "passed" in checked(project, code=0)
    message = (project / "tests" / "messages" / "19.txt").read_text(encoding="utf-8")
    assert "=== 19.twice_x stacked" in message and "TODO" not in message
