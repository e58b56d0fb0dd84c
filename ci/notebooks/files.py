"""Finding, reading and writing notebooks, with errors told in one line."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.files import put

if TYPE_CHECKING:
    from nbformat import NotebookNode

STEM = re.compile(r"(\d\d)_[a-z0-9_]+")
PAGE = "00"  # the start page: it runs like a lab and has no exercises


class Problem(Exception):
    """A error that a person can mend, told in one line: where, what, what to do."""

    def __init__(self, what: str, *, path: Path | str = "", cell: str = "", line: int | None = None):
        self.what, self.path, self.cell, self.line = what, str(path), cell, line
        places = [self.path, f"cell {cell}" if cell else "", f"line {line}" if line else ""]
        place = ", ".join(filter(None, places))
        super().__init__(f"{place}: {what}" if place else what)

    def placed(self, *, path: Path | str = "", cell: str = "") -> Problem:
        """The same error, with the places that are known further out added."""
        return Problem(self.what, path=self.path or path, cell=self.cell or cell, line=self.line)


class WrongUse(Problem):
    """A command was given something that does not exist: exit code 2."""


def shown(path: Path, root: Path) -> str:
    """The path as people name it: from the project's root where it lies inside."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def number(path: Path) -> str:
    """The lab's number, two digits: `01` of `01_reproducibility.ipynb`."""
    match = STEM.fullmatch(path.stem)
    if not match:
        raise Problem("a notebook's name is NN_topic.ipynb: two digits, then small letters", path=path.name)
    return match.group(1)


def notebooks(folder: Path, labs: Sequence[str] = ()) -> list[Path]:
    """The notebooks of a folder in order; only those of the named labs, if any are named.

    Raises:
        WrongUse: a named lab is not there.
        Problem: the folder holds no notebook, or two of one number.
    """
    found = {}
    for path in sorted(folder.glob("*.ipynb")):
        if number(path) in found:
            raise Problem(
                f"{found[number(path)].name} and {path.name} have the same number", path=folder.name
            )
        found[number(path)] = path
    if not found:
        raise Problem("there is no notebook here", path=f"{folder.name}/")
    wanted = list(dict.fromkeys(lab.zfill(2) for lab in labs)) or list(found)
    unknown = [lab for lab in wanted if lab not in found]
    if unknown:
        raise WrongUse(f"no lab {', '.join(unknown)} in {folder.name}/: there are {', '.join(found)}")
    return [found[lab] for lab in sorted(wanted)]


def read(path: Path, root: Path) -> NotebookNode:
    """The notebook in a file.

    Raises:
        Problem: the file is not there, is no JSON, is no notebook of format 4.5, or two cells share an id.
    """
    where = shown(path, root)
    try:
        text = path.read_text(encoding="utf-8")
        raw = json.loads(text)
    except FileNotFoundError:
        raise Problem("this notebook is not there", path=where) from None
    except UnicodeDecodeError as error:
        raise Problem(f"this file is not UTF-8 ({error.reason} at byte {error.start})", path=where) from None
    except json.JSONDecodeError as error:
        conflict = "; it holds git's conflict marks" if re.search(r"(?m)^(<<<<<<<|>>>>>>>)", text) else ""
        raise Problem(
            f"this is not valid JSON: {error.msg}{conflict}", path=where, line=error.lineno
        ) from None
    if not isinstance(raw, dict) or not isinstance(raw.get("cells"), list):
        raise Problem("this is not a notebook: it has no list of cells", path=where)
    _require_ids(raw["cells"], where)
    if (raw.get("nbformat"), raw.get("nbformat_minor", 0)) < (4, 5):
        raise Problem("the notebook is older than format 4.5: save it once in JupyterLab", path=where)
    import nbformat  # takes longer than all else that a command imports

    try:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # nbformat raises several unrelated kinds
        raise Problem(f"this is not a valid notebook: {str(error).splitlines()[0]}", path=where) from None
    return notebook


def _require_ids(cells: list[dict], where: str) -> None:
    seen = set()
    for index, cell in enumerate(cells, 1):
        name = cell.get("id") if isinstance(cell, dict) else None
        if not name:
            raise Problem(
                f"cell {index} of {len(cells)} has no id: give it one that says what it is", path=where
            )
        if name in seen:
            raise Problem("two cells have this id: rename one", path=where, cell=name)
        seen.add(name)


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return list(cell.metadata.get("tags", []))


def is_run(cell: NotebookNode) -> bool:
    """Whether a kernel executes this cell: code that is not empty."""
    return cell.cell_type == "code" and bool(cell.source.strip())


def texts(outputs: Sequence[NotebookNode]) -> list[str]:
    """What a cell's outputs say in plain text: streams and text/plain, in order."""
    messages = []
    for output in outputs:
        if output.output_type == "stream":
            messages.append(output.text)
        elif "text/plain" in output.get("data", {}):
            messages.append(output.data["text/plain"])
    return messages


def without_outputs(notebook: NotebookNode) -> NotebookNode:
    """The same notebook, its outputs and execution counts taken out."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def write(path: Path, text: str) -> bool:
    """Replace a file at once or not at all; says whether anything changed.

    Raises:
        Problem: it cannot be written; the old file is as it was.
    """
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    try:
        put(path, text)
    except OSError as error:
        what = f"could not be written, and is as it was: {reason(error)}"
        raise Problem(what, path=f"{path.parent.name}/{path.name}") from None
    return True


def reason(error: OSError) -> str:
    """What the system refused, with the fix where there is one."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full: make room and run again"
    return f"{error.strerror or error} ({error.filename})" if error.filename else str(error)
