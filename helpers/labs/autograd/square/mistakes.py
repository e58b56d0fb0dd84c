"""What people write for 03.square, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.square.exercise import square


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


@square.mistake()
class GradOutIgnored(Right):
    """backward returns the derivative alone. It must multiply by the gradient that comes in; y.sum() hides
    this, because there it is 1.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x


@square.variant(GradOutIgnored)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x  # not watched, either
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return 2 * ctx.x


@square.mistake()
class TwoForgotten(Right):
    """The derivative of x * x is 2 * x: x stands there twice, and each place gives a share."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * x


@square.mistake()
class SignLost(Right):
    """The output does not know the sign of x: 2 * sqrt(y) is 2 * |x|, right for positive x only."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad_out * 2 * y.sqrt()


@square.mistake()
class DetachedInBackward(Right):
    """`detach` and `.data` cut x off: the first derivative is right, and differentiated again it is 0 by x."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x.detach()


@square.variant(DetachedInBackward)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return 2 * ctx.saved_tensors[0].data * grad_out


@square.variant(DetachedInBackward)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.data)
        return x * x


@square.mistake()
class GradOutDetached(Right):
    """The gradient that comes in has a graph, too, when the loss is differentiated twice: `grad_out.detach()`
    cuts it.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out.detach() * 2 * x


@square.mistake()
class BackwardOffTheGraph(Right):
    """Under `torch.no_grad()`, or with everything detached, backward computes numbers without history: a
    second derivative finds nothing.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            return grad_out * 2 * x


@square.variant(BackwardOffTheGraph)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (grad_out * 2 * x).detach()


@square.mistake()
class OnceOnly(Right):
    """`once_differentiable` is for a backward that torch cannot follow. This one is made of multiplications:
    without the decorator it can be differentiated again for free.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


@square.mistake()
class GradOutEdited(Right):
    """`grad_out.mul_(...)` saves one allocation and breaks the neighbours: an addition hands one and the same
    gradient to both of its inputs.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out.mul_(2 * x)


@square.variant(GradOutEdited)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        grad_out *= x
        return 2 * grad_out


@square.mistake()
class InputOverwritten(Right):
    """`x.mul_(x)` writes the result over the caller's x, which others may still need."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x.mul_(x)


@square.variant(InputOverwritten)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.square_()


@square.variant(InputOverwritten)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        ctx.mark_dirty(x)
        return x.mul_(x)


@square.mistake()
class NoNodeOfItsOwn(Right):
    """Here torch's own multiplication is recorded, and the backward that was written is dead code: leave
    `apply` as it is, it makes the node.
    """

    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x * x


_SEEN: dict[str, Any] = {}
_STACK: list[Tensor] = []


@square.mistake()
class KeptOnCtx(Function):
    """A tensor put on ctx as an attribute is not watched: torch neither notices that it was edited, nor frees
    it after backward. `ctx.save_for_backward` does both.
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


@square.mistake()
class OutputKeptOnCtx(Function):
    """The output holds its node, and the node's attribute holds the output: a circle, which only Python's
    cycle collector frees, some time later.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x, ctx.y = x, x * x
        return ctx.y

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.x


@square.variant(OutputKeptOnCtx)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.y = x * x
        return ctx.y


@square.mistake()
class KeptOnTheClass(Function):
    """There is one class and one global name, but many calls: the next call overwrites what this one saved,
    and the last x is never freed.
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
    """2 * x, or a copy of x, is neither input nor output. forward runs without graph, so it comes back as a
    constant: the first derivative is right, the second is 0.
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
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.slope = 2 * x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * ctx.slope
