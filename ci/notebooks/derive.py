"""labs/ from solutions/: answers become stubs, outputs go, cell ids stay."""

from __future__ import annotations

import ast
import difflib
from copy import deepcopy
from pathlib import Path

from nbformat import NotebookNode

from ci.notebooks import rules
from ci.notebooks.canonical import canonical, notebook_text
from ci.notebooks.files import Problem, notebooks, number, read, shown, tags, write
from ci.notebooks.markers import Region, enclosing, regions, tree
from helpers.notebook.names import bound_names

ANSWER = "*Your answer here.*"
DROPPED = "solution-only"


def derive(root: Path, *, check: bool) -> int:
    """Write labs/ from solutions/, or, with `check`, only compare. Returns the exit code; errors are printed."""
    try:
        sources = notebooks(root / "solutions")
    except Problem as problem:
        print(f"derive: {problem}")
        return 1
    errors = 0
    for source in sources:
        target = root / "labs" / source.name
        try:
            text = lab_text(source, root)
            if check:
                stale = difference(target, text, root)
                print(stale, end="")
                errors += bool(stale)
            elif write(target, text):
                print(f"derive: wrote {shown(target, root)}")
        except Problem as problem:
            print(f"derive: {problem}")
            errors += 1
    for orphan in _orphans(root, sources):
        print(f"derive: {shown(orphan, root)} has no notebook in solutions/: delete it, or add its solution")
        errors += 1
    if not errors:
        print(f"derive: {len(sources)} labs are as solutions/ says")
    return int(errors > 0)


def lab_text(source: Path, root: Path) -> str:
    """The text of the lab that a notebook in solutions/ gives.

    Raises:
        Problem: a marker, an id, a stub or a check is not as it must be, or an answer would survive.
    """
    solved = read(source, root)
    try:
        return notebook_text(lab(solved, number(source)))
    except Problem as problem:
        raise problem.placed(path=shown(source, root)) from None


def lab(solved: NotebookNode, lab_number: str) -> NotebookNode:
    """The unsolved notebook: a copy with stubs, without outputs and without cells tagged `solution-only`."""
    unsolved = deepcopy(solved)
    unsolved.cells = [cell for cell in unsolved.cells if DROPPED not in tags(cell)]
    rules.require_human_ids(solved.cells)
    answers: dict[tuple[str, int], str] = {}
    exercises: list[tuple[int, bool]] = []
    for index, cell in enumerate(unsolved.cells):
        try:
            found = regions(cell.source)
            if not found:
                continue
            answers |= {(cell.id, r.begin + n): line for r in found for n, line in enumerate(r.lines, 1)}
            if cell.cell_type == "code":
                exercises.append((index, _is_prediction(cell.source, found)))
            cell.source = stubbed(cell, found, lab_number)
        except Problem as problem:
            raise problem.placed(cell=cell.id) from None
    rules.require_no_leak(answers, unsolved.cells)
    for index, prediction in exercises:
        rules.require_check(unsolved.cells, index, prediction=prediction)
    return canonical(unsolved, solved=False)


def stubbed(cell: NotebookNode, found: list[Region], lab_number: str) -> str:
    """The cell's source with a stub in place of each region."""
    if cell.cell_type == "raw":
        raise Problem("a raw cell cannot hold a solution: make it code or markdown", line=found[0].begin)
    lines = cell.source.split("\n")
    module = tree(cell.source) if cell.cell_type == "code" else None
    for region in reversed(found):
        stub = _stub(module, region, f"{lab_number}.{cell.id.replace('-', '_')}") if module else [ANSWER]
        lines[region.begin - 1 : region.end] = [region.indent + line for line in stub]
    source = "\n".join(lines)
    if module:
        _require_python(source)
    return source


def _stub(module: ast.Module, region: Region, exercise: str) -> list[str]:
    holder = enclosing(module, region)
    if isinstance(holder, ast.ClassDef):
        what = f"the markers stand directly in class {holder.name}: put them inside its methods, or the lab's class raises"
        raise Problem(what, line=region.begin)
    if not isinstance(holder, ast.Module):
        return [f'raise NotImplementedError("{exercise}")']
    names = bound_names(module, region.begin, region.end)
    if not names:
        raise Problem(
            "at the top level of a cell a solution must assign a name: this one does not", line=region.begin
        )
    return [f"{name} = ..." for name in names]


def _is_prediction(source: str, found: list[Region]) -> bool:
    """Whether the cell asks for values of names only, not for a function or a class."""
    module = tree(source)
    bound = {name for r in found for name in bound_names(module, r.begin, r.end)}
    built = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = {node.name for node in ast.walk(module) if isinstance(node, built)}
    return all(isinstance(enclosing(module, r), ast.Module) for r in found) and not bound & defined


def _require_python(source: str) -> None:
    try:
        tree(source)
    except Problem as problem:
        raise Problem(
            f"with its stub the cell does not parse; is the marker's indent that of the code? {problem}"
        ) from None


def difference(target: Path, text: str, root: Path) -> str:
    """What a lab on disk has that `text` has not, readable; "" if nothing."""
    where, advice = shown(target, root), "edit the notebook in solutions/ and run `labbook derive`"
    if not target.exists():
        return f"derive: {where} is missing: run `labbook derive`\n"
    if target.read_text(encoding="utf-8") == text:
        return ""
    old, new = _source_lines(read(target, root)), _source_lines(_parsed(text))
    lines = list(difflib.unified_diff(old, new, where, "as derived from solutions/", n=2, lineterm=""))
    if not lines:
        return f"derive: {where} differs in outputs, tags or form: run `labbook derive`\n"
    return "\n".join([f"derive: {where} is not what solutions/ gives: {advice}", *lines]) + "\n"


def _parsed(text: str) -> NotebookNode:
    import nbformat

    return nbformat.reads(text, as_version=4)


def _source_lines(notebook: NotebookNode) -> list[str]:
    return [f"[{cell.id}] {line}" for cell in notebook.cells for line in cell.source.split("\n")]


def _orphans(root: Path, sources: list[Path]) -> list[Path]:
    known = {source.name for source in sources}
    return [lab for lab in sorted((root / "labs").glob("*.ipynb")) if lab.name not in known]
