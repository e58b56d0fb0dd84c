"""What is said of a kernel that fails, and its own text, made fit for a message."""

from __future__ import annotations

import re
import signal

LINES, WIDTH = 40, 300
MEMORY = "out of memory (LABBOOK_JOBS=1 runs one notebook at a time)"
DIED = f"the kernel died here: {MEMORY}, or a crash in C++?"


def ended(code: int) -> str:
    """What is said of a job that ended with an exit code, and did not say why."""
    if code == -signal.SIGKILL:
        return f"was killed: {MEMORY}, or by hand?"
    return f"ended with exit code {code}"


def hung(seconds: float) -> str:
    """What is said of a cell that took longer than it may."""
    limit = f"not done after {seconds:g} s; the kernel was stopped"
    return f"hung: {limit}. If the cell only needs longer, set LABBOOK_CELL_SECONDS"


def indented(text: str, lines: int = LINES) -> str:
    """The last lines of a text, indented, without terminal colours, cut where they are very long."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).strip()
    return "\n".join(f"    {line[:WIDTH]}" for line in plain.splitlines()[-lines:])
