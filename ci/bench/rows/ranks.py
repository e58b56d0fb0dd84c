"""`labbook bench ranks`: the solutions of labs 07 and 08 beside torch's own, and what `ranks.run` costs.

Two ways of doing the same are measured in turn, in one process group; of each round the slowest rank counts.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from ci.bench.table import Table, row

ALPHA, BETA = 1e-3, 1e-8  # the slow link: 1 ms a message, 100 MB a second
MB = 1_000_000
Algorithm = Callable[[torch.Tensor, int, int], Any]
Rounds = list[dict[str, float]]  # of one rank, or of the slowest one: seconds by name


def in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> Rounds:
    """On each rank: the seconds of every call, round after round; the first round warms up."""
    measured: Rounds = []
    for turn in range(rounds + 1):
        measured.append({})
        for name in sorted(calls, reverse=bool(turn % 2)):
            dist.barrier()
            start = time.perf_counter()
            calls[name]()
            measured[-1][name] = time.perf_counter() - start
    return measured[1:]


def slowest(by_rank: list[Rounds]) -> Rounds:
    """Round by round the time of the rank that was last."""
    return [
        {name: max(one[name] for one in every) for name in every[0]} for every in zip(*by_rank, strict=True)
    ]


def compared(measured: Rounds, ours: str, theirs: str) -> list[float | str]:
    """Median ms of both, the median of the rounds' ratios, and the quartiles between which half of them lie."""
    ms = [statistics.median(one[name] for one in measured) * 1e3 for name in (ours, theirs)]
    low, middle, high = statistics.quantiles(
        (one[ours] / one[theirs] for one in measured), method="inclusive"
    )
    return [*ms, f"{middle:.2f}", f"{low:.2f} - {high:.2f}"]


def reductions(algorithms: dict[str, Algorithm | None], nbytes: int, rounds: int) -> Rounds:
    """On each rank: sums of nbytes by each algorithm; None is dist.all_reduce."""
    rank, world = dist.get_rank(), dist.get_world_size()
    x = torch.empty(nbytes // 4)

    def call(algorithm: Algorithm | None) -> None:
        if algorithm is None:
            dist.all_reduce(x)
        else:
            algorithm(x, rank, world)

    for name, algorithm in algorithms.items():
        x.fill_(rank + 1.0)
        call(algorithm)
        assert bool((x == world * (world + 1) / 2).all()), f"{name} does not sum"
    x.zero_()  # stays zero, whoever sums it
    return in_turn({name: lambda a=algorithm: call(a) for name, algorithm in algorithms.items()}, rounds)


def perceptron() -> nn.Module:
    """6.3 million parameters, the same on every rank."""
    torch.manual_seed(0)
    sizes = (1024, 2048, 1024, 2048, 10)
    layers = [(nn.Linear(into, out), nn.ReLU()) for into, out in zip(sizes, sizes[1:], strict=False)]
    return nn.Sequential(*(part for pair in layers for part in pair))


def backwards(mini_ddp: type[nn.Module], rounds: int) -> Rounds:
    """On each rank: forward and backward of the same model under MiniDDP and under torch's DDP."""
    from torch.nn.parallel import DistributedDataParallel

    models = {"MiniDDP": mini_ddp(perceptron()), "DDP": DistributedDataParallel(perceptron())}
    x = torch.randn(64, 1024, generator=torch.Generator().manual_seed(dist.get_rank()))

    def step(model: nn.Module) -> None:
        model.zero_grad()
        model(x).square().mean().backward()

    for model in models.values():
        step(model)
    for mine, torchs in zip(*(model.parameters() for model in models.values()), strict=True):
        torch.testing.assert_close(mine.grad, torchs.grad)
    return in_turn({name: lambda m=model: step(m) for name, model in models.items()}, rounds)


_CALLS = """
import json, time, torch, torch.distributed as dist
from helpers import ranks
seconds = []
for _ in range(8):
    start = time.perf_counter()
    assert ranks.run(dist.get_rank, ranks=4, timeout=100) == [0, 1, 2, 3]
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""


def calls_of_run(root: Path) -> list[float]:
    """Seconds of the first calls of ranks.run in a new process that has imported torch, at 4 ranks."""
    printed = subprocess.run(
        [sys.executable, "-c", _CALLS], cwd=root, check=True, capture_output=True, text=True, timeout=200
    )
    return json.loads(printed.stdout)


def _load() -> str:
    """A sentence on how busy the machine is before anything is measured; where the system tells."""
    if not hasattr(os, "getloadavg"):
        return ""
    return f" Before it the load average was {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."


@row("ranks", minutes=6.5)
def ranks_row(root: Path) -> Table:
    """The ring and MiniDDP (the solutions') beside gloo and DDP, and what `ranks.run` costs.

    Aims are shown beside what was measured; nothing here fails when one is missed.
    """
    from ci.notebooks.reference import solutions_of
    from helpers import ranks

    lab_07, lab_08 = solutions_of(root, "07"), solutions_of(root, "08")
    naive, ring = lab_08["08.naive_allreduce"], lab_08["08.ring_allreduce"]
    link = ranks.Link(ALPHA, BETA)
    table = Table(
        "ranks: the solutions of labs 07 and 08 beside torch's, and ranks.run",
        ["measured", "ranks", "size", "ms", "against ms", "ratio", "half within", "aim"],
        note=f"Gloo, {torch.get_num_threads()} threads in all. In turn in one process group, slowest rank of each "
        f"round, medians. Link: {ALPHA * 1e3:g} ms a message, "
        f"{1 / BETA / 1e6:g} MB/s, both directions of every port limited. Calls of ranks.run: three new processes, "
        f"the first call and the median of seven later ones.{_load()}",
    )

    for world in (2, 4):
        for nbytes, rounds in ((16 * MB, 15), (64 * MB, 9)):
            both = {"ring": ring, "gloo": None}
            measured = slowest(ranks.run(reductions, both, nbytes, rounds, ranks=world, timeout=120))
            size = f"{nbytes // MB} MB"
            shown = compared(measured, "ring", "gloo")
            table.lines.append(["ring / dist.all_reduce", world, size, *shown, "<= 1.2"])
    for world, aim in ((2, ""), (4, ">= 2"), (8, ">= 3")):
        both = {"naive": naive, "ring": ring}
        by_rank = ranks.run(reductions, both, 16 * MB, 3, ranks=world, link=link, timeout=120)
        shown = compared(slowest(by_rank), "naive", "ring")
        table.lines.append(["naive / ring, slow link", world, "16 MB", *shown, aim])
    measured = slowest(ranks.run(backwards, lab_07["07.mini_ddp"], 41, ranks=2, timeout=120))
    shown = compared(measured, "MiniDDP", "DDP")
    table.lines.append(["MiniDDP / DDP, fwd + bwd", 2, "6.3 M params", *shown, "<= 1.05"])
    calls = [calls_of_run(root) for _ in range(3)]
    first = statistics.median(times[0] for times in calls)
    later = statistics.median(statistics.median(times[1:]) for times in calls)
    for what, seconds, aim in (("first call", first, "< 3000 ms"), ("later calls", later, "< 300 ms")):
        table.lines.append([f"ranks.run, {what}", 4, "", seconds * 1e3, "", "", "", aim])
    return table
