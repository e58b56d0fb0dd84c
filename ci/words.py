"""Text from kernels, made fit for a message."""

from __future__ import annotations

import re

LINES, WIDTH = 40, 300


def indented(text: str, lines: int = LINES) -> str:
    """The last lines of a text, indented, without terminal colours, cut where they are very long."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).strip()
    return "\n".join(f"    {line[:WIDTH]}" for line in plain.splitlines()[-lines:])
