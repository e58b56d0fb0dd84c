"""Who imports whom: import-linter holds the layers (pyproject.toml); here are the notebooks and the folders of the labs,
which it does not look into."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from helpers import paths

NOTEBOOKS = sorted([*paths.SOLUTIONS.glob("*.ipynb"), *paths.LABS.glob("*.ipynb")])
LABS = sorted(path.parent for path in (paths.ROOT / "helpers" / "labs").glob("*/__init__.py"))
FOR_NOTEBOOKS = {"digits", "facts", "figures", "labs", "precision", "ranks", "recordings", "source", "start", "streams", "waits"}  # fmt: skip
FOR_LABS = {"exercise", "measurements", "notebook", "paths", "prediction", "ranks", "streams", "waits"}
OF_THE_CHECK = {
    "calls",
    "compare",
    "garbage",
    "guard",
    "judge",
    "one_thread",
    "operations",
    "spec",
    "trial",
}  # what an exercise is written with


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that some code imports, `helpers.check.judge`; of `from helpers import paths`: `helpers.paths`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def wrong_imports_of_notebook(path: Path) -> list[str]:
    """What a notebook imports of the machinery, a line each."""
    plain = TransformerManager().transform_cell
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            for name in imported(ast.parse(plain("".join(cell["source"])))):
                package, _, inside = name.partition(".")
                if package == "ci" or (
                    package == "helpers" and inside.partition(".")[0] not in FOR_NOTEBOOKS
                ):
                    found.append(
                        f"{path.parent.name}/{path.name}, cell {cell['id']}: {name} is machinery. "
                        f"A notebook imports of helpers only {', '.join(sorted(FOR_NOTEBOOKS))}."
                    )
    return found


def wrong_imports_of_lab(folder: Path) -> list[str]:
    """What the modules of a lab import that is not for labs, a line each."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            package, top, *rest = [*name.split("."), "", ""]
            own = top == "labs" and rest[0] in (folder.name, "contents")
            of_the_check = top == "check" and rest[0] in OF_THE_CHECK
            if package == "ci" or (package == "helpers" and not (own or of_the_check or top in FOR_LABS)):
                found.append(f"{path.relative_to(folder.parent)}: {name} is not for labs")
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_imports_no_machinery(path: Path) -> None:
    assert not wrong_imports_of_notebook(path)


def test_a_notebook_that_does_is_named_with_its_cell(tmp_path: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "id": "good",
            "source": ["%matplotlib inline\n", "from helpers.waits import waits"],
        },
        {"cell_type": "code", "id": "bad", "source": ["with x:\n", "    from helpers.check import judge"]},
    ]
    (tmp_path / "11_tiny.ipynb").write_text(json.dumps({"cells": cells}))
    (found,) = wrong_imports_of_notebook(tmp_path / "11_tiny.ipynb")
    assert (
        "11_tiny.ipynb, cell bad: helpers.check.judge is machinery. A notebook imports of helpers only"
        in found
    )


@pytest.mark.parametrize("folder", LABS, ids=lambda folder: folder.name)
def test_a_lab_imports_what_exercises_are_written_with_and_no_other_lab(folder: Path) -> None:
    assert not wrong_imports_of_lab(folder)


def test_a_lab_that_imports_another_or_the_display_is_named(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "shown.py").write_text(
        "from helpers.labs.tiny.shared import x\nfrom helpers.labs.optim import y\nfrom helpers.display import report"
    )
    assert wrong_imports_of_lab(tmp_path / "tiny") == [
        "tiny/shown.py: helpers.labs.optim.y is not for labs",
        "tiny/shown.py: helpers.display.report is not for labs",
    ]


def test_an_import_against_the_layers_fails_with_a_line_that_says_so(tmp_path: Path) -> None:
    for name in ("helpers", "ci"):
        shutil.copytree(
            paths.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "labs")
        )
    shutil.copy(paths.ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "helpers" / "labs").mkdir()
    (tmp_path / "helpers" / "labs" / "__init__.py").touch()
    engine = tmp_path / "helpers" / "check" / "judge.py"
    engine.write_text(f"from helpers.display.report import Report\n{engine.read_text(encoding='utf-8')}")
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "helpers.check is not allowed to import helpers.display:" in done.stdout
    assert "helpers.check.judge -> helpers.display.report (l.1)" in done.stdout
