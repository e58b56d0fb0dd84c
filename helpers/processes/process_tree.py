"""Processes together with everything that they started: how long they ran, whether they wait, their end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil

PROC = Path("/proc")  # Linux


def end_tree(pid: int) -> None:
    """Kills a process that leads a group of its own, the group, and everything below it."""
    below = _descendants(pid)
    for kill, target in [(os.killpg, pid), (os.kill, pid), *((os.kill, one) for one in below)]:
        try:
            kill(target, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def cpu_seconds(pid: int) -> float:
    """The processor time of a process and of everything below it, also of what has ended there. 0.0 where it is not known."""
    return sum(map(_own_seconds, [pid, *_descendants(pid)]))


def is_asleep(pid: int) -> bool:
    """Whether every thread of a process and of everything below it waits for something.

    A thread that wants to run and gets no core is not asleep, and neither is one that waits for the disk. Elsewhere
    than on Linux nobody tells what a thread does: True.
    """
    if not PROC.is_dir():
        return True
    try:
        return all(_state(thread) in "SZ" for one in [pid, *_descendants(pid)] for thread in _threads(one))
    except OSError:
        return False


def _own_seconds(pid: int) -> float:
    """In user and kernel mode, and that of its children that it has waited for."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system + times.children_user + times.children_system


def _threads(pid: int) -> Iterator[Path]:
    return (PROC / str(pid) / "task").iterdir()


def _state(thread: Path) -> str:
    """R runs or wants to, S sleeps, D waits for the disk, Z has ended."""
    name_and_fields = (thread / "stat").read_text(errors="replace")
    return name_and_fields.rpartition(")")[2].split()[0]  # the name may hold anything


def _descendants(pid: int) -> list[int]:
    """The processes below one; also those that left its group."""
    if not PROC.is_dir():
        return _descendants_by_psutil(pid)
    found = []
    try:
        for thread in _threads(pid):
            for child in map(int, (thread / "children").read_text().split()):
                found += [child, *_descendants(child)]
    except OSError:
        pass
    return found


def _descendants_by_psutil(pid: int) -> list[int]:
    """It reads a list of all processes of the machine: slow, and nothing quicker is there without /proc."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []
