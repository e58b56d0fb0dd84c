"""`labbook bench 02`: the learner's parallel loader (the solution's) against torch's DataLoader."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ci.bench.table import Table, row

ROUNDS, WORKERS, PREFETCH = 15, 2, 2


class Arrays:
    """Pictures in memory; a sample is one of them, scaled, with its number."""

    def __init__(self, count: int) -> None:
        import numpy as np

        self.pictures = np.random.default_rng(0).integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.pictures[index].astype("float32") / 255, index


def _data() -> dict[str, tuple[Any, int]]:
    """By name: a data set and its batch size; an epoch takes half a second or so."""
    import torch
    from torch.utils.data import ConcatDataset
    from torchvision.transforms import v2

    from helpers.digits import digits

    augment = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomAffine(degrees=10, translate=(0.1, 0.1)),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    return {
        "files: digits as PNG, RandomAffine": (ConcatDataset([digits("train", augment)] * 3), 40),
        "arrays: 3 x 32 x 32 in memory": (Arrays(12_000), 64),
    }


def _loaders(parallel_loader: Callable[..., Iterator[Any]], data: Any, size: int) -> dict[str, Callable]:
    """The two loaders by name, each as a call that makes one epoch's iterator."""
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, default_collate

    def learner() -> Iterator[Any]:
        order = BatchSampler(RandomSampler(data), size, drop_last=False)
        options = {"num_workers": WORKERS, "prefetch_factor": PREFETCH}
        return parallel_loader(data, order, default_collate, **options, worker_init_fn=None, generator=None)

    def torchs() -> Iterator[Any]:
        return iter(DataLoader(data, size, shuffle=True, num_workers=WORKERS, prefetch_factor=PREFETCH))

    return {"learner": learner, "torch": torchs}


def _seconds(epoch: Callable[[], Iterator[Any]]) -> float:
    """One whole epoch: workers are started, every batch is taken, workers end."""
    start = time.perf_counter()
    for batch in epoch():
        del batch
    return time.perf_counter() - start


@row("02", minutes=2.5)
def loaders(root: Path) -> Table:
    """Samples a second of the solution's parallel_loader and of DataLoader, measured in turn."""
    import torch

    from ci.notebooks.reference import solutions_of

    torch.set_num_threads(1)
    solution = solutions_of(root, "02")["02.parallel_loader"]
    table = Table(
        "02: parallel_loader (solution) against torch's DataLoader",
        ["data", "learner samples/s", "torch samples/s", "learner / torch %", "smallest", "largest"],
        note=f"{ROUNDS} pairs of epochs in turn, {WORKERS} workers, prefetch_factor {PREFETCH}, start and end of "
        "the workers included; medians. The ratio is the median of the pairs' ratios.",
    )
    for name, (data, size) in _data().items():
        both = _loaders(solution, data, size)
        taken: dict[str, list[float]] = {who: [] for who in both}
        for turn in range(ROUNDS + 1):
            for who in sorted(both, reverse=bool(turn % 2)):
                taken[who].append(_seconds(both[who]))
        learner, torchs = taken["learner"][1:], taken["torch"][1:]  # the first pair warms up
        ratios = sorted(theirs / ours for ours, theirs in zip(learner, torchs, strict=True))
        speeds = (round(len(data) / statistics.median(times)) for times in (learner, torchs))
        shown = (statistics.median(ratios), ratios[0], ratios[-1])
        table.lines.append([name, *speeds, *(round(ratio * 100, 1) for ratio in shown)])
    return table
