"""Row 06 of `labbook bench`: the simulated device beside the CPU, the lab's own pieces beside torch's, in one run."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ci.bench.table import Table, row
from ci.bench.timing.rounds import medians
from ci.notebooks.reference import solutions_of

ROUNDS = 60
OPS = 20  # of one sort in a row, on the device and on the CPU
SIZES = ((10, 10), (256, 256))
SCALING = {"init_scale": 2.0**16, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000}

Line = tuple[str, str, float, str, float]  # piece, size, its seconds, beside what, that one's seconds


def device_lines() -> list[Line]:
    """The same ops on the simulated device, with a synchronisation at the end, and on the CPU."""
    from helpers import streams

    torch.set_num_threads(1)
    streams.install()
    lines = []
    for size in SIZES:
        given = torch.randn(size, generator=torch.Generator().manual_seed(0))
        for name, op in {"x + x": torch.add, "x @ x": torch.mm}.items():
            took = medians(
                {"device": repeated(op, given.to(streams.DEVICE)), "cpu": repeated(op, given)}, ROUNDS
            )
            lines.append((f"{OPS} times {name} on sim", str(size), took["device"], "on the CPU", took["cpu"]))
    return lines


def repeated(op: Callable[[Tensor, Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    """OPS calls; on the device the host waits for them, and its trace begins anew."""
    from helpers import streams

    def run() -> None:
        for _ in range(OPS):
            op(x, x)
        if x.device.type == streams.DEVICE:
            streams.synchronize()
            streams.reset()

    return run


def race_lines(find_races: Callable[[list[Any]], set[tuple[int, int]]]) -> list[Line]:
    """A program ten times as long beside ten runs of the short one: 1.0 where the cost is linear."""
    from helpers.labs.streams.shared.happens_before import races
    from helpers.labs.streams.shared.random_programs import pipeline

    short, long = pipeline(63)[:1000], pipeline(625)
    lines = []
    for name, way in {"find_races": find_races, "the check's own": races}.items():
        took = medians({"long": lambda way=way: way(long), "short": lambda way=way: way(short)}, ROUNDS)
        lines.append((name, f"{len(long)} ops", took["long"], "10 x 1000 ops", 10 * took["short"]))
    return lines


def rounding_lines(to_tf32: Callable[[Tensor, str], Tensor]) -> list[Line]:
    """to_tf32 to the nearest beside torch's own rounding to bfloat16 and back."""
    lines = []
    for size in SIZES:
        x = torch.randn(size, generator=torch.Generator().manual_seed(0))
        took = medians(
            {
                "own": lambda x=x: to_tf32(x, "nearest-even"),
                "torch": lambda x=x: x.to(torch.bfloat16).float(),
            },
            ROUNDS,
        )
        lines.append(("to_tf32", str(size), took["own"], "to bfloat16 and back", took["torch"]))
    return lines


def scaler_line(scaler: type) -> Line:
    """A training step with the lab's scaler and with torch's, each on a model of its own."""
    took = medians(
        {
            "own": training_step(scaler(**SCALING)),
            "torch": training_step(torch.amp.GradScaler("cpu", **SCALING)),
        },
        ROUNDS,
    )
    return ("MiniGradScaler, a step", "12 parameters", took["own"], "torch.amp.GradScaler", took["torch"])


def training_step(scaler: Any) -> Callable[[], None]:
    """Forward, scaled backward, unscale, step and update of a small network."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(6)))
    optimizer, x = torch.optim.SGD(model.parameters(), lr=1e-3), torch.randn(8, 32)

    def step() -> None:
        optimizer.zero_grad()
        scaler.scale(model(x).square().mean()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

    return step


@row("06", minutes=0.3)
def streams(root: Path) -> Table:
    """The simulated device beside the CPU; find_races ten times as long; to_tf32 and MiniGradScaler beside torch's."""
    solved = solutions_of(root, "06")
    torch.set_num_threads(1)
    table = Table(
        "06: the simulated device and own pieces, one thread",
        ["piece", "size", "ms", "beside", "ms", "ratio"],
        note=f"Medians of {ROUNDS} rounds in turn. The device computes each op twice, and does the bookkeeping of time.",
    )
    with get_context("spawn").Pool(1) as pool:  # torch keeps a device that it has been told of
        lines = pool.apply(device_lines)
    lines += race_lines(solved["06.find_races"])
    lines += rounding_lines(solved["06.to_tf32"])
    lines.append(scaler_line(solved["06.mini_grad_scaler"]))
    for piece, size, own, beside, other in lines:
        table.lines.append(
            [piece, size, f"{own * 1e3:.3f}", beside, f"{other * 1e3:.3f}", f"{own / other:.1f}"]
        )
    return table
