"""What right answers of this lab share."""

from __future__ import annotations

from torch.autograd import Function


class New(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.square()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def vjp(ctx, g):
        return ctx.saved_tensors[0].mul(2).mul(g)


class Generated(New):
    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return x * grad_out + grad_out * x

    vjp = Function.vjp
