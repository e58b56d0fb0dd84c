"""Right answers to lab 03's custom Functions and 03.numerical_grad."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Old(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


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


RIGHT = {"03.square": [Old, New, WithoutStaticmethods, Recomputed, Both, Forked]}


class Generated(New):
    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return x * grad_out + grad_out * x

    vjp = Function.vjp


class Batched(Generated):
    """A batched version of its own: one call of itself."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return Batched.apply(x), in_dims[0]


class Looped(Generated):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return torch.stack([Looped.apply(part) for part in x.unbind(in_dims[0])], dim=-1), x.dim() - 1


class TwoLayers(Generated):
    """The node is that of another Function."""

    @staticmethod
    def apply(x):
        return Generated.apply(x)


RIGHT["03.square"].append(Generated)
RIGHT["03.square_functional"] = [Generated, Batched, Looped, TwoLayers]


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


RIGHT["03.conv2d"] = [Stepped, Flipped, Columns, Shifted]


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


class StraightIfNeeded(Function):
    def forward(self, x):
        whole = x.floor()
        rest = x - whole
        up = (rest > 0.5) | ((rest == 0.5) & (whole.remainder(2) == 1))
        return whole + up.to(x.dtype)

    def backward(self, grad_out):
        return (1.0 * grad_out, None) if self.needs_input_grad[0] else None


RIGHT["03.straight_through_round"] = [Straight, StraightNew, StraightIfNeeded]


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


RIGHT["03.gradient_reversal"] = [Reversal, ReversalItself, ReversalCopy, ReversalClosure]


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


RIGHT["03.scale_in_place"] = [Scaled, ScaledByData, ScaledByCopy]


def flat_view(fn, x, eps=1e-6):
    if x.dtype != torch.float64:
        raise ValueError(f"x must be float64, not {x.dtype}")
    moved = x.detach().clone(memory_format=torch.contiguous_format)
    flat, grad = moved.view(-1), torch.zeros(x.numel(), dtype=torch.float64)
    for i in range(flat.numel()):
        here = flat[i].item()
        flat[i] = here + eps
        above = fn(moved).item()
        flat[i] = here - eps
        below = fn(moved).item()
        flat[i] = here
        grad[i] = (above - below) / (2 * eps)
    return grad.view(x.shape)


@torch.no_grad()
def rows_of_the_identity(fn, x, eps=1e-6):
    if x.dtype is not torch.float64:
        raise ValueError(x.dtype)
    steps = (
        (eps * torch.eye(x.numel(), dtype=x.dtype)).unflatten(1, x.shape)
        if x.dim()
        else torch.full((1,), eps)
    )
    pairs = [(fn(x + step), fn(x - step)) for step in steps.to(x.dtype)]
    return x.new_tensor([(up - down) / (2 * eps) for up, down in pairs]).reshape(x.shape)


def by_index(fn, x, eps=1e-6):
    """Copies for every call; also asks for fn(x), which is not needed."""
    x = x.detach()
    fn(x)
    grad = torch.empty(x.shape, dtype=x.dtype)
    for at in itertools.product(*(range(n) for n in x.shape)):
        values = []
        for sign in (1, -1):
            copy = torch.empty(x.shape, dtype=x.dtype).copy_(x)
            copy[at] = copy[at] + sign * eps
            values.append(float(fn(copy)))
        grad[at] = (values[0] - values[1]) / eps / 2
    return grad


def with_numpy(fn, x, eps=1e-6):
    if x.dtype != torch.float64:
        raise ValueError
    start = np.array(x.detach().tolist(), dtype=np.float64).reshape(x.shape)
    grad = np.zeros_like(start)
    for at in np.ndindex(*start.shape):
        up, down = start.copy(), start.copy()
        up[at] += eps
        down[at] -= eps
        grad[at] = (fn(torch.from_numpy(up)) - fn(torch.from_numpy(down))) / (2 * eps)
    return torch.from_numpy(grad)


RIGHT["03.numerical_grad"] = [flat_view, rows_of_the_identity, by_index, with_numpy]
