"""What people write for 03.square_functional, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.square_functional.exercise import square_functional

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


@square_functional.mistake()
class OldStyle(Function):
    """A forward that takes ctx works with `backward`, and `torch.func` refuses it: there the context is set
    up apart, once for each transform around.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


@square_functional.variant(OldStyle)
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


@square_functional.mistake()
class NoVmapRule(Right):
    """torch does not guess that your methods may be batched: `generate_vmap_rule = True` says that they are
    made of torch operations only.
    """

    generate_vmap_rule = False


@square_functional.mistake()
class BatchAlwaysFirst(Right):
    """`vmap` tells where the batch stands, in in_dims, and wants to hear where it stands in the result. 0 is
    right for the usual call only.
    """

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int]:
        return x * x, 0


@square_functional.variant(BatchAlwaysFirst)
class _(Right):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        (x,) = inputs
        return Right.apply(x), 0


@square_functional.variant(BatchAlwaysFirst)
class _(Right):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int]:
        return torch.stack([x[i] * x[i] for i in range(info.batch_size)]), 0


@square_functional.mistake()
class BatchOffTheGraph(Right):
    """The batched version computes with detached tensors: right values, and no gradient goes through vmap."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int | None]:
        return x.detach() * x.detach(), in_dims[0]


@square_functional.mistake()
class ReadsAValue(Right):
    """`if x.sum() > 0` asks for one number. Under vmap there are many at once, and none that Python could
    branch on.
    """

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x * x if x.numel() == 0 or x.sum() > 0 else (-x) * (-x)


@square_functional.variant(ReadsAValue)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (
            grad_out * 2 * x if grad_out.numel() > 1 and grad_out.abs().max().item() > 0 else 2 * x * grad_out
        )


@square_functional.mistake()
class NamedVjp(Function):
    """Function's docstring calls `vjp` and `backward` two names of one thing. That holds for `backward()`;
    `torch.func` calls the method named backward.
    """

    generate_vmap_rule = True
    forward = Right.forward
    setup_context = Right.setup_context
    vjp = Right.backward


@square_functional.mistake()
class GradOutIgnored(Right):
    """backward returns the derivative alone, and not the derivative times the gradient that comes in."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x


@square_functional.mistake()
class DetachedInBackward(Right):
    """`detach` and `.data` cut x off: the first derivative is right, and differentiated again it is 0 by x."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x.detach()


@square_functional.variant(DetachedInBackward)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x.data  # refused under vmap


@square_functional.mistake()
class SavedAnIntermediate(Right):
    """2 * x is neither input nor output. It is computed off the graph, so it comes back as a constant, and
    the second derivative is 0.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(2 * inputs[0])

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (twice,) = ctx.saved_tensors
        return grad_out * twice


@square_functional.mistake()
class SignLost(Right):
    """The output does not know the sign of x: 2 * sqrt(y) is 2 * |x|, right for positive x only."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad_out * 2 * y.sqrt()


@square_functional.mistake()
class KeptOnCtx(Right):
    """A tensor put on ctx as an attribute is not watched: torch neither notices that it was edited, nor frees
    it after backward, nor unwraps it for the transform around.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        (ctx.x,) = inputs

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * ctx.x


@square_functional.mistake()
class KeptOnTheClass(Right):
    """There is one class and one global name, but many calls, and under transforms many levels: the next one
    overwrites what this one saved.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        _SEEN["x"] = inputs[0]

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out * 2 * _SEEN["x"]


@square_functional.mistake()
class OnceOnly(Right):
    """Under `torch.no_grad()` or `once_differentiable` backward computes numbers without history: the
    gradient comes once, and there is no second derivative.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            return grad_out * 2 * x


@square_functional.variant(OnceOnly)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x
