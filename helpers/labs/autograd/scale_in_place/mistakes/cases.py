"""What people write for 03.scale_in_place: leaves, and the copy that is made in the wrong case."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.scale_in_place.exercise import scale_in_place
from helpers.labs.autograd.scale_in_place.mistakes.methods import KeptOnTheClass, Right, SavedAfterTheEdit

ITSELF = "x *= scale, in the memory of x: `ScaleInPlace.apply(x, scale)` returns x itself."


@scale_in_place.mistake(breaks=ITSELF)
class OnlyContiguous(Right):
    """x is edited where it is contiguous, and a transposed x keeps its values. Perhaps x.contiguous() was edited, or a
    reshaped x: that is a copy where x is not contiguous.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        edited = x.contiguous()
        if edited is x:
            ctx.mark_dirty(x)
        return edited.mul_(scale)


@scale_in_place.variant(OnlyContiguous)
class _(Right):
    """Reshaped, and back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        flat = x.reshape(-1).mul_(scale)
        if flat.data_ptr() != x.data_ptr():
            return flat.reshape(x.shape)
        ctx.mark_dirty(x)
        return x


@scale_in_place.variant(OnlyContiguous)
class _(Right):
    """A copy is edited, and x returned as it was."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        x.contiguous().mul_(scale)
        return x


@scale_in_place.mistake(breaks="The gradient of what x was made of is scale * grad_out")
class GradientDivided(Right):
    """The gradient of what x was made of is grad_out divided by scale. The result is scale * x, so a step in x is scale times as
    large there: grad_out * scale.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out / scale, None if before is None else (grad_out * before).sum()


@scale_in_place.mistake(breaks="The gradient of scale is the sum of grad_out * x")
class SignOfScale(Right):
    """The gradient of scale has the wrong sign. It is the sum of grad_out * x, without a minus: the optimizer sets its own."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else -(grad_out * before).sum()


@scale_in_place.mistake(breaks="The gradient of scale is the sum of grad_out * x")
class DotOfMatrices(Right):
    """For an x with two dimensions an operation raised that takes vectors alone. Perhaps torch.dot, for the gradient of scale:
    (grad_out * before).sum() takes any shape.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else torch.dot(grad_out, before)


@scale_in_place.mistake(breaks=ITSELF)
class ViewOfStrided(Right):
    """A transposed x is refused. Perhaps view was called on it, which needs numbers that lie in a row; no shape is needed: mul_
    edits an x with any strides.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        x.view(-1).mul_(scale)
        return x


_BEFORE: dict[str, Tensor] = {}


@scale_in_place.variant(KeptOnTheClass)
class _(Right):
    """Only the copy of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale)
        if ctx.needs_input_grad[1]:
            _BEFORE["x"] = x.clone()
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return grad_out * scale, (grad_out * _BEFORE["x"]).sum() if ctx.needs_input_grad[1] else None


@scale_in_place.mistake(breaks="a leaf that requires grad is refused with one")
class DifferentErrorForALeaf(Right):
    """A leaf that requires grad was refused, and not with a RuntimeError. torch refuses it by itself, if x is marked."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        if x.is_leaf and x.requires_grad:
            raise ValueError("a leaf that requires grad cannot be edited in place")
        return Right.forward(ctx, x, scale)


@scale_in_place.mistake(breaks="a leaf that requires grad is refused with one")
class LeafTaken(Right):
    """A leaf that requires grad was not refused: perhaps there is a way of its own for it, in which x is not marked. torch
    refuses the edit of such a leaf by itself, if x is marked.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        if not (x.is_leaf and x.requires_grad):
            return Right.forward(ctx, x, scale)
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x * scale


@scale_in_place.mistake(breaks="A copy of x is kept only if scale needs a gradient.")
class CopiedForX(Right):
    """Where scale needs a gradient and x does not, backward multiplied with None. Perhaps the copy of x is
    missing, since `needs_input_grad[0]` was asked in forward. [0] tells of x, [1] of scale.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[0] else None)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, (grad_out * before).sum() if ctx.needs_input_grad[1] else None


@scale_in_place.variant(SavedAfterTheEdit)
class _(Right):
    """scale once more."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        slope = grad_out * scale
        return slope, None if before is None else (slope * before).sum()


@scale_in_place.mistake(breaks="A copy of x is kept only if scale needs a gradient.")
class CopyNotThere(Right):
    """Where scale needs no gradient, backward multiplied with None. Perhaps the copy of x is not made then, and backward computes
    the gradient of scale all the same: ask `ctx.needs_input_grad[1]` there, too.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, (grad_out * before).sum()


@scale_in_place.variant(CopyNotThere)
class _(Right):
    """The factors exchanged."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, (before * grad_out).sum()
