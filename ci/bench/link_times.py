"""Measures all-reduces on the slow link and keeps the times: `python -m ci.bench.link_times` writes data/link_times.json.

About a minute and a half, mostly slept. To be run on a machine that does nothing else.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import sys

import torch

from ci.bench.rows.ranks import ALPHA, BETA, Algorithm, reductions, slowest
from ci.notebooks.reference import solutions_of
from helpers import paths, ranks

WAYS = {"naive": "naive_allreduce", "ring": "ring_allreduce", "tree": "tree_allreduce"}
WORLDS, SIZES, TURNS = (2, 4, 8), tuple(1 << power for power in (16, 18, 20, 22, 24)), 9


def rows(ways: dict[str, Algorithm]) -> list[list[str | int | float]]:
    """(way, ranks, bytes, seconds) of each; the median of the turns, of each turn the slowest rank."""
    link, found = ranks.Link(alpha=ALPHA, beta=BETA), []
    for world in WORLDS:
        for nbytes in SIZES:
            run = ranks.run(reductions, ways, nbytes, TURNS, ranks=world, link=link, timeout=300)
            turns = slowest(list(run))
            found += [
                [way, world, nbytes, round(statistics.median(t[way] for t in turns), 6)] for way in ways
            ]
            print(*found[-len(ways) :], sep="\n", flush=True)
    return found


def main() -> None:
    lab = solutions_of(paths.ROOT, "08")
    ways = {way: lab[f"08.{name}"] for way, name in WAYS.items()}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    kept = {
        "about": f"Seconds of all-reduces on a slow link in software, helpers.ranks.Link(alpha={ALPHA}, beta={BETA}): 1 ms "
        "a message, 100 MB/s in each direction. Rows: algorithm, ranks, bytes of the vector, seconds.",
        "how": f"python -m ci.bench.link_times: processes over gloo; naive, ring and tree as the solution of lab 08 has them, in "
        f"turn, a barrier before each. A row is the median of {TURNS} turns, and of a turn the slowest rank.",
        "machine": f"{os.cpu_count()} cores ({platform.machine()}), load average {load:.1f} before it; "
        f"{platform.system()}; Python {platform.python_version()}; torch {torch.__version__.partition('+')[0]}",
        "date": datetime.date.today().isoformat(),
        "rows": rows(ways),
    }
    lines = ",\n  ".join(json.dumps(row) for row in kept["rows"])
    head = json.dumps({key: value for key, value in kept.items() if key != "rows"}, indent=1)
    text = head.removesuffix("\n}") + f',\n "rows": [\n  {lines}\n ]\n}}\n'
    assert json.loads(text) == kept
    (paths.ROOT / "data" / "link_times.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
