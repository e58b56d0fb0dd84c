"""Row 04 of `labbook bench`: the lab's own clipping and AdamW beside torch's, on the same tensors, in one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ci.bench.table import Table, row
from ci.bench.timing.rounds import medians
from ci.notebooks.reference import solutions_of

ROUNDS = 60
SIZES = {"300 parameters of 100": [(100,)] * 300, "12 parameters of 256 x 256": [(256, 256)] * 12}


def with_gradients(shapes: list[tuple[int, ...]]) -> list[nn.Parameter]:
    """Parameters of these shapes, float32, with random gradients; the same ones at each call."""
    generator = torch.Generator().manual_seed(0)
    parameters = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    return parameters


def clipping(own: Callable[..., Any], shapes: list[tuple[int, ...]]) -> dict[str, Callable[[], Any]]:
    """Ways to clip the same gradients; each has parameters of its own."""
    ways = {"own": own}
    ways |= {
        name: lambda parameters, limit, foreach=foreach: nn.utils.clip_grad_norm_(
            parameters, limit, foreach=foreach
        )
        for name, foreach in (("foreach", True), ("for-loop", False))
    }
    given = {name: with_gradients(shapes) for name in ways}
    return {name: lambda way=way, parameters=given[name]: way(parameters, 1.0) for name, way in ways.items()}


def stepping(own: Callable[..., Any], shapes: list[tuple[int, ...]]) -> dict[str, Callable[[], Any]]:
    """Ways to do a step of AdamW; each has parameters of its own."""
    options: dict[str, Any] = {"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
    parameters = with_gradients(shapes)
    state: list[dict] = [{} for _ in parameters]
    gradients = [parameter.grad for parameter in parameters]
    found = {"own": lambda: own(parameters, gradients, state, **options)}
    for name, way in {
        "for-loop": {"foreach": False},
        "foreach": {"foreach": True},
        "fused": {"fused": True},
    }.items():
        found[name] = torch.optim.AdamW(with_gradients(shapes), **options, **way).step
    return found


@row("04", minutes=0.1)
def optim(root: Path) -> Table:
    """Own `clip_grad_norm_` and `adamw_step` (the solutions') against torch's for-loop, foreach and fused."""
    solved = solutions_of(root, "04")
    torch.set_num_threads(1)
    table = Table(
        "04: own pieces beside torch's, one thread",
        [
            "piece",
            "tensors",
            "own ms",
            "for-loop ms",
            "foreach ms",
            "fused ms",
            "own / foreach",
            "own / for-loop",
        ],
        note=f"Medians of {ROUNDS} rounds; in each round every way has its turn.",
    )
    pieces = {"clip_grad_norm_": clipping, "adamw_step": stepping}
    for name, ways in pieces.items():
        for size, shapes in SIZES.items():
            took = medians(ways(solved[f"04.{name}"], shapes), ROUNDS)
            cells = [
                f"{took[way] * 1e3:.3f}" if way in took else "-"
                for way in ("own", "for-loop", "foreach", "fused")
            ]
            ratios = [f"{took['own'] / took[way]:.2f}" for way in ("foreach", "for-loop")]
            table.lines.append([name, size, *cells, *ratios])
    return table
