"""A second, tiny lab is added to a copy of the project by the README's own steps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import paths
from tests.browser.conftest import copied_project

CODE = re.compile(r"```python\n# (\S+)\n(.*?)```", re.DOTALL)
FACTS = """\
topics: []
facts:
- id: twice-is-a-sum
  fact: Twice a float tensor is the tensor added to itself, bit for bit.
  status: holds
  cell: double
  check: |
    import torch
    x = torch.randn(1000)
    assert torch.equal(2 * x, x + x)
"""


def run(project: Path, *command: str, code: int = 0) -> str:
    """What a command prints in the copied project; its exit code must be `code`."""
    env = dict(os.environ, PYTHONPATH=str(project))
    env.pop("PYTEST_CURRENT_TEST", None)
    done = subprocess.run(
        [sys.executable, *command], cwd=project, env=env, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def git(project: Path, *arguments: str) -> str:
    name = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(["git", *name, *arguments], cwd=project, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = copied_project(tmp_path_factory.mktemp("project"))
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "copy")
    for name, text in CODE.findall((paths.ROOT / "README.md").read_text(encoding="utf-8")):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    run(project, "-m", "jupytext", "--to", "ipynb", "solutions/19_tiny.py")
    (project / "solutions" / "19_tiny.py").unlink()
    (project / "data" / "facts" / "19_tiny.yaml").write_text(FACTS, encoding="utf-8")
    run(project, "-m", "helpers.cli", "format")
    run(project, "-m", "helpers.cli", "derive")
    return project


@pytest.mark.parametrize("command", ["run", "validate", "labs", "facts", "messages"])
def test_every_command_knows_the_new_lab(project: Path, command: str) -> None:
    assert "19" in run(project, "-m", "helpers.cli", command, "19")


def test_the_catalogue_knows_the_new_exercise(project: Path) -> None:
    script = (
        "import helpers; double = helpers.exercises()['19.double']\n"
        "print(double.check(lambda x: x + x).verdict, double.check(lambda x: x * x).mistake)"
    )
    assert run(project, "-c", script).strip() == "passed squared"


def test_only_the_labs_own_files_have_changed(project: Path) -> None:
    changed = {line[3:] for line in git(project, "status", "--porcelain", "-uall").splitlines()}
    assert changed == {
        "helpers/labs/tiny/__init__.py",
        "helpers/labs/tiny/double/exercise.py",
        "helpers/labs/tiny/double/mistakes.py",
        "solutions/19_tiny.ipynb",
        "labs/19_tiny.ipynb",
        "data/facts/19_tiny.yaml",
        "data/exercises/19_tiny.json",
        "data/exercises/19_tiny/double.json",
        "tests/messages/19.txt",
    }


def test_an_answer_left_in_the_lab_by_a_misspelt_marker_is_noticed(project: Path) -> None:
    notebook = project / "solutions" / "19_tiny.ipynb"
    whole = notebook.read_text(encoding="utf-8")
    notebook.write_text(whole.replace("### END SOLUTION", "### END SOLUTON"), encoding="utf-8")
    try:
        message = run(project, "-m", "helpers.cli", "derive", "--check", code=1)
        assert "solutions/19_tiny.ipynb" in message and "double" in message and "misspelt" in message
    finally:
        notebook.write_text(whole, encoding="utf-8")


def test_an_edited_solution_and_an_edited_lab_are_noticed(project: Path) -> None:
    for folder in ("solutions", "labs"):
        notebook = project / folder / "19_tiny.ipynb"
        whole = notebook.read_text(encoding="utf-8")
        notebook.write_text(whole.replace("same dtype", "another dtype"), encoding="utf-8")
        message = run(project, "-m", "helpers.cli", "derive", "--check", code=1)
        notebook.write_text(whole, encoding="utf-8")
        assert "labs/19_tiny.ipynb" in message and "another dtype" in message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('raise NotImplementedError(\\"19.double\\")', "not attempted"),
        pytest.param("return x * x", "squared", marks=pytest.mark.slow),
    ],
    ids=["gone", "wrong"],
)
def test_a_solution_that_is_wrong_or_gone_fails_the_run(project: Path, line: str, words: str) -> None:
    notebook = project / "solutions" / "19_tiny.ipynb"
    whole = notebook.read_text(encoding="utf-8")
    notebook.write_text(whole.replace("return 2 * x", line), encoding="utf-8")
    message = run(project, "-m", "helpers.cli", "run", "19", code=1)
    notebook.write_text(whole, encoding="utf-8")
    assert "19_tiny" in message and "double-check" in message and words in message


def test_a_weakened_check_is_noticed(project: Path) -> None:
    module = project / "helpers" / "labs" / "tiny" / "double" / "exercise.py"
    whole = module.read_text(encoding="utf-8")
    weak = re.sub(r"x \* 2\)", "x * 2, rtol=1e9, atol=1e9)", whole)
    assert weak != whole
    module.write_text(weak, encoding="utf-8")
    try:
        message = run(
            project, "-m", "pytest", "-q", "tests/check/test_exercises.py", "-k", "named and squared", code=1
        )
        assert "19.double-squared" in message and "passed: 19.double" in message
    finally:
        module.write_text(whole, encoding="utf-8")
