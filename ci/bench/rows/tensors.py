"""Row 11 of `labbook bench`: what a view costs, and what the copy costs that a layout forces, in one run."""

from __future__ import annotations

from pathlib import Path

import torch

from ci.bench.table import Table, row
from ci.bench.timing.rounds import beside_torch, one_thread
from ci.notebooks.reference import solutions_of

ROUNDS = 31
SIDE = 1024


@row("11", minutes=0.1)
def tensors(root: Path) -> Table:
    """Own `reshape` (the solution's) and torch's, where there is a view and where there is none; `view_strides` alone."""
    solved = solutions_of(root, "11")
    own, strides = solved["11.reshape"], solved["11.view_strides"]
    x = torch.randn(SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    flat = (SIDE * SIDE,)
    table = Table(
        "11: own reshape beside torch's, one thread, 1024 x 1024 float32",
        ["to one dimension", "own us", "torch us", "own / torch"],
        note=f"Medians of {ROUNDS} rounds in turn. The last line: `view_strides` beside `view`.",
    )
    pairs = {
        "a view": {"own": lambda: own(x, flat), "torch": lambda: x.reshape(flat)},
        "a copy of the transposed": {"own": lambda: own(x.T, flat), "torch": lambda: x.T.reshape(flat)},
        "the numbers alone": {
            "own": lambda: strides((SIDE, SIDE), (SIDE, 1), flat),
            "torch": lambda: x.view(flat),
        },
    }
    with one_thread():
        table.lines += beside_torch(pairs, ROUNDS)
    return table
