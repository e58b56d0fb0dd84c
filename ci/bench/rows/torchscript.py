"""Row 09 of `labbook bench`: what a call costs, eager, traced, scripted and exported, as ratios."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from ci.bench.table import Table, row
from ci.bench.timing.rounds import medians, one_thread

REPEATS = 101
CALLS = 20  # a sample is so many calls: one of a small model is shorter than the clock's noise


class Steps(nn.Module):
    """A recurrent layer with a loop in Python; a branch on a size, which every tool takes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.step = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros_like(x[0])
        for place in range(x.shape[0]):
            h = torch.tanh(self.step(torch.cat([x[place], h], 1)))
        return h


def models() -> dict[str, tuple[nn.Module, Tensor]]:
    """Models and inputs: most of the time in Python, or in the operations."""
    torch.manual_seed(0)
    layers = nn.Sequential(*(nn.Linear(8, 8) for _ in range(8)))
    wide = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
    return {
        "8 layers of width 8": (layers, torch.randn(4, 8)),
        "loop of 16 steps, width 8": (Steps(8), torch.randn(16, 4, 8)),
        "2 layers of width 512": (wide, torch.randn(64, 512)),
    }


def ways(model: nn.Module, x: Tensor) -> list[Callable[[Tensor], Tensor]]:
    """The model in its four forms; script and trace are called a few times, since they optimise at first calls."""
    from helpers.labs.torchscript.shared.quiet import quiet

    with quiet():
        made = [
            model,
            torch.jit.trace(model, x),
            torch.jit.script(model),
            torch.export.export(model, (x,)).module(),
        ]
        for way in made:
            for _ in range(5):
                torch.testing.assert_close(way(x), model(x))
    return made


@row("09", minutes=0.6)
def torchscript(root: Path) -> Table:
    """What the four forms of a model cost to call, without a gradient, on one thread."""
    table = Table(
        "09: microseconds of processor time a call in eager mode, and the other forms as ratios to it (below 1 is quicker)",
        ["model", "eager us", "traced", "scripted", "exported"],
        note=f"Medians of {REPEATS} samples of {CALLS} calls in turn, one thread, no gradient. An exported program is "
        "run as Python here: it is a file to compile, not a quicker module.",
    )
    with one_thread():
        with torch.no_grad():
            for name, (model, x) in models().items():
                calls = {str(at): partial(way, x) for at, way in enumerate(ways(model.eval(), x))}
                eager, *others = medians(calls, REPEATS, times=CALLS, clock=time.thread_time).values()
                table.lines.append([name, eager * 1e6, *(f"{one / eager:.2f}" for one in others)])
    return table
