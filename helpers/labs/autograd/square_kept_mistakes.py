"""What people write for 03.square about what is kept between forward and backward."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function

from helpers.labs.autograd.square import square
from helpers.labs.autograd.square_mistakes import Right

_SEEN: dict[str, Any] = {}
_STACK: list[Tensor] = []


@square.wrong_answer(
    "kept_on_ctx",
    why="A tensor put on ctx as an attribute is not watched: torch neither notices that it was edited, nor frees it "
    "after backward. `ctx.save_for_backward` does both.",
    seen="put on ctx as an attribute is not watched",
)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.x


@square.another_form("kept_on_ctx")
class _(Function):
    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        return x**2

    def backward(self, grad_out: Tensor) -> Tensor:
        return self.x * grad_out * 2


@square.wrong_answer(
    "output_kept_on_ctx",
    why="The output holds its node, and the node's attribute holds the output: a circle, which only Python's cycle "
    "collector frees, some time later.",
    seen="a circle, which only Python's cycle collector frees",
)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x, ctx.y = x, x * x
        return ctx.y

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.x


@square.another_form("output_kept_on_ctx")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.y = x * x
        return ctx.y


@square.wrong_answer(
    "kept_on_the_class",
    why="There is one class and one global name, but many calls: the next call overwrites what this one saved, and the "
    "last x is never freed.",
    seen="There is one class",
)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        _SEEN["x"] = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * _SEEN["x"]


@square.another_form("kept_on_the_class")
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        _STACK.append(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * _STACK.pop()


@square.wrong_answer(
    "saved_an_intermediate",
    why="2 * x, or a copy of x, is neither input nor output. forward runs without graph, so it comes back as a constant: "
    "the first derivative is right, the second is 0.",
    seen="is neither input nor output",
)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(2 * x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (twice,) = ctx.saved_tensors
        return grad_out * twice


@square.another_form("saved_an_intermediate")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x * x


@square.another_form("saved_an_intermediate")
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.slope = 2 * x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * ctx.slope
