"""The answers that stand in a solution notebook, without running the notebook."""

from __future__ import annotations

import ast
import itertools
import json
import linecache
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from helpers.exercise import Exercise

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_numbers = itertools.count()


def answers(notebook: Path, exercises: dict[str, Exercise]) -> dict[str, Any]:
    """Exercise id -> the solution's answer (a tuple where the exercise has several names).

    Imports, functions, classes, constants and types with a capital letter are executed, and what a cell tells its own
    functions (`square.register_autograd(...)`), nothing else.
    """
    with defined(notebook) as module:
        return {
            id: answer_in(module, exercise)
            for id, exercise in exercises.items()
            if notebook.name.startswith(id.partition(".")[0])
        }


@contextmanager
def defined(
    notebook: Path, replaced: Mapping[str, ast.Module] = MappingProxyType({})
) -> Iterator[types.ModuleType]:
    """A module with what a notebook defines. replaced: cells by their id, with what stands there instead."""
    module = types.ModuleType("__reference__")
    sys.modules[module.__name__] = module  # a dataclass looks its module up while it is made
    try:
        for id, source in code_cells(notebook.read_text(encoding="utf-8")):
            edited = replaced.get(id)
            _define(ast.unparse(edited) if edited else source, f"{notebook.name}:{id}", module)
        yield module
    finally:
        del sys.modules[module.__name__]  # nobody can import it: answers travel to other processes by value


def file_name(words: str) -> str:
    """A name for code that is no file. torch.jit.script looks the source up by it, so no two share one.

    As of a cell of the kernel: the source goes with the answer to the process that checks it (`cell_sources`).
    """
    return f"<ipykernel_{next(_numbers)} {words}>"


def answer_in(module: types.ModuleType, exercise: Exercise) -> Any:
    """What an exercise asks for, of the names of a module."""
    parts = tuple(getattr(module, name) for name in exercise.names)
    return parts if len(parts) > 1 else parts[0]


def solutions_of(root: Path, lab: str) -> dict[str, Any]:
    """The answers of one lab by the exercise's id. lab: its number, "04"."""
    from helpers import exercises

    (notebook,) = (root / "solutions").glob(f"{lab}_*.ipynb")
    return answers(notebook, exercises())


# What an edit leaves as it is, is parsed once for all edits. Both depend on the text alone, which is read each time.
@lru_cache(maxsize=2)
def code_cells(text: str) -> tuple[tuple[str, str], ...]:
    """Id and source of each code cell of a notebook."""
    cells = json.loads(text)["cells"]
    return tuple((cell["id"], "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code")


def _define(source: str, words: str, module: types.ModuleType) -> None:
    if (found := _definitions(source)) is not None:
        name = file_name(words)
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        exec(compile(found, name, "exec", dont_inherit=True), vars(module))


@lru_cache(maxsize=256)
def _definitions(source: str) -> ast.Module | None:
    """What a cell defines; None where it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # magics
        return None
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    tree.body = [
        node
        for node in tree.body
        if isinstance(node, _DEFINITIONS) or _is_constant(node) or _is_told_to(node, own)
    ]
    return tree


def _is_told_to(node: ast.stmt, own: set[str]) -> bool:
    """Whether a statement calls a method of one of these: of a custom operator, say, which is a function of the cell."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = node.value.func
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id in own


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement sets names that begin with a capital letter: constants (`PARTS`), and types (`Way = Callable[...]`)."""
    if not isinstance(node, ast.Assign):
        return False
    return all(isinstance(target, ast.Name) and target.id[0].isupper() for target in node.targets)
