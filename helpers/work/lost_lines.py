"""What a merge would lose. It knows nothing of how cells are merged, and looks at the result only."""

from __future__ import annotations

from helpers.work.merge import added_lines, same_text
from helpers.work.notebook import Cell, Notebook, by_id, ids


def faults(base: Notebook, copy: Notebook, result: Notebook) -> list[str]:
    """Why `result` may not take the place of the learner's `copy`, one sentence each; none if it may.

    Each line that the learner wrote, each cell that they added and each output of a cell that stays must still be there,
    ids be unique, and the notebook valid, if the copy was.
    """
    old, got = by_id(base), by_id(result)
    found = [] if len(got) == len(ids(result)) else ["two cells have one id"]
    for cell in copy["cells"]:
        after = got.get(cell["id"])
        if not (after and _keeps(old.get(cell["id"]), cell, after)) and not _stands_elsewhere(cell, result):
            if after or added_lines(old.get(cell["id"]), cell):
                found.append(f"something you have in the cell {cell['id']} would be lost")
    return found or (_invalid(result) if not _invalid(copy) else [])


def _keeps(base: Cell | None, cell: Cell, after: Cell) -> bool:
    return not added_lines(base, cell) - added_lines(None, after) and (
        not cell.get("outputs") or cell["outputs"] == after.get("outputs")
    )


def _stands_elsewhere(cell: Cell, result: Notebook) -> bool:
    """Whether a cell is in the result as it was, under another id."""
    return any(
        same_text(cell, other) and cell.get("outputs") == other.get("outputs") for other in result["cells"]
    )


def _invalid(notebook: Notebook) -> list[str]:
    import nbformat

    try:
        nbformat.validate(nbformat.from_dict(notebook))
    except Exception as error:  # nbformat raises several unrelated kinds
        return [f"the notebook would not be valid ({str(error).splitlines()[0]})"]
    return []
