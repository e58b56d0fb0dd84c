"""Models that torch.export refuses, or takes in less than they are: what 09.to_export moves."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

WIDTH, LONGEST = 3, 8


class Averaged(nn.Module):
    """Adds a table of positions, and takes the mean over the batch: (batch, length, WIDTH) to (length, WIDTH)."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(LONGEST, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        y = x + self.table[: x.shape[1]]
        return y.sum(0) / len(x)


class Branching(nn.Module):
    """One of two layers, chosen by the data: (batch, WIDTH) to (batch, 2)."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 2)
        self.down = nn.Linear(WIDTH, 2)

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return self.up(x)
        return torch.tanh(self.down(x))


class SquareFunction(Function):
    """x * x with a backward of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad_out


class Squared(nn.Module):
    """A linear layer, squared by a custom Function: (batch, WIDTH) to (batch, 2)."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(WIDTH, 2)

    def forward(self, x: Tensor) -> Tensor:
        return SquareFunction.apply(self.fc(x))
