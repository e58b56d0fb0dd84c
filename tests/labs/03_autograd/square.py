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
            again = x if torch.is_grad_enabled() and x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(again**2, again, grad_out, create_graph=grad_out.requires_grad)[0]


class Both(Function):
    """Saves the output, too, which it does not need."""

    @staticmethod
    def forward(ctx, x):
        y = torch.einsum("...,...->...", x, x)
        ctx.save_for_backward(x, y)
        ctx.needed = ctx.needs_input_grad[0]
        return y

    @staticmethod
    def backward(ctx, grad_out):
        return ctx.saved_tensors[0] * grad_out * 2.0 if ctx.needed else None


class Forked(Old):
    """An apply of its own, over torch's."""

    @classmethod
    def apply(cls, *args):
        return super().apply(*args)


RIGHT = [Old, New, WithoutStaticmethods, Recomputed, Both, Forked, Generated]
