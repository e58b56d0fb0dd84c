"""Right answers to 03.square, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from .shared import Generated, New


class Old(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


class WithoutStaticmethods(Function):
    """torch calls forward through the class, so `self` is the context."""

    def forward(self, x):
        self.save_for_backward(x)
        return torch.pow(x, 2)

    def backward(self, grad_out):
        x = self.saved_tensors[0]
        return torch.add(grad_out * x, grad_out * x), None


class Recomputed(Function):
    """Asks torch for the derivative of what it computes again."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            return torch.autograd.grad(x**2, x, grad_out, create_graph=grad_out.requires_grad)[0]


class Both(Function):
    """Saves the output, too, which it does not need."""

    @staticmethod
    def forward(ctx, x):
        y = torch.einsum("...,...->...", x, x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_out):
        return ctx.saved_tensors[0] * grad_out * 2.0


class Forked(Old):
    """An apply of its own, over torch's."""

    @classmethod
    def apply(cls, *args):
        return super().apply(*args)


class Slope(Function):
    """2 * x * grad_out, as a node of its own, whose backward is the second derivative."""

    @staticmethod
    def forward(ctx, x, grad_out):
        ctx.save_for_backward(x, grad_out)
        return 2 * x * grad_out

    @staticmethod
    def backward(ctx, above):
        x, grad_out = ctx.saved_tensors
        return 2 * grad_out * above, 2 * x * above


class TwoNodes(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_out):
        return Slope.apply(*ctx.saved_tensors, grad_out)


RIGHT = [Old, New, WithoutStaticmethods, Recomputed, Both, Forked, Generated, TwoNodes]
