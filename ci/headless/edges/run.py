"""A solution run with probes in its kernel: which of its printed numbers stand near an edge, and which no probe saw."""

from __future__ import annotations

import ast
import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ci.headless import child
from ci.headless.client import Watch, client_for
from ci.headless.edges.wrapping import answers
from ci.headless.kernels import has_gpu
from ci.headless.stored import sanitized
from ci.notebooks.canonical import canonical_outputs
from ci.notebooks.files import is_run, read, shown, tags, without_outputs

QUOTED = {".check(": "exercises/{}.json", "then_and_now(": "facts/{}.yaml"}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+|(?= ?%))(?![\w.]*\.\d)")


@dataclass
class Cell:
    """One cell that ran: what it shows in text, and what the probes noted meanwhile."""

    id: str
    source: str
    compared: bool
    text: str
    notes: list[dict[str, Any]] = field(default_factory=list)


def edges(path: Path, root: Path) -> dict[str, Any]:
    """Run one solution with probes.

    Returns:
        How many texts of numbers the probes saw, those that a slightly other number would change, the numbers that
        no probe saw by cell, and the cells that show something else than what is stored.

    Raises:
        Problem: a cell raises, or the kernel dies.
    """
    stored = {cell.id: shown_text(cell) for cell in read(path, root).cells if is_run(cell)}
    cells = executed(path, root)
    compared = [cell for cell in cells if cell.compared]
    return {
        "cells": len(cells),
        "probed": sum(len(cell.notes) for cell in compared),
        "found": found(cells),
        "unseen": unseen(cells, quotes(path, root)),
        "changed": [cell.id for cell in compared if cell.text != stored[cell.id]],
    }


def executed(path: Path, root: Path) -> list[Cell]:
    """Run a solution with probes; no file of it is written."""
    notebook = without_outputs(read(path, root))
    watch = Watch(notebook, shown(path, root))
    client = client_for(notebook, path, watch)
    run = [cell for cell in notebook.cells if is_run(cell)]
    cells = []
    with (
        tempfile.TemporaryDirectory(prefix="edges-", dir=child.folder()) as folder,
        watch.explained(),
        client.setup_kernel(),
    ):
        notes = Notes(Path(folder) / "notes")
        _install(client, notes.file, run)
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
            if is_run(cell):
                cells.append(Cell(cell.id, cell.source, is_compared(cell), shown_text(cell), notes.new()))
    return cells


def _install(client: Any, file: Path, cells: Sequence[NotebookNode]) -> None:
    """Put the probes into the kernel, by a cell that is not counted and leaves no name behind."""
    given = str(file), [cell.id for cell in cells], answers(cell.source for cell in cells)
    source = f"__import__('ci.headless.edges.wrapping').headless.edges.wrapping.install(*{given!r})"
    hook, client.on_cell_execute = client.on_cell_execute, None
    client.nb.cells.append(new_code_cell(source))
    try:
        client.execute_cell(client.nb.cells[-1], len(client.nb.cells) - 1, store_history=False)
    finally:
        client.nb.cells.pop()
        client.on_cell_execute = hook


class Notes:
    """The file to which the probes add, read as it grows."""

    def __init__(self, file: Path) -> None:
        self.file, self.read = file, 0

    def new(self) -> list[dict[str, Any]]:
        """What was noted since the last look."""
        if not self.file.exists():
            return []
        with open(self.file, "rb") as file:
            file.seek(self.read)
            lines = file.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self.read += len(whole)
        return [json.loads(line) for line in whole.splitlines()]


def is_compared(cell: NotebookNode) -> bool:
    """Whether `labbook validate` compares this cell's text, here or on a machine with a GPU."""
    return "volatile" not in tags(cell) and not ("gpu" in tags(cell) and has_gpu())


def shown_text(cell: NotebookNode) -> str:
    """What is compared of a cell's outputs as text, as it is stored."""
    messages = []
    for output in canonical_outputs(cell.outputs):
        values = [output.get("text", ""), *output.get("data", {}).items()]
        messages += [value if isinstance(value, str) else value[1] for value in values if _is_text(value)]
    return sanitized("\n".join(messages))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (value[0].startswith("text/") and isinstance(value[1], str))


def found(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The notes of texts that another number would change, if they are shown: in their cell, or in a later one.

    What round() gives counts wherever it is shown, since it may be printed in another form. What is formatted and never
    shown as text, as on the axis of a picture or in the message of an answer that a check tries, does not.
    """
    result, later = [], ""
    for cell in reversed(cells):
        later = plain(cell.text) + "\n" + later if cell.compared else later
        for note in reversed(cell.notes):
            text = note["text"].strip()
            is_shown = text in later or "round(" in note["place"][2]
            if note["others"] and is_shown and (cell.compared or text in later):
                result.append({"cell": cell.id, **note})
    return result[::-1]


def plain(text: str) -> str:
    """A text without the marks of HTML."""
    return unescape(re.sub(r"<[^>]*>", " ", text)) if "<" in text else text


def quotes(path: Path, root: Path) -> dict[str, set[str]]:
    """By the call that shows them: numbers that a cell quotes from the lab's files, where people or tests wrote them."""
    found = {}
    for call, file in QUOTED.items():
        place = root / "data" / file.format(path.stem)
        found[call] = numbers(place.read_text(encoding="utf-8")) if place.is_file() else set()
    return found


def unseen(
    cells: Iterable[Cell], quoted: Mapping[str, set[str]] = MappingProxyType({})
) -> dict[str, list[str]]:
    """By cell, the numbers in its text that no probe saw, here or before, that are not in its code, nor quoted."""
    seen: set[str] = set()
    result = {}
    for cell in cells:
        for note in cell.notes:
            seen |= numbers(note["text"])
        known = seen.union(literals(cell.source), *(quoted[call] for call in quoted if call in cell.source))
        if cell.compared and (left := sorted(numbers(plain(cell.text)) - known)):
            result[cell.id] = left
    return result


def numbers(text: str) -> set[str]:
    """The numbers in a text that have a fraction, an exponent or a sign for percent, without their sign."""
    return {match.group().lstrip("-") for match in NUMBER.finditer(text)}


def literals(source: str) -> set[str]:
    """The numbers in a cell's code and strings."""
    try:
        constants = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    except SyntaxError:
        return set()
    return set().union(*(numbers(str(value)) for value in constants))
