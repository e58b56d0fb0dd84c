"""Copies of the project, so that measuring changes nothing in it: whole, or with small notebooks for labs."""

from __future__ import annotations

import compileall
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook

from ci.notebooks.canonical import canonical, notebook_text

MACHINERY = ("helpers", "ci", "data", "requirements.in", "requirements.lock", "pyproject.toml")
COURSE = ("solutions", "labs")
FIRST = (
    50  # the number of the first small notebook: no lab of the course has it, so no exercise is missed in it
)
SMALL = {
    "imports": "import matplotlib.pyplot\nimport torch\nimport torchvision",
    "sum": "torch.ones(3).sum()",
}


@contextmanager
def whole_copy(root: Path) -> Iterator[Path]:
    """The project as it stands, in a temporary folder that is cleared away; nothing is remembered of earlier runs."""
    with _copy(root, (*MACHINERY, *COURSE)) as copy:
        yield copy


@contextmanager
def small_notebooks(root: Path, count: int) -> Iterator[Path]:
    """The project with `count` small notebooks in place of the course, never run."""
    with _copy(root, MACHINERY) as copy:
        for folder in COURSE:
            (copy / folder).mkdir()
            for number in numbers(count):
                cells = [new_code_cell(source, id=name) for name, source in SMALL.items()]
                text = notebook_text(canonical(new_notebook(cells=cells), solved=folder == "solutions"))
                (copy / folder / f"{number}_small.ipynb").write_text(text, encoding="utf-8")
        yield copy


def numbers(count: int) -> list[str]:
    """The numbers of the first small notebooks, as commands take them."""
    return [str(FIRST + index) for index in range(count)]


@contextmanager
def _copy(root: Path, names: tuple[str, ...]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="labbook-bench-") as folder:
        copy = Path(folder).resolve()
        for name in names:
            if (root / name).is_dir():
                leave = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", ".*.part")
                shutil.copytree(root / name, copy / name, ignore=leave)
            elif (root / name).exists():
                shutil.copy2(root / name, copy / name)
        for name in ("helpers", "ci"):  # else whoever comes first pays for it
            compileall.compile_dir(copy / name, quiet=2)
        yield copy
