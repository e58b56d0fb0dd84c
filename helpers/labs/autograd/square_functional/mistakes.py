"""What people write for 03.square_functional, and why it is wrong.

What is wrong with Square is wrong here, too: its mistakes fall before torch.func is asked, whichever style they have.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from helpers.labs.autograd.square.exercise import square
from helpers.labs.autograd.square_functional.exercise import square_functional

OF_SQUARE_ALONE = {"x * x, as one node of the graph: `Square.apply(x)`.": "one node of the graph for x * x."}

for name, known in square.mistakes.items():
    breaks = OF_SQUARE_ALONE.get(known.breaks, known.breaks)
    square_functional.add_mistake(name, known.answer, why=known.why, breaks=breaks)
    for variant in known.variants:
        square_functional.add_variant(name, variant)


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


@square_functional.mistake(breaks="forward takes no ctx; setup_context(ctx, inputs, output) saves.")
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


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class NoVmapRule(Right):
    """torch does not guess that your methods may be batched: `generate_vmap_rule = True` says that they are
    made of torch operations only.
    """

    generate_vmap_rule = False


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class BatchAlwaysFirst(Right):
    """`vmap` tells where the batch stands, in in_dims, and wants to hear where it stands in the result. What
    was said here is true for in_dims=0 only.
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
    """Through vmap the gradient is 0, and the values are right. Perhaps the batched version computes with
    detached tensors.
    """

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int | None]:
        return x.detach() * x.detach(), in_dims[0]


@square_functional.mistake(breaks="No method turns a tensor into a Python number.")
class ReadsAValue(Right):
    """One number was asked for, as `if x.sum() > 0`, `.item()` and `float` do. Under vmap there are many at once, and
    none that Python could use.
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


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class NamedVjp(Function):
    """Function's docstring calls `vjp` and `backward` two names of one thing. That holds for `backward()`;
    `torch.func` calls the method named backward.
    """

    generate_vmap_rule = True
    forward = Right.forward
    setup_context = Right.setup_context
    vjp = Right.backward


@square_functional.variant("nothing_saved")
class _(Right):
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        pass


@square_functional.mistake(breaks="forward takes no ctx; setup_context(ctx, inputs, output) saves.")
class NoSetupContext(Function):
    """forward takes one argument, and torch gave it two, ctx and x. Perhaps the class has no `setup_context`:
    torch takes this for the old style.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


@square_functional.mistake(breaks="forward takes no ctx; setup_context(ctx, inputs, output) saves.")
class CtxInForward(Right):
    """forward was called with fewer arguments than it takes. Perhaps it takes ctx, too: a class that has a
    `setup_context` has forward(x), not forward(ctx, x).
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * x


@square_functional.mistake(breaks="forward takes no ctx; setup_context(ctx, inputs, output) saves.")
class SetupArguments(Right):
    """`setup_context` is called with three arguments, (ctx, inputs, output), in this order and whatever their
    names: inputs is a tuple, also of one.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs)


@square_functional.variant(SetupArguments)
class _(Right):
    @staticmethod
    def setup_context(inputs: tuple[Tensor, ...], ctx: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)


@square_functional.variant("input_overwritten")
class _(Right):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.mul_(x)


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class NoOutDim(Right):
    """`vmap` returns a pair: the result, and the dimension of the result that is the batch."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> Tensor:
        return x * x


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class OutDimNone(Right):
    """With vmap the batch stands in the result twice. Perhaps `vmap` says None for its dimension: so the
    result counts as one for all samples, and is repeated.
    """

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, None]:
        return x * x, None


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class OutDimsTuple(Right):
    """`vmap` gave a tuple for the dimension of the result, perhaps in_dims. For one result it says one
    number, `in_dims[0]`.
    """

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, Any]:
        return Right.apply(x), in_dims


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class TwoVmapRules(Right):
    """There are two batched versions, `generate_vmap_rule = True` and a method vmap: torch wants one."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int | None]:
        return Right.apply(x), in_dims[0]


@square_functional.mistake(
    breaks="x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."
)
class DataUnderVmap(Right):
    """`.data` is forbidden under `vmap`, and where it is allowed, it cuts x off the graph."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.data * x.data


@square_functional.variant(BatchAlwaysFirst)
class _(Right):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> tuple[Tensor, int | None]:
        return Right.apply(x.movedim(in_dims[0], 0)), in_dims[0]


@square_functional.variant(ReadsAValue)
class _(Right):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.new_tensor(x.item() ** 2) if x.dim() == 0 else x * x


@square_functional.variant(ReadsAValue)
class _(Right):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.new_tensor(float(x) ** 2).reshape(x.shape) if x.numel() == 1 else x * x


@square_functional.mistake()
class AutogradInside(Right):
    """Under vmap over vjp something was to be differentiated that has no graph. Perhaps backward calls torch.autograd.grad on
    x * x: it works where there is a graph of x, and under a transform there is none. The derivative is known: write 2 * x.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x if x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(x * x, x, grad_out, create_graph=True)[0]


@square_functional.mistake()
class EditsUnderVmap(Right):
    """A tensor was edited in place, perhaps by `.mul_`. Under vmap it may be one for all samples, and what is
    multiplied into it one for each: a batch finds no place there.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (grad_out * 2).mul_(x)
