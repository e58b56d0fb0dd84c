"""A newer lab, merged into the learner's copy. Cells are paired by id; nbdime merges two versions of one cell.

Where both sides changed the same lines, the learner's stand. Outputs are the learner's.
"""

from __future__ import annotations

import ast
from argparse import Namespace
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field

from helpers.work.notebook import Cell, Notebook, by_id, ids, woven

RUN = ("outputs", "execution_count")  # what running a cell leaves in it


@dataclass
class Merged:
    """The merged notebook, and ids of cells: new, changed and removed by the course; `yours`, where the learner's
    lines stand against the course's; `both`, where lines of the course came in among the learner's; `kept`, which the course no longer has and the learner wrote in.
    """

    notebook: Notebook
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    yours: list[str] = field(default_factory=list)
    both: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def merge(base: Notebook, copy: Notebook, lab: Notebook) -> Merged:
    """What becomes of a learner's copy of `base` when the course has gone on to `lab`. Changes none of them."""
    base, copy, lab = deepcopy(base), deepcopy(copy), deepcopy(lab)
    _rename_doubles(copy)
    old, mine, new = by_id(base), by_id(copy), by_id(lab)
    result = Merged(copy)
    cells: dict[str, Cell] = {}
    for id, cell in mine.items():
        if id in old and id not in new and same_text(cell, old[id]):
            result.removed.append(id)
            continue
        cells[id] = cell
        if id in old and id not in new:
            result.kept.append(id)
        elif id in new and same_text(cell, new[id]) and id not in old:
            continue
        elif id in old and id in new:
            cells[id] = _merged_cell(old[id], cell, new[id])
            if not same_text(cells[id], cell):
                result.changed.append(id)
                if not same_text(cell, old[id]):
                    result.both.append(id)
        if id in new and _lacks(cells[id], old.get(id), new[id]):
            result.yours.append(id)
    result.new = [id for id in new if id not in old and id not in mine]
    cells |= {id: new[id] for id in result.new}
    copy["cells"] = [cells[id] for id in _order(base, copy, lab, cells)]
    copy["metadata"] = _merged_metadata(base, copy, lab)
    copy["nbformat_minor"] = max(part.get("nbformat_minor", 5) for part in (copy, lab))
    return result


def same_text(one: Cell, other: Cell) -> bool:
    """Whether two cells have the same kind, the same text and the same pictures in it."""
    return (
        one.get("cell_type") == other.get("cell_type")
        and one["source"].rstrip() == other["source"].rstrip()
        and (one.get("attachments") or {}) == (other.get("attachments") or {})
    )


def added_lines(before: Cell | None, after: Cell) -> Counter[str]:
    """The lines that `after` has and `before` has not."""
    lines = [line.rstrip() for line in after["source"].splitlines() if line.strip()]
    return Counter(lines) - Counter(
        line.rstrip() for line in (before["source"] if before else "").splitlines()
    )


def _merged_cell(base: Cell, mine: Cell, new: Cell) -> Cell:
    """One cell that all three have."""
    kinds = {cell.get("cell_type") for cell in (base, mine, new)}
    if new == base or (len(kinds) > 1 and not same_text(mine, base)):
        return mine
    if len(kinds) > 1:
        return new
    [merged] = _by_nbdime([_bare(cell) for cell in (base, mine, new)])
    if not same_text(mine, base) and not _is_sound(merged, mine, new):
        merged["source"] = mine["source"]
    return merged | {key: mine[key] for key in RUN if key in mine}


def _is_sound(merged: Cell, mine: Cell, new: Cell) -> bool:
    """Whether a merged text is made of whole lines of either side, and is Python if the learner's is."""
    lines = set(mine["source"].splitlines()) | set(new["source"].splitlines())
    if not set(merged["source"].splitlines()) <= lines:
        return False
    return merged.get("cell_type") != "code" or not _is_python(mine) or _is_python(merged)


def _is_python(cell: Cell) -> bool:
    try:
        ast.parse(cell["source"])
    except (SyntaxError, ValueError):
        return False
    return True


def _lacks(merged: Cell, base: Cell | None, new: Cell) -> bool:
    """Whether something that the course added to a cell is not in the merged one."""
    return bool(added_lines(base, new) - added_lines(None, merged))


def _by_nbdime(cells: list[Cell]) -> list[Cell]:
    """nbdime's merge of a cell: base, local, remote."""
    base, local, remote = ({"cells": [cell], "metadata": {}} for cell in cells)
    return _nbdime(base, local, remote)["cells"]


def _merged_metadata(base: Notebook, copy: Notebook, lab: Notebook) -> dict:
    parts = [{"cells": [], "metadata": part.get("metadata", {})} for part in (base, copy, lab)]
    return _nbdime(*parts)["metadata"]


def _nbdime(base: Notebook, local: Notebook, remote: Notebook) -> Notebook:
    import nbformat
    from nbdime.merging.notebooks import merge_notebooks

    versions = [
        nbformat.from_dict(part | {"nbformat": 4, "nbformat_minor": 5}) for part in (base, local, remote)
    ]
    options = Namespace(
        merge_strategy="use-local",
        input_strategy=None,
        output_strategy=None,
        ignore_transients=False,
        log_level="WARN",
    )
    return merge_notebooks(*versions, options)[0]


def _bare(cell: Cell) -> Cell:
    """A cell as if it had never run."""
    cell = {key: value for key, value in cell.items() if key not in RUN} | {
        "metadata": cell.get("metadata", {})
    }
    return cell | ({"outputs": [], "execution_count": None} if cell.get("cell_type") == "code" else {})


def _order(base: Notebook, copy: Notebook, lab: Notebook, cells: dict[str, Cell]) -> list[str]:
    """The course's order, with the learner's own cells where they stood; the learner's, if cells were moved."""
    old, mine, new = (ids(part) for part in (base, copy, lab))
    moved = [id for id in mine if id in old] != [id for id in old if id in mine]
    first, second = (mine, new) if moved else (new, mine)
    return [id for id in woven(first, second) if id in cells]


def _rename_doubles(notebook: Notebook) -> None:
    """Gives the second of two cells with one id an id of its own."""
    taken = set(ids(notebook))
    seen: set[str] = set()
    for cell in notebook["cells"]:
        number = 2
        while cell["id"] in seen:
            if (other := f"{cell['id'][:60]}-{number}") not in taken:
                cell["id"] = other
                taken.add(other)
            number += 1
        seen.add(cell["id"])
