"""What people keep wrongly between forward and backward of 03.square, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from helpers.labs.autograd.square.exercise import square
from helpers.labs.autograd.square.right import Right

_SEEN: dict[str, Any] = {}
_STACK: list[Tensor] = []


@square.mistake()
class NothingSaved(Right):
    """backward takes more from a tuple than stands there. Perhaps `ctx.saved_tensors` is empty: forward has
    to call `ctx.save_for_backward(x)`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * x


@square.variant(NothingSaved)
class _(NothingSaved):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return 2 * ctx.saved_tensors[0] * grad_out


@square.mistake()
class TupleForATensor(Right):
    """backward computed with a tuple or a list as if it were a tensor. Perhaps with `ctx.saved_tensors`, a
    tuple also when one tensor was saved: write `(x,) = ctx.saved_tensors`.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.saved_tensors


@square.variant(TupleForATensor)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.mul(ctx.saved_tensors, grad_out)


@square.variant(TupleForATensor)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return ctx.saved_tensors.mul(grad_out)


@square.variant(TupleForATensor)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return 2.0 * ctx.saved_tensors * grad_out


@square.mistake(breaks="x is kept by `ctx.save_for_backward`")
class NoTensorSaved(Right):
    """`save_for_backward` takes tensors, each as an argument of its own: no tuple, no list, no array, no number."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward((x,))
        return x * x


@square.mistake()
class BufferReused(Right):
    """The second call wrote over the result of the first: both are one memory. Each result is a new tensor."""

    buffers: dict[Any, Tensor] = {}  # noqa: RUF012

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        buffer = BufferReused.buffers.setdefault((x.shape, x.dtype), torch.empty_like(x))
        return torch.mul(x.detach(), x.detach(), out=buffer)


@square.mistake()
class ClearedByBackward(Right):
    """The second backward raised, and the first did not. Perhaps the first one threw away what the second one
    needs, or allows no other. Only torch knows whether the graph is retained, and frees what
    `save_for_backward` keeps at the right time.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        x, ctx.x = ctx.x, None
        return grad_out * 2 * x


@square.mistake()
class KeptTwice(Right):
    """x is held after backward. Perhaps something else than `save_for_backward` keeps it, such as an
    attribute of ctx, and that is not freed.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.x = x
        return x * x


@square.mistake()
class HeldOutside(Right):
    """x lives on when it and the result are dropped. Perhaps an attribute of the class or a global list holds
    it.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        HeldOutside.last = x
        return x * x


@square.mistake()
class KeptOnCtx(Function):
    """The edit of x was not noticed, and the gradient is that of the edited x. Perhaps x stands on ctx as an
    attribute, or in a list or dict, which torch does not watch. What `ctx.save_for_backward` keeps is watched.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.x


@square.variant(KeptOnCtx)
class _(Function):
    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        return x**2

    def backward(self, grad_out: Tensor) -> Tensor:
        return self.x * grad_out * 2


@square.variant(KeptOnCtx)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x, ctx.y = x, x * x
        return ctx.y

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.x


@square.mistake()
class OutputKeptOnCtx(Right):
    """The result and x live on when both are dropped. Perhaps something of the node holds the result (an
    attribute of ctx), and the result holds its node: only Python's cycle collector breaks such a circle, some
    time later.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.y = x * x
        return ctx.y


@square.mistake()
class KeptOnTheClass(Function):
    """The gradient of one call was computed with the x of a different call. Perhaps x stands on the class or under a
    global name, of which there is one for all calls; ctx is made anew for each.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        _SEEN["x"] = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * _SEEN["x"]


@square.variant(KeptOnTheClass)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        _STACK.append(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * _STACK.pop()


@square.mistake()
class SavedAnIntermediate(Function):
    """A tensor was kept that is neither input nor output, perhaps 2 * x, or a copy of x: it costs memory. What was computed
    of x in forward, where no graph is recorded, is also a constant for the second derivative.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(2 * x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (twice,) = ctx.saved_tensors
        return grad_out * twice


@square.variant(SavedAnIntermediate)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x * x


@square.variant(SavedAnIntermediate)
class _(Function):
    """For float64 this is x itself, and for what most people train in a copy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        exact = x.double()
        ctx.save_for_backward(exact)
        return (exact * exact).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (exact,) = ctx.saved_tensors
        return (2 * exact * grad_out).to(grad_out.dtype)


@square.variant(SavedAnIntermediate)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.slope = 2 * x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * ctx.slope
