"""Ends processes together with everything that they started."""

from __future__ import annotations

import os
import signal


def end_tree(pid: int) -> None:
    """Kills a process that leads a group of its own, the group, and everything below it."""
    below = _descendants(pid)
    for kill, target in [(os.killpg, pid), (os.kill, pid), *((os.kill, one) for one in below)]:
        try:
            kill(target, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _descendants(pid: int) -> list[int]:
    """The processes below one, on Linux; also those that left its group."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *_descendants(child)]
    except OSError:
        pass
    return found
