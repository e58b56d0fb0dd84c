"""Right answers to 03.conv2d, in different shapes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Stepped(Function):
    @staticmethod
    def forward(ctx, x, w, stride=1, padding=0):
        ctx.save_for_backward(x, w)
        ctx.stride, ctx.padding = stride, padding
        return F.conv2d(x, w, stride=stride, padding=padding)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_out):
        x, w = ctx.saved_tensors
        stride, padding = ctx.stride, ctx.padding
        kernel = w.shape[2:]
        grad_x = grad_w = None
        if ctx.needs_input_grad[0]:
            unreached = [(n + 2 * padding - k) % stride for n, k in zip(x.shape[2:], kernel, strict=True)]
            grad_x = F.conv_transpose2d(grad_out, w, stride=stride, padding=padding, output_padding=unreached)
        if ctx.needs_input_grad[1]:
            slid = F.conv2d(x.transpose(0, 1), grad_out.transpose(0, 1), dilation=stride, padding=padding)
            grad_w = slid.transpose(0, 1)[:, :, : kernel[0], : kernel[1]]
        return grad_x, grad_w, None, None


class Flipped(Function):
    """Stride 1; the formula of the textbooks; second derivatives come for free."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        kh, kw = w.shape[-2:]
        return (
            F.conv2d(F.pad(g, (kw - 1, kw - 1, kh - 1, kh - 1)), w.rot90(2, (2, 3)).transpose(0, 1))
            if ctx.needs_input_grad[0]
            else None,
            torch.stack(
                [F.conv2d(x[:, i : i + 1].transpose(0, 1), g.transpose(0, 1))[0] for i in range(x.shape[1])],
                1,
            )
            if ctx.needs_input_grad[1]
            else None,
        )


class Columns(Function):
    """im2col and back: matrix products only."""

    @staticmethod
    def forward(x, w, stride=1, padding=0):
        columns = F.unfold(x, w.shape[2:], stride=stride, padding=padding)
        size = [(n + 2 * padding - k) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
        return (w.flatten(1) @ columns).unflatten(2, size)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, w, *steps = inputs
        ctx.save_for_backward(x, w)
        ctx.steps = dict(zip(("stride", "padding"), steps, strict=False))

    @staticmethod
    def backward(ctx, grad_out):
        x, w = ctx.saved_tensors
        grad_out = grad_out.flatten(2)
        grad_x = grad_w = None
        if ctx.needs_input_grad[0]:
            grad_x = F.fold(w.flatten(1).T @ grad_out, x.shape[2:], w.shape[2:], **ctx.steps)
        if ctx.needs_input_grad[1]:
            columns = F.unfold(x, w.shape[2:], **ctx.steps)
            grad_w = torch.einsum("nop,nkp->ok", grad_out, columns).view_as(w)
        return grad_x, grad_w, *[None] * len(ctx.steps)


class Shifted(Function):
    """One product for each place in the kernel."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        rows, columns = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
        y = x.new_zeros(x.shape[0], w.shape[0], rows, columns)
        for a in range(w.shape[2]):
            for b in range(w.shape[3]):
                y += torch.einsum("nchw,oc->nohw", x[:, :, a : a + rows, b : b + columns], w[:, :, a, b])
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_out):
        x, w = ctx.saved_tensors
        rows, columns = grad_out.shape[2:]
        grad_x = torch.zeros_like(x) if ctx.needs_input_grad[0] else None
        grad_w = torch.zeros_like(w) if ctx.needs_input_grad[1] else None
        for a in range(w.shape[2]):
            for b in range(w.shape[3]):
                part = (slice(None), slice(None), slice(a, a + rows), slice(b, b + columns))
                if grad_x is not None:
                    grad_x[part] += torch.tensordot(grad_out, w[:, :, a, b], ([1], [0])).permute(0, 3, 1, 2)
                if grad_w is not None:
                    grad_w[:, :, a, b] = (grad_out[:, :, None] * x[part][:, None]).sum((0, 3, 4))
        return grad_x, grad_w


RIGHT = [Stepped, Flipped, Columns, Shifted]
