"""The list of labs on the learner's start page: drawn before it is opened, so that nothing need be run to read it."""

from __future__ import annotations

from pathlib import Path

from helpers.work.notebook import Notebook, dumped, parsed
from helpers.work.opened import opened
from helpers.work.writing import swap

START = "00_start.ipynb"
LIST = "list-of-labs"  # the cell of the start page that lists the labs


def draw(page: Notebook) -> bool:
    """Puts the list as it is now under its cell. Says whether that changed anything."""
    from helpers.start import course

    cell = next((cell for cell in page["cells"] if cell["id"] == LIST), None)
    if cell is None:
        return False
    try:
        listed = course()
        data = {"text/plain": str(listed), "text/html": listed._repr_html_()}
    except Exception:
        # Whatever is wrong with the course's files, JupyterLab starts all the same, and the cell shows the error.
        return False
    before = cell.get("outputs")
    cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    return cell["outputs"] != before


def redraw(work: Path) -> None:
    """Draws the list anew in the learner's start page, and changes nothing else in it.

    Not while it is open. Whatever goes wrong, the page is as it was: it can still be run by hand.
    """
    try:
        path = work / START
        seen = path.read_bytes()
        page = parsed(seen)
        if not opened(work).refusal(START, "") and draw(page):
            swap(path, dumped(page), seen)
    except Exception:
        return
