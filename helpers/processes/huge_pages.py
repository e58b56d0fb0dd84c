"""Large pages for what a process holds, so that its forks are cheap.

A fork copies the table of all pages that its parent has written to: with torch in memory some 100,000 entries of 4 kB,
which is most of what a small check costs. In pages of 2 MB they are some 200, and a child still copies 4 kB where it writes.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

SIZE = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")  # in bytes; 2 MB on x86, not on every ARM
MADV_COLLAPSE = 25  # Linux 6.1 and newer; an older one refuses it
WORTH_IT = 40  # forks of a process with torch: each takes 15 ms less in large pages, to make them takes 0.7 s


def collapse_before_fork(number: int) -> None:
    """Moves the memory of this process into large pages when it is about to fork for the `number`-th time.

    A process that forks seldom never gets there, and a fork of it does not count.
    """
    here, forks = os.getpid(), 0

    def count() -> None:
        nonlocal forks
        forks += 1
        if forks == number and os.getpid() == here:
            collapse()

    os.register_at_fork(before=count)


def collapse() -> int:
    """Moves the private memory of this process into large pages, where the system can. Returns how many it made.

    It takes half a second for 400 MB. Nothing else changes; where there are no such pages, nothing does.
    """
    try:
        size = int(SIZE.read_text())
    except (OSError, ValueError):
        return 0
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return sum(advise(start, size, MADV_COLLAPSE) == 0 for start in list(_starts(size)))


def _starts(size: int) -> Iterator[int]:
    """Where each whole large page of private, anonymous memory that may be written to would begin."""
    try:
        with open("/proc/self/maps") as maps:
            lines = [line.split() for line in maps]
    except OSError:
        return
    for span, rights, _, _, _, *name in lines:
        if rights.startswith("rw") and rights.endswith("p") and name in ([], ["[heap]"]):
            low, high = (int(end, 16) for end in span.split("-"))
            yield from range(-(-low // size) * size, high - size + 1, size)
