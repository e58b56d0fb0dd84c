"""What is edited: the solution of an exercise and its right answers of a different shape."""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ci.mutants.operators import Edit, edits
from ci.notebooks.reference import answer_in, code_cells, defined, file_name
from helpers import paths
from helpers.exercise import Exercise

SOLUTION = "solution"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@dataclass(frozen=True)
class Mutant:
    """A right answer with one edit. where: `solution`, or the function or class of the tests that was edited."""

    where: str
    line: str
    edit: str
    answer: Any


def mutants(exercise: Exercise) -> Iterator[Mutant]:
    """All mutants of an exercise that can be defined; the same ones, in the same order, each time."""
    yield from of_the_solution(exercise)
    yield from of_right_answers(exercise)


def unedited(exercise: Exercise) -> Iterator[tuple[str, Any]]:
    """Where each answer stands, and the answer, made as its mutants are: one that fails here says nothing by them."""
    notebook, cells = _cells(exercise)
    for id, source in cells:
        with defined(notebook, {id: ast.parse(source)}) as module:
            yield SOLUTION, answer_in(module, exercise)
    for path in _of_the_tests(exercise):
        right = _executed(ast.parse(path.read_text(encoding="utf-8")), path).RIGHT
        yield from ((f"{path.name}, RIGHT[{number}]", answer) for number, answer in enumerate(right))


def of_the_solution(exercise: Exercise) -> Iterator[Mutant]:
    """The solution with one edit between its markers."""
    notebook, cells = _cells(exercise)
    for id, source in cells:
        for edit in edits(ast.parse(source), between_the_markers(source)):
            try:
                with defined(notebook, {id: edit.tree}) as module:
                    answer = answer_in(module, exercise)
            except Exception:
                continue
            yield Mutant(SOLUTION, edit.line, edit.says, answer)


def _cells(exercise: Exercise) -> tuple[Path, list[tuple[str, str]]]:
    """The notebook, and of its cells that hold the solution the id and the source."""
    (notebook,) = paths.SOLUTIONS.glob(f"{exercise.id[:2]}_*.ipynb")
    cells = code_cells(notebook.read_text(encoding="utf-8"))
    return notebook, [
        (id, source) for id, source in cells if BEGIN in source and _defines(source, exercise.names)
    ]


def _of_the_tests(exercise: Exercise) -> Iterator[Path]:
    """The file with the right answers of different shapes."""
    return (paths.ROOT / "tests" / "labs").glob(f"{exercise.id[:2]}_*/{exercise.id[3:]}.py")


def _defines(source: str, names: tuple[str, ...]) -> bool:
    return any(getattr(node, "name", None) in names for node in ast.parse(source).body)


def between_the_markers(source: str) -> Callable[[ast.AST], bool]:
    """Whether a node of the tree of `source` stands in its answer."""
    inside, lines = False, set()
    for number, line in enumerate(source.splitlines(), 1):
        inside = (inside or line.strip() == BEGIN) and line.strip() != END
        lines |= {number} if inside else set()
    return lambda node: node.lineno in lines


def of_right_answers(exercise: Exercise) -> Iterator[Mutant]:
    """Each answer of RIGHT in tests/labs/ with one edit in a function or class that it uses."""
    for path in _of_the_tests(exercise):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for place, node in enumerate(tree.body):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                affected = [number for number, names in enumerate(_used(tree)) if node.name in names]
                for edit in edits(ast.Module([node], [])):
                    edited = ast.Module([*tree.body[:place], *edit.tree.body, *tree.body[place + 1 :]], [])
                    yield from _of_the_list(edited, path, affected, node.name, edit)


def _of_the_list(
    tree: ast.Module, path: Path, affected: list[int], name: str, edit: Edit
) -> Iterator[Mutant]:
    try:
        right = _executed(tree, path).RIGHT
        answers = [right[number] for number in affected]
    except Exception:
        return
    for answer in answers:
        yield Mutant(name, edit.line, edit.says, answer)


def _executed(tree: ast.Module, path: Path) -> types.ModuleType:
    """A module of this tree, which nobody can import: its functions travel to other processes by value."""
    module = types.ModuleType(f"__mutant_of_{path.stem}__")
    name, source = file_name(f"mutant of {path.stem}"), ast.unparse(tree)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module.__package__ = f"tests.labs.{path.parent.name}"  # for what it imports from beside it
    if str(paths.ROOT) not in sys.path:
        sys.path.append(str(paths.ROOT))
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, name, "exec", dont_inherit=True), vars(module))
    finally:
        del sys.modules[module.__name__]
    return module


def _used(tree: ast.Module) -> list[set[str]]:
    """For each member of the list RIGHT the functions, classes and constants of its module that it uses, at any remove."""
    names = {name: _read_by(node) for node in tree.body for name in _names_of(node)}
    right = next(
        node.value
        for node in reversed(tree.body)
        if isinstance(node, ast.Assign | ast.AnnAssign) and "RIGHT" in ast.unparse(node).split("=")[0]
    )
    found = []
    for member in right.elts:
        used = _read_by(member) & names.keys()
        while more := set().union(*(names[name] for name in used)) & names.keys() - used:
            used |= more
        found.append(used)
    return found


def _names_of(node: ast.stmt) -> set[str]:
    """What a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _read_by(node: ast.AST) -> set[str]:
    """The names in a piece of code, without those of functions and classes that it defines inside."""
    parts = list(ast.walk(node))
    methods = {id(method) for part in parts if isinstance(part, ast.ClassDef) for method in part.body}
    inside = [part for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef)]
    own = {part.name for part in inside if part is not node and id(part) not in methods}
    return {part.id for part in parts if isinstance(part, ast.Name)} - own
