"""The clockwork of the slow link: when a port is busy, what a collective costs, and the board of starting times.

All of it is arithmetic on seconds of `time.monotonic()`, a clock that all processes of a machine share; nothing
here sleeps or looks at a clock.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import struct
from bisect import bisect_right
from pathlib import Path


class Port:
    """One direction of a rank's link: one transfer at a time, each in the first gap that is long enough.

    A transfer that was waited for late had gone on behind the caller's back, so a gap may lie in the past.
    """

    def __init__(self) -> None:
        self.busy: list[tuple[float, float]] = []  # begin, end; in order, apart from one another

    def first_gap(self, ready: float, seconds: float) -> float:
        """The earliest start, not before `ready`, of a transfer of so many seconds."""
        begin = ready
        for start, end in self.busy[max(0, bisect_right(self.busy, (ready, math.inf)) - 1) :]:
            if begin + seconds <= start:
                break
            begin = max(begin, end)
        return begin

    def book(self, begin: float, seconds: float) -> float:
        """Takes the port from `begin` on; the moment when it is free again."""
        end = begin + seconds
        if seconds > 0:
            place = bisect_right(self.busy, (begin, math.inf))
            joined = [(begin, end)]
            if place and self.busy[place - 1][1] >= begin:  # it touches the one before
                place -= 1
                joined.append(self.busy.pop(place))
            if place < len(self.busy) and self.busy[place][0] <= end:  # it touches the one behind
                joined.append(self.busy.pop(place))
            self.busy.insert(place, (min(start for start, _ in joined), max(stop for _, stop in joined)))
        return end

    def take(self, ready: float, seconds: float) -> float:
        """Books the first gap; the moment when the transfer is over."""
        return self.book(self.first_gap(ready, seconds), seconds)


def collective_seconds(name: str, sizes: list[int], world: int, alpha: float, beta: float) -> float:
    """What a collective costs each rank. sizes: bytes of each of its arguments that are tensors, on this rank.

    all_reduce is a ring, 2(N-1)(alpha + n beta / N); all_gather, reduce_scatter and all_to_all are half of
    one; gather and scatter are N-1 messages through the root's port; broadcast and reduce are a tree of
    ceil(log2 N) whole messages; a barrier is ceil(log2 N) empty ones.
    """
    if world == 1:
        return 0.0
    whole, part = max(sizes, default=0), min((size for size in sizes if size), default=0)
    steps, levels = world - 1, math.ceil(math.log2(world))
    if name == "all_reduce":
        return 2 * steps * (alpha + whole * beta / world)
    if name in ("gather", "scatter"):
        return steps * (alpha + part * beta)
    if name in ("broadcast", "reduce"):
        return levels * (alpha + whole * beta)
    if name == "barrier":
        return levels * alpha
    return steps * (alpha + whole * beta / world)


class Board:
    """A table in a shared file where a sender notes when its message starts, and the receiver looks.

    A note is (8 bytes of a hash of its key, the moment). Two notes that are alive at once and fall on one
    slot, which is rare among so many slots, cost one of them: then `read` gives None.
    """

    SLOTS, NOTE = 1 << 16, struct.Struct("<8sd")

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self.notes = mmap.mmap(file.fileno(), self.SLOTS * self.NOTE.size)

    @classmethod
    def make(cls, path: Path) -> None:
        """An empty board in a new file."""
        with path.open("xb") as file:
            file.truncate(cls.SLOTS * cls.NOTE.size)

    def write(self, key: tuple[object, ...], moment: float) -> None:
        name, place = self._place(key)
        self.NOTE.pack_into(self.notes, place, name, moment)

    def read(self, key: tuple[object, ...]) -> float | None:
        name, place = self._place(key)
        found, moment = self.NOTE.unpack_from(self.notes, place)
        return moment if found == name else None

    def _place(self, key: tuple[object, ...]) -> tuple[bytes, int]:
        name = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
        return name, int.from_bytes(name[:4], "little") % self.SLOTS * self.NOTE.size
