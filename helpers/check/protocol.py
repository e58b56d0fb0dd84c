"""What the kernel and the process that checks an answer say to each other."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

KEPT = 16384  # characters of an answer's output that are kept
PROPERTY = "Property: "  # begins a line of the dump that says which property is tried
WHERE = getattr(signal, "SIGUSR1", 0)  # asks a child for the lines at which its threads are; Windows has none
ORPHAN = 17  # exit code of a child whose fork server died


@dataclass
class Order:
    """What a child is asked to check. exercise, answer: pickled. sources: file name -> text of the cells."""

    exercise: bytes
    answer: bytes
    seed: int
    sources: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    environ: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)


@dataclass
class Result:
    """What a check came to. found: Finding.as_dict(), or None if the answer is right.

    mistake: its name, if it is a known one. breaks: the words of the docstring that this one breaks, "" if not known.
    """

    found: dict[str, Any] | None
    mistake: str | None = None
    breaks: str = ""
    output: str = ""
    cut: bool = False
    note: str = ""
