"""The one form in which a notebook is stored, so that its bytes change only when its contents do."""

from __future__ import annotations

import difflib
from copy import deepcopy
from itertools import groupby
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from ci.notebooks.files import Problem, notebooks, read, shown, tags, write

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET = "application/vnd.jupyter.widget-view+json"  # its model id is random, and nothing is stored behind it


def format_notebooks(root: Path, *, check: bool) -> int:
    """Bring the notebooks of solutions/ and labs/ into canonical form, or, with `check`, name those that are not."""
    errors, count = 0, 0
    for folder, solved in (("solutions", True), ("labs", False)):
        try:
            paths = notebooks(root / folder)
        except Problem as problem:
            print(f"format: {problem}")
            errors += 1
            continue
        for path in paths:
            count += 1
            try:
                errors += _formatted(path, root, solved=solved, check=check)
            except Problem as problem:
                print(f"format: {problem}")
                errors += 1
    if not errors:
        print(f"format: {count} notebooks are in canonical form")
    return int(errors > 0)


def _formatted(path: Path, root: Path, *, solved: bool, check: bool) -> bool:
    notebook = read(path, root)
    try:
        text = notebook_text(canonical(notebook, solved=solved))
    except Problem as problem:
        raise problem.placed(path=shown(path, root)) from None
    if not check:
        if write(path, text):
            print(f"format: wrote {shown(path, root)}")
        return False
    # Bytes, not text: reading as text would hide carriage returns.
    stored = path.read_bytes().decode()
    if stored == text:
        return False
    print(f"format: {shown(path, root)} is not in canonical form: run `labbook format`")
    print(first_difference(stored, text))
    return True


def first_difference(stored: str, wanted: str) -> str:
    """The first line that differs, as it is and as it should be."""
    old, new = stored.splitlines(keepends=True), wanted.splitlines(keepends=True)
    pairs = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    at, mine, right = next((i, old[i:k], new[j:m]) for tag, i, k, j, m in pairs if tag != "equal")
    stands, belongs = (repr(lines[0][:120]) if lines else "nothing" for lines in (mine, right))
    return f"  line {at + 1} is        {stands}\n  and should be {belongs}"


def notebook_text(notebook: NotebookNode) -> str:
    """The text of a notebook: sorted keys, one space of indent, plain UTF-8, a newline at the end."""
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def canonical(notebook: NotebookNode, *, solved: bool) -> NotebookNode:
    """A copy in canonical form; with `solved` outputs and execution counts are kept, else they go.

    Raises:
        Problem: a solution stores an exception; show expected errors with `helpers.waits.expects`.
    """
    tidy = deepcopy(notebook)
    tidy.metadata = nbformat.from_dict(METADATA)
    tidy.nbformat, tidy.nbformat_minor = 4, 5
    for cell in tidy.cells:
        cell.id = cell.metadata.get("title", cell.id)  # how jupytext keeps `# %% ring-allreduce`
        kept = {"tags": tags(cell)} if tags(cell) else {}
        cell.metadata = nbformat.from_dict(kept)
        cell.source = cell.source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
        if cell.cell_type != "code":
            continue
        if not solved:
            cell.outputs, cell.execution_count = [], None
            continue
        cell.outputs = canonical_outputs(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "error":
                what = f"a solution may not raise: {output.ename}: {output.evalue}"
                raise Problem(f"{what}; show an expected error with helpers.waits.expects", cell=cell.id)
            if output.output_type == "execute_result":
                output.execution_count = cell.execution_count
    return tidy


def canonical_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs without widgets, with the streams between two displays joined: stdout first, then stderr.

    A display flushes both streams, so what is printed before it and after it stays apart. How the prints in
    between fall into pieces, and which stream comes first, is a matter of timing.
    """
    tidy: list[NotebookNode] = []
    for streams, outputs_between in groupby(outputs, key=lambda output: output.output_type == "stream"):
        group = list(outputs_between)
        tidy += _joined(group) if streams else [kept for output in group if (kept := _without_widget(output))]
    return tidy


def _joined(streams: list[NotebookNode]) -> list[NotebookNode]:
    joined = []
    for name in ("stdout", "stderr"):
        text = "".join(stream.text for stream in streams if stream.name == name)
        if text:
            joined.append(nbformat.v4.new_output("stream", name=name, text=text))
    return joined


def _without_widget(output: NotebookNode) -> NotebookNode | None:
    if WIDGET not in output.get("data", {}):
        return output
    del output.data[WIDGET]
    output.metadata.pop(WIDGET, None)
    return output if output.data else None
