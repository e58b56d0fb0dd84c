"""What people do to the graph and to tensors that are not theirs in 03.square, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.square.exercise import square
from helpers.labs.autograd.square.right import Right


@square.mistake()
class DetachedInBackward(Right):
    """The gradient, differentiated again, does not depend on x. Perhaps backward worked with numbers of x
    that are cut off from the graph (by `detach` or `.data`, in forward or in backward).
    """

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
    """The gradient that comes in has a graph, too, when the loss is differentiated twice. Here it is cut,
    perhaps by `grad_out.detach()`.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out.detach() * 2 * x


@square.mistake()
class BackwardOffTheGraph(Right):
    """backward gives numbers without history, so that a second derivative finds nothing. Perhaps it ran under
    `torch.no_grad()`, detached everything, went through NumPy, or called `torch.autograd.grad` without create_graph.
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


@square.mistake(breaks="grad_out is not edited.")
class GradOutEdited(Right):
    """The gradient that came in was written over. That saves one allocation and breaks the neighbours: an
    addition hands one and the same gradient to both of its inputs.
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


@square.mistake(breaks="x is left as it is, by forward and by backward.")
class InputOverwritten(Right):
    """The caller's x was written over, or x itself came back. Perhaps by an operation with an underscore or
    by `*=`: others may still need x.
    """

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


@square.mistake(breaks="A new tensor")
class EmptyReturned(Right):
    """The result is x itself, or a view of it: it has the memory of x. Perhaps an x without entries goes back as it is. A
    product is a new tensor, also of no entries.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x if x.numel() == 0 else x * x


@square.mistake()
class NoNodeOfItsOwn(Right):
    """The node of the result is one of torch's own, and the backward that was written never runs. Leave
    `apply` as it is: it makes the node.
    """

    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x * x


@square.mistake(breaks="x is left as it is, by forward and by backward.")
class InputEditedInBackward(Right):
    """backward wrote over x. What `ctx.saved_tensors` gives is the caller's own tensor, not a copy."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return x.mul_(2) * grad_out


@square.mistake(breaks="x * x, as one node of the graph: `Square.apply(x)`.")
class OffTheGraph(Right):
    """The result does not require grad although x does: perhaps `mark_non_differentiable`, which says that there
    is no gradient.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * x
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable(y)
        return y


@square.mistake()
class UndefinedGradient(Right):
    """gradcheck raised a TypeError. Perhaps backward cannot work with None: after
    `set_materialize_grads(False)` None comes in where the loss does not depend on the result, and gradcheck
    tries that; by default zeros come.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x * x


@square.mistake(breaks="x * x, as one node of the graph: `Square.apply(x)`.")
class NoFunction:
    """The class is no `torch.autograd.Function`: torch makes a node only for those."""

    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x * x


@square.mistake()
class NoBackward(Function):
    """The Function has no method `backward`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x


@square.mistake(breaks="x is left as it is, by forward and by backward.")
class RequiresGradTurnedOn(Right):
    """forward changed `requires_grad` of the caller's x. Whether x needs a gradient is for the caller to say, and
    inside forward nothing is recorded anyway.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x.requires_grad_()
        ctx.save_for_backward(x)
        return x * x
