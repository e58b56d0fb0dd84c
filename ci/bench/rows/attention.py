"""Row 13 of `labbook bench`: the lab's own attention beside SDPA's, on the same tensors, in one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ci.bench.table import Table, row
from ci.bench.timing.rounds import medians, one_thread
from ci.notebooks.reference import solutions_of

ROUNDS = 31
LENGTHS = (64, 512)
BLOCK = 64


def ways(solved: dict[str, Any], length: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """By piece, the lab's way and torch's, on the same tensors: batch 2, 4 heads of 16, float32."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 4, length, 16, generator=generator, requires_grad=True) for _ in range(3))
    x = torch.randn(2, length, 64, generator=generator)
    module = nn.MultiheadAttention(64, 4, batch_first=True)
    weights = (module.in_proj_weight, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias)
    flash = solved["13.flash_attention"]

    def both(result: Tensor) -> None:
        torch.autograd.grad(result.sum(), (q, k, v))

    return {
        "multi_head": {
            "own": lambda: solved["13.multi_head"](x, *weights, 4),
            "torch": lambda: module(x, x, x, need_weights=False),
        },
        "attend_blockwise": {
            "own": lambda: solved["13.attend_blockwise"](q.detach(), k.detach(), v.detach(), BLOCK),
            "torch": lambda: F.scaled_dot_product_attention(q.detach(), k.detach(), v.detach()),
        },
        "FlashAttention, forward and backward": {
            "own": lambda: both(flash.apply(q, k, v, BLOCK)),
            "torch": lambda: both(F.scaled_dot_product_attention(q, k, v)),
        },
    }


@row("13", minutes=0.1)
def attention(root: Path) -> Table:
    """Own `multi_head`, `attend_blockwise` and `FlashAttention` (the solutions') against torch's fused kernel."""
    solved = solutions_of(root, "13")
    table = Table(
        "13: own attention beside torch's, one thread, float32",
        ["piece", "length", "own ms", "torch ms", "own / torch"],
        note=f"Medians of {ROUNDS} rounds in turn; blocks of {BLOCK} keys, batch 2, 4 heads of 16.",
    )
    with one_thread():
        for length in LENGTHS:
            for name, way in ways(solved, length).items():
                found = medians(way, ROUNDS)
                own, torchs = found["own"], found["torch"]
                table.lines.append([name, length, own * 1e3, torchs * 1e3, own / torchs])
    return table
