"""Which processes carry a mark in their environment: whatever a test started, children of children included."""

from __future__ import annotations

import time
from pathlib import Path

MARK = "LABBOOK_TEST_MARK"


def marked(mark: str) -> list[int]:
    """The living processes whose MARK is this; on Linux only, elsewhere none are seen."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment.split(b"\0") and state != "Z":
            found.append(int(folder.name))
    return found


def left_after(mark: str, seconds: float, but: tuple[int, ...] = ()) -> list[int]:
    """The processes that are there still when so much time has passed; comes back as soon as there is none."""
    end = time.monotonic() + seconds
    while (left := [pid for pid in marked(mark) if pid not in but]) and time.monotonic() < end:
        time.sleep(0.05)
    return left
