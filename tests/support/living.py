"""Whether processes still live: one may end between two looks at it."""

from __future__ import annotations

import contextlib
import time

import psutil


def lives(process: psutil.Process) -> bool:
    """False for one that is gone, also if it goes while this looks, and for one that has ended and was not yet waited for."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def named(process: psutil.Process, part: str) -> bool:
    """Whether a living process has this in its name."""
    try:
        return lives(process) and part in process.name()
    except psutil.NoSuchProcess:
        return False


def carrying(text: str) -> list[int]:
    """The ids of all processes that have this text in their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(text in word for word in process.cmdline()):
                found.append(process.pid)
        except psutil.Error:  # gone, or somebody else's
            continue
    return found


def all_gone(pids: list[int], seconds: float = 60) -> bool:
    """Whether these processes end in time."""
    left = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            left.append(psutil.Process(pid))
    until = time.monotonic() + seconds
    while left and time.monotonic() < until:
        _, left = psutil.wait_procs(left, timeout=0.05)
        left = [one for one in left if lives(one)]
    return not left
