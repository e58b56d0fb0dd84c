"""Places in a notebook, in words: `Cell In[3], line 2, in f: return x`."""

from __future__ import annotations

import linecache
import re


def cell_numbers() -> dict[str, int]:
    """File name of a cell's code -> number of the cell."""
    try:
        from IPython import get_ipython

        return dict(get_ipython().compile._filename_map)
    except (ImportError, AttributeError):
        return {}


def newer_cell(file: str, name: str) -> tuple[int, int] | None:
    """Where `name` was defined, and the last cell that was to define it anew and did not; None if there is none.

    file: of the code that `name` stands for now. A cell that ran later holds such a definition, at its left
    edge (a method may have the same name), and stopped with an error.
    """
    try:
        from IPython import get_ipython

        ran = get_ipython().user_ns["In"]
    except (ImportError, AttributeError, KeyError):
        return None
    number = cell_numbers().get(file)
    definition = re.compile(rf"^(?:async\s+def|def|class)\s+{re.escape(name)}\b", re.MULTILINE)
    later = [at for at in range((number or len(ran)) + 1, len(ran)) if definition.search(ran[at])]
    return (number, later[-1]) if later else None


def cell_sources() -> dict[str, str]:
    """File name -> text of the notebook's cells, so that another process can show and inspect them."""
    return {
        file: "".join(entry[2])
        for file, entry in list(linecache.cache.items())
        if "ipykernel_" in file and len(entry) == 4
    }


def know_cells(sources: dict[str, str]) -> None:
    """In that other process: makes the cells known to tracebacks and to inspect.getsource."""
    for file, text in sources.items():
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)


def with_cell_numbers(text: str) -> str:
    """A text in which the files of cells are told as `Cell In[3]`."""
    if "ipykernel_" not in text and "<ipython-input" not in text:
        return text
    for file, number in cell_numbers().items():
        text = text.replace(file, f"Cell In[{number}]")
    return text
