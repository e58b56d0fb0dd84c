"""What of a fresh run is stored: rules that keep the bytes of a notebook while nothing in it changed."""

from __future__ import annotations

import base64
import io
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode

from ci.headless.kernels import has_gpu
from ci.notebooks.canonical import canonical, notebook_text
from ci.notebooks.files import Problem, tags

if TYPE_CHECKING:
    import numpy as np

SANITIZER = Path(__file__).with_name("sanitize.cfg")  # what nbval leaves out when it compares
CHANGES = "changes from run to run\n"

# Root mean square over all pixels and channels, 0 to 255, as matplotlib.testing.compare has it. Measured on a line
# plot: one digit of a label moves it by 1.4 at 6.4 x 4.8 inches and 0.7 at 12 x 9; noise of 1e-5 in the data by 0.03.
PICTURE_TOLERANCE = 0.2


@cache
def sanitizers() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The rules of sanitize.cfg, in order."""
    text = SANITIZER.read_text(encoding="utf-8")
    found = re.findall(r"^regex: (.*)\nreplace: (.*)$", text, flags=re.MULTILINE)
    return tuple((re.compile(regex), replace) for regex, replace in found)


def sanitized(text: str) -> str:
    """A text with addresses and the like replaced."""
    for regex, replace in sanitizers():
        text = regex.sub(replace, text)
    return text


def as_stored(fresh: NotebookNode, stored: NotebookNode, root: Path) -> tuple[str, NotebookNode]:
    """The text to store for a fresh run of the notebook that is `stored` now, and the notebook in it.

    Raises:
        Problem: a cell raised, or shows a path of this machine.
    """
    kept = deepcopy(stored)
    ran = canonical(fresh, solved=True)
    results = {cell.id: cell for cell in ran.cells}
    for cell in kept.cells:
        if cell.cell_type != "code":
            continue
        result = results[cell.id]
        cell.execution_count = result.execution_count
        if not ("gpu" in tags(cell) and cell.outputs and not has_gpu()):
            cell.outputs = _outputs(result, cell.outputs)
        _require_no_path(cell, root)
    kept = canonical(kept, solved=True)
    return notebook_text(kept), kept


def changes(fresh: NotebookNode, stored: NotebookNode) -> dict[str, tuple[str, str]]:
    """By the id of each cell that shows something else than what is stored: its texts in the run, and those stored.

    Args:
        fresh: A run, as `as_stored` gives it.
        stored: The notebook that is stored now. Where the two texts are the same, a picture looks different.
    """
    pairs = zip(fresh.cells, canonical(stored, solved=True).cells, strict=True)
    return {
        cell.id: (_texts(cell.outputs), _texts(before.outputs))
        for cell, before in pairs
        if cell.cell_type == "code" and cell.outputs != before.outputs
    }


def _texts(outputs: list[NotebookNode]) -> str:
    """All that is no picture in outputs, as one text."""
    parts = [output.get("text", "") for output in outputs]
    parts += [
        str(value)
        for output in outputs
        for kind, value in output.get("data", {}).items()
        if not kind.startswith("image/")
    ]
    return "\n".join(parts)


def _outputs(fresh: NotebookNode, stored: list[NotebookNode]) -> list[NotebookNode]:
    if "volatile" in tags(fresh):
        return volatile_outputs(fresh.outputs, stored, recorded="recorded" in tags(fresh))
    for output in fresh.outputs:
        if output.output_type == "stream":
            output.text = sanitized(output.text)
        for kind, value in output.get("data", {}).items():
            if kind.startswith("text/") and isinstance(value, str):
                output.data[kind] = sanitized(value)
    return with_stored_pictures(fresh.outputs, stored)


def volatile_outputs(
    fresh: list[NotebookNode], stored: list[NotebookNode], *, recorded: bool
) -> list[NotebookNode]:
    """One line for all that changes; pictures stay only where they are drawn from a recording."""
    pictures = [output for output in fresh if recorded and "image/png" in output.get("data", {})]
    line = nbformat.v4.new_output("stream", name="stdout", text=CHANGES)
    return [line] * (len(pictures) < len(fresh)) + with_stored_pictures(pictures, stored)


def with_stored_pictures(fresh: list[NotebookNode], stored: list[NotebookNode]) -> list[NotebookNode]:
    """The fresh outputs, with the stored bytes of each picture that still looks the same."""
    new, old = ([o for o in outputs if "image/png" in o.get("data", {})] for outputs in (fresh, stored))
    for picture, before in zip(new, old, strict=False):
        if looks_same(picture.data["image/png"], before.data["image/png"]):
            picture.data["image/png"] = before.data["image/png"]
    return fresh


def looks_same(one: str, other: str) -> bool:
    """Whether two PNG pictures, in base64, differ by no more than the tolerance."""
    if one == other:
        return True
    import numpy as np

    first, second = _pixels(one), _pixels(other)
    if first is None or second is None or first.shape != second.shape:
        return False
    return float(np.sqrt(np.mean((first - second) ** 2))) <= PICTURE_TOLERANCE


def _pixels(picture: str) -> np.ndarray | None:
    import numpy as np
    from PIL import Image

    try:
        with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
            return np.asarray(image.convert("RGBA"), dtype=np.float64)
    except (OSError, ValueError):  # a stored picture that is damaged: the fresh one replaces it
        return None


def _require_no_path(cell: NotebookNode, root: Path) -> None:
    here = re.compile(rf"{re.escape(str(root))}(?![\w.-])")
    for output in cell.outputs:
        values = [output.get("text", ""), *output.get("data", {}).values()]
        if any(isinstance(value, str) and here.search(value) for value in values):
            raise Problem(
                "the output holds a path of this machine: print it from the project's root", cell=cell.id
            )
