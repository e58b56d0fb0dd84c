"""Right answers to 03.straight_through_round, in different shapes."""

from __future__ import annotations

import torch
from torch.autograd import Function


class Straight(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_out):
        return grad_out


class StraightNew(Function):
    @staticmethod
    def forward(x):
        return x.clone().round_()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vjp(ctx, grad_out):
        return grad_out.clone()


class StraightByFloor(Function):
    def forward(self, x):
        whole = x.floor()
        rest = x - whole
        up = (rest > 0.5) | ((rest == 0.5) & (whole.remainder(2) == 1))
        return whole + up.to(x.dtype)

    def backward(self, grad_out):
        return 1.0 * grad_out


RIGHT = [Straight, StraightNew, StraightByFloor]
