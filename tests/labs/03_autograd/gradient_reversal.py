"""Right answers to 03.gradient_reversal, in different shapes."""

from __future__ import annotations

import torch
from torch.autograd import Function


class Reversal(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_out):
        return -ctx.scale * grad_out, None


class ReversalItself(Function):
    """torch makes a view of an input that is returned as it is."""

    @staticmethod
    def forward(x, scale=1.0):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.scale = inputs

    @staticmethod
    def backward(ctx, grad_out):
        return grad_out.neg() * ctx.scale, None


class ReversalCopy(Function):
    def forward(self, x, scale):
        self.save_for_backward(torch.tensor(-scale, dtype=x.dtype))
        return x.clone()

    def backward(self, grad_out):
        (factor,) = self.saved_tensors
        return [grad_out * factor, None][0], None


class ReversalClosure(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.turn = lambda grad: grad.mul(scale).neg()
        return x[...]

    @staticmethod
    def backward(ctx, grad_out):
        return ctx.turn(grad_out), None


RIGHT = [Reversal, ReversalItself, ReversalCopy, ReversalClosure]
