"""A series of measurements that was kept: all-reduces on a slow link of 1 ms a message and 100 MB/s, in software."""

from __future__ import annotations

import json

from helpers import paths

FILE = paths.DATA / "link_times.json"


def kept_times() -> list[tuple[str, int, int, float]]:
    """Rows (algorithm, world, nbytes, seconds); each is the median of nine runs, and of a run the slowest rank.

    Where, when and how they were measured stands in data/link_times.json beside them.
    """
    rows = json.loads(FILE.read_text(encoding="utf-8"))["rows"]
    return [(str(name), int(world), int(nbytes), float(seconds)) for name, world, nbytes, seconds in rows]
