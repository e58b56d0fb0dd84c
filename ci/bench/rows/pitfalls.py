"""Row 10 of `labbook bench`: the lab's own var and LayerNorm beside torch's, on the same tensors, in one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ci.bench.table import Table, row
from ci.bench.timing.rounds import medians
from ci.notebooks.reference import solutions_of

ROUNDS = 60
SHAPES = ((64, 64), (512, 768), (64, 32, 256))
EPS = 1e-5


def tensors(shape: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x, the gradient of the result, weight and bias: random float32, the same at each call."""
    generator = torch.Generator().manual_seed(0)
    sizes = (shape, shape, shape[-1:], shape[-1:])
    x, dy, weight, bias = (torch.randn(size, generator=generator) for size in sizes)
    return x, dy, weight, bias


def ways(solved: dict[str, Any], shape: tuple[int, ...]) -> dict[str, dict[str, Callable[[], Any]]]:
    """By piece, the lab's way and torch's, on the same tensors."""
    (_, var), (norm, backward) = solved["10.std_var"], solved["10.layer_norm"]
    x, dy, weight, bias = tensors(shape)
    last = shape[-1:]
    _, mean, rstd = torch.native_layer_norm(x, last, weight, bias, EPS)
    arguments = (dy, x, last, mean, rstd, weight, bias, [True, True, True])
    return {
        "var": {"own": lambda: var(x, -1), "torch": lambda: torch.var(x, -1)},
        "layer_norm": {
            "own": lambda: norm(x, last, weight, bias),
            "torch": lambda: F.layer_norm(x, last, weight, bias),
        },
        "layer_norm_backward": {
            "own": lambda: backward(dy, x, last, weight, EPS),
            "torch": lambda: torch.ops.aten.native_layer_norm_backward(*arguments),
        },
    }


@row("10", minutes=0.1)
def pitfalls(root: Path) -> Table:
    """Own `var`, `layer_norm` and its backward (the solutions') against torch's kernels, over the last dimension."""
    solved = solutions_of(root, "10")
    torch.set_num_threads(1)
    table = Table(
        "10: own pieces beside torch's, one thread, float32",
        ["piece", "shape", "own ms", "torch ms", "own / torch"],
        note=f"Medians of {ROUNDS} rounds in turn. torch's backward is given mean and rstd; the own one computes them.",
    )
    for shape in SHAPES:
        for piece, calls in ways(solved, shape).items():
            took = medians(calls, ROUNDS)
            ratio = took["own"] / took["torch"]
            table.lines.append(
                [piece, str(shape), f"{took['own'] * 1e3:.3f}", f"{took['torch'] * 1e3:.3f}", f"{ratio:.1f}"]
            )
    return table
