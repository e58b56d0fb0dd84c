"""What people write for 03.square about what is kept between forward and backward."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function

from helpers.labs.autograd.square import square
from helpers.labs.autograd.square_mistakes import Right

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
