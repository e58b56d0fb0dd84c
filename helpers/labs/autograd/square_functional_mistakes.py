"""What people write for 03.square_functional."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.square_functional import square_functional

_SEEN: dict[str, Tensor] = {}


class Right(Function):
    """The right answer; the wrong ones change one part."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


@square_functional.wrong_answer(
    "old_style",
    why="A forward that takes ctx works with `backward`, and `torch.func` refuses it: there the context is set up apart, "
    "once for each transform around.",
    seen="once for each transform around",
)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


@square_functional.another_form("old_style")
class _(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


@square_functional.wrong_answer(
    "no_vmap_rule",
    why="torch does not guess that your methods may be batched: `generate_vmap_rule = True` says that they are made of "
    "torch operations only.",
    seen="does not guess that your methods may be batched",
)
class _(Right):
    generate_vmap_rule = False


@square_functional.wrong_answer(
    "batch_always_first",
    why="`vmap` tells where the batch stands, in in_dims, and wants to hear where it stands in the result. 0 is right "
    "for the usual call only.",
    seen="0 is right for the usual call only",
)
class _(Right):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int]:
        return x * x, 0


@square_functional.another_form("batch_always_first")
class _(Right):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        (x,) = inputs
        return Right.apply(x), 0


@square_functional.another_form("batch_always_first")
class _(Right):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int]:
        return torch.stack([x[i] * x[i] for i in range(info.batch_size)]), 0


@square_functional.wrong_answer(
    "batch_off_the_graph",
    why="The batched version computes with detached tensors: right values, and no gradient goes through vmap.",
    seen="no gradient goes through vmap",
)
class _(Right):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int | None]:
        return x.detach() * x.detach(), in_dims[0]


@square_functional.wrong_answer(
    "reads_a_value",
    why="`if x.sum() > 0` asks for one number. Under vmap there are many at once, and none that Python could branch on.",
    seen="none that Python could branch on",
)
class _(Right):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x * x if x.numel() == 0 or x.sum() > 0 else (-x) * (-x)


@square_functional.another_form("reads_a_value")
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (
            grad_out * 2 * x if grad_out.numel() > 1 and grad_out.abs().max().item() > 0 else 2 * x * grad_out
        )


@square_functional.wrong_answer(
    "named_vjp",
    why="Function's docstring calls `vjp` and `backward` two names of one thing. That holds for `backward()`; "
    "`torch.func` calls the method named backward.",
    seen="two names of one thing",
)
class _(Function):
    generate_vmap_rule = True
    forward = Right.forward
    setup_context = Right.setup_context
    vjp = Right.backward


@square_functional.wrong_answer(
    "grad_out_ignored",
    why="backward returns the derivative alone, and not the derivative times the gradient that comes in.",
    seen="returns the derivative alone",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x


@square_functional.wrong_answer(
    "detached_in_backward",
    why="`detach` and `.data` cut x off: the first derivative is right, and differentiated again it is 0 by x.",
    seen="`detach` and `.data` cut x off",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x.detach()


@square_functional.another_form("detached_in_backward")
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x.data  # refused under vmap


@square_functional.wrong_answer(
    "saved_an_intermediate",
    why="2 * x is neither input nor output. It is computed off the graph, so it comes back as a constant, and the second "
    "derivative is 0.",
    seen="is neither input nor output",
)
class _(Right):
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(2 * inputs[0])

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (twice,) = ctx.saved_tensors
        return grad_out * twice


@square_functional.wrong_answer(
    "sign_lost",
    why="The output does not know the sign of x: 2 * sqrt(y) is 2 * |x|, right for positive x only.",
    seen="does not know the sign of x",
)
class _(Right):
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad_out * 2 * y.sqrt()


@square_functional.wrong_answer(
    "kept_on_ctx",
    why="A tensor put on ctx as an attribute is not watched: torch neither notices that it was edited, nor frees it "
    "after backward, nor unwraps it for the transform around.",
    seen="put on ctx as an attribute is not watched",
)
class _(Right):
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        (ctx.x,) = inputs

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.x


@square_functional.wrong_answer(
    "kept_on_the_class",
    why="There is one class and one global name, but many calls, and under transforms many levels: the next one "
    "overwrites what this one saved.",
    seen="many levels",
)
class _(Right):
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        _SEEN["x"] = inputs[0]

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * _SEEN["x"]


@square_functional.wrong_answer(
    "once_only",
    why="Under `torch.no_grad()` or `once_differentiable` backward computes numbers without history: the gradient comes "
    "once, and there is no second derivative.",
    seen="numbers without history",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            return grad_out * 2 * x


@square_functional.another_form("once_only")
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x
