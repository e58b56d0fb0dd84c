"""Right answers to 03.scale_in_place, in different shapes."""

from __future__ import annotations

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, scale):
        before = x.clone() if ctx.needs_input_grad[1] else None
        ctx.save_for_backward(scale, before)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_out):
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * before).sum()


class ScaledByData(Function):
    """mark_dirty counts the edit, too, so `.data` does no harm; the engine sums what is too large for scale."""

    def forward(self, x, scale):
        saved = [scale]
        if self.needs_input_grad[1]:
            saved.append(x.detach().clone())
        x.data.mul_(scale)
        self.mark_dirty(x)
        self.save_for_backward(*saved)
        return x

    @once_differentiable
    def backward(self, grad_out):
        scale, *before = self.saved_tensors
        return scale * grad_out, before[0] * grad_out if before else None


class ScaledByCopy(Function):
    """Says itself that it cannot be differentiated again."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.mark_dirty(x)
        if ctx.needs_input_grad[1]:
            ctx.save_for_backward(scale, x.clone())
        else:
            ctx.save_for_backward(scale)
        x.copy_(x * scale)
        return x

    @staticmethod
    def backward(ctx, grad_out):
        if torch.is_grad_enabled() and ctx.needs_input_grad[1]:
            raise RuntimeError("no second derivative: the copy of x has no history")
        scale, *before = ctx.saved_tensors
        grad_x = grad_out * scale if ctx.needs_input_grad[0] else None
        return grad_x, torch.tensordot(grad_out, *before, dims=grad_out.dim()) if before else None


class ScaledByNumber(Function):
    """The scale that was used is kept as a number: an edit of the tensor changes nothing."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.before = torch.clone(x) if scale.requires_grad else None
        ctx.scale = scale.item()
        ctx.mark_dirty(x)
        x *= ctx.scale
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_out):
        if ctx.before is None:
            return ctx.scale * grad_out, None
        return ctx.scale * grad_out, torch.sum(grad_out * ctx.before)


RIGHT = [Scaled, ScaledByData, ScaledByCopy, ScaledByNumber]
