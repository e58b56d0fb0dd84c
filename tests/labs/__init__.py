"""Right answers of every exercise, in different shapes: tests/labs/<lab>/<exercise>.py has a list RIGHT."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any


def right_answers(id: str) -> list[Any]:
    """What `check` must accept for the exercise `id`, `03.square`; none where nobody has written any."""
    number, _, name = id.partition(".")
    for path in Path(__file__).parent.glob(f"{number}_*/{name}.py"):
        return importlib.import_module(f"{__name__}.{path.parent.name}.{name}").RIGHT
    return []
