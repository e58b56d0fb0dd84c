"""What is said of a kernel that fails, and its own text, made fit for a message."""

from __future__ import annotations

import re

LINES, WIDTH = 40, 300
DIED = "the kernel died here: out of memory (LABBOOK_JOBS=1 runs one notebook at a time), or a crash in C++?"


def hung(seconds: float) -> str:
    """What is said of a cell that took longer than it may."""
    limit = f"not done after {seconds:g} s; the kernel was stopped"
    return f"hung: {limit}. If the cell only needs longer, set LABBOOK_CELL_SECONDS"


def indented(text: str, lines: int = LINES) -> str:
    """The last lines of a text, indented, without terminal colours, cut where they are very long."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).strip()
    return "\n".join(f"    {line[:WIDTH]}" for line in plain.splitlines()[-lines:])
