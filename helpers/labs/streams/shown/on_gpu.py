"""What was measured on a GPU, and in one line that opens what was not."""

from __future__ import annotations

from typing import Any

from helpers.display.html import fold


class OnGpu:
    """Measurements as `helpers.recordings.measured` gives them: those without a recording in one fold, closed."""

    def __init__(self, *shown: Any) -> None:
        self._there = [one for one in shown if one.recording is not None]
        self._missing = [one for one in shown if one.recording is None]

    def __str__(self) -> str:
        return "\n".join(map(str, (*self._there, *self._missing)))

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        there, missing = (
            "".join(one._repr_mimebundle_()["text/html"] for one in some)
            for some in (self._there, self._missing)
        )
        if missing:
            names = ", ".join(one.name for one in self._missing)
            there += fold(f"Not measured on a GPU yet: {names}. What is predicted", missing)
        return {"text/html": there, "text/plain": str(self)}
