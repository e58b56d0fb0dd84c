"""The solutions of the exercises, from the notebooks in solutions/."""

from __future__ import annotations

import json

from helpers import paths
from helpers.notebook.objects import definition


def solution_source(id: str, names: tuple[str, ...]) -> str:
    """The solution of an exercise, from its notebook in solutions/; without markers.

    names: the functions and classes that it consists of.

    Raises:
        FileNotFoundError: no notebook in solutions/ holds the exercise.
    """
    number, _, name = id.partition(".")
    wanted = name.replace("_", "-")
    for path in sorted(paths.SOLUTIONS.glob(f"{number}_*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell.get("id") == wanted:
                source = "".join(cell["source"])
                lines = [
                    line
                    for line in source.splitlines()
                    if "### BEGIN SOLUTION" not in line and "### END SOLUTION" not in line
                ]
                text = "\n".join(lines)
                parts = [definition(text, part) for part in names]
                return "\n\n".join(filter(None, parts)) or text
    raise FileNotFoundError(f"no notebook in solutions/ has a cell {wanted!r} for {id}")
