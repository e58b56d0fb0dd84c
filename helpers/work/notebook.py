"""A notebook as plain data: what of it is read, and how it is written back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

CHECK = "-check"  # a cell `conv2d-check` below a cell `conv2d` makes the exercise, or prediction, 03.conv2d
Cell = dict[str, Any]
Notebook = dict[str, Any]


class Unreadable(Exception):
    """The message says what is wrong with the file: "it is not valid JSON (line 3)"."""


def parsed(text: bytes) -> Notebook:
    """The notebook in a file. Sources are strings with line feeds, however they were stored.

    Raises:
        Unreadable: it is no JSON, no notebook, or has cells without ids.
    """
    try:
        notebook = json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"it is not valid JSON (line {error.lineno})") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # a number of thousands of digits, brackets in brackets in ...
        raise Unreadable(f"it cannot be read as JSON ({error})") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not isinstance(notebook.get("metadata", {}), dict):
        raise Unreadable("it is not a notebook: it has no list of cells")
    if not isinstance(notebook.get("nbformat_minor", 5), int):
        raise Unreadable("its nbformat_minor is no number")
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or not isinstance(cell.get("id"), str):
            raise Unreadable(f"its cell {number} has no id")
        cell["source"] = _joined(cell.get("source", ""), number)
    return notebook


def dumped(notebook: Notebook) -> bytes:
    """The notebook as JupyterLab writes it: sources as lists of lines."""
    cells = [cell | {"source": cell["source"].splitlines(keepends=True)} for cell in notebook["cells"]]
    try:
        return (json.dumps(notebook | {"cells": cells}, indent=1, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half of an emoji: JSON can say it, UTF-8 cannot
        return (json.dumps(notebook | {"cells": cells}, indent=1) + "\n").encode()


def ids(notebook: Notebook) -> list[str]:
    """The ids of its cells, in order."""
    return [cell["id"] for cell in notebook["cells"]]


def by_id(notebook: Notebook) -> dict[str, Cell]:
    """Its cells by id, in order."""
    return {cell["id"]: cell for cell in notebook["cells"]}


def woven(order: Sequence[str], other: Sequence[str]) -> list[str]:
    """`order`, with each id that only `other` has behind the one that it follows there.

    woven("ace", "abcd") is "abcde".
    """
    result, last = list(order), None
    for id in other:
        if id not in result:
            result.insert(result.index(last) + 1 if last else 0, id)
        last = id
    return result


def _joined(source: Any, number: int) -> str:
    lines = source if isinstance(source, list) else [source]
    if not all(isinstance(line, str) for line in lines):
        raise Unreadable(f"the text of its cell {number} is damaged")
    return "".join(lines).replace("\r\n", "\n")
