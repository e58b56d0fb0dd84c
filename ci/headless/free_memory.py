"""How much memory is free, also inside a container, and how much some processes hold together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def available(cgroups: Path = CGROUPS, own: Path = OWN) -> int:
    """The memory that new processes may take without swapping, in bytes: the machine's, or a container's rest."""
    return max(0, min([psutil.virtual_memory().available, *_rests(cgroups, own)]))


def _rests(cgroups: Path, own: Path) -> Iterable[int]:
    """What is left in each control group that this process is in, limits further out included."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:  # not Linux
        return
    for _, controllers, inside in (line for line in lines if len(line) == 3):
        if controllers == "":
            yield from _left(cgroups, inside, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from _left(cgroups / "memory", inside, *names)


def _left(top: Path, inside: str, limit: str, usage: str, cache: str) -> Iterable[int]:
    # A container may show the path of its host: the folders that are not there are passed over.
    path = Path(inside.lstrip("/"))
    for folder in (top / path, *(top / parent for parent in path.parents)):
        try:
            most = (folder / limit).read_text().strip()
            if not most.isdigit():  # "max"
                continue
            taken = int((folder / usage).read_text())
            counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        yield int(most) - taken + int(counts.get(cache, 0))


def held(processes: Iterable[psutil.Process]) -> int:
    """The memory of these processes in bytes; what they share is counted once (on Linux)."""
    total = 0
    for process in processes:
        try:
            total += getattr(process.memory_full_info(), "pss", None) or process.memory_info().rss
        except (psutil.Error, OSError):  # gone meanwhile
            continue
    return total
