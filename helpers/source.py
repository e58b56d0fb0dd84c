"""The real source of torch beside what a learner built: the lines that matter, from the installed version."""

from __future__ import annotations

import inspect
import textwrap
from html import escape
from typing import Any

from helpers.display.html import box

_CODE = "font-family:monospace;font-size:13px;line-height:1.4;white-space:pre-wrap;margin:4px 0"


class Source:
    """Lines of source code with the place that they come from; plain HTML, without script."""

    def __init__(self, title: str, lines: list[str]) -> None:
        self.title, self.text = title, textwrap.dedent("\n".join(lines)).strip("\n")

    def __str__(self) -> str:
        return f"# {self.title}\n{self.text}"

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        title, code = escape(self.title), escape(self.text, quote=False)
        inside = f"<div><em>{title}</em></div><pre style='{_CODE}'>{code}</pre>"
        return {"text/html": box(inside), "text/plain": str(self)}


def source(thing: Any, first: str = "", last: str = "") -> Source:
    """The source of a function or class, or the lines of it from `first` to `last`.

    Args:
        thing: What `inspect.getsource` takes.
        first: How the first line begins, its indent left out; the beginning if empty.
        last: How the last line begins, the first such line from there on; the end if empty.

    The installed torch may have other lines: then all of the source is shown, and that is said.
    """
    lines = inspect.getsource(thing).splitlines()
    module = inspect.getmodule(thing).__name__.replace(".", "/")
    title = f"{module}.py, {getattr(thing, '__qualname__', '')}".rstrip(", ")
    start = _line(lines, first, 0)
    stop = None if start is None else _line(lines, last, start) if last else len(lines) - 1
    if start is None or stop is None:
        return Source(f"{title}: in this version it reads differently, so here is all of it", lines)
    return Source(title, lines[start : stop + 1])


def _line(lines: list[str], begin: str, at: int) -> int | None:
    """The place of the first line from `at` on that begins so."""
    return next((n for n in range(at, len(lines)) if lines[n].strip().startswith(begin)), None)
