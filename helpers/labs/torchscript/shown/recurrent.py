"""Parts for 09.nest. Each is made so that one way only goes through it.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

import torch
from torch import Tensor, nn

INPUTS, HIDDEN = 2, 3


class Gate(nn.Module):
    """Scales, or turns the sign: which one depends on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * self.scale
        return -x


class Cell(nn.Module):
    """One step: x (batch, INPUTS) and h (batch, HIDDEN) give (y, h), both (batch, HIDDEN).

    gate: a Gate, or what became of it. The generator expression is Python that the compiler refuses.
    """

    def __init__(self, gate: nn.Module) -> None:
        super().__init__()
        self.gate = gate
        self.layers = nn.ModuleList([nn.Linear(INPUTS, HIDDEN), nn.Linear(HIDDEN, HIDDEN)])

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        z = sum(layer(part) for layer, part in zip(self.layers, (x, h), strict=True))
        h = torch.tanh(self.gate(z))
        return h * h, h


class Readout(nn.Module):
    """The outermost part: runs a loop, then an activation that is looked up by its name, which the compiler refuses.

    loop: called as loop(xs, h), gives (ys, h).
    """

    def __init__(self, loop: nn.Module, activation: str = "sin") -> None:
        super().__init__()
        self.loop = loop
        self.activation = activation

    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys, h = self.loop(xs, h)
        return getattr(torch, self.activation)(ys), h
