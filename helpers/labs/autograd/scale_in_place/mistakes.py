"""What people write for 03.scale_in_place, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.scale_in_place.exercise import scale_in_place


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * before).sum()


@scale_in_place.mistake()
class MarkDirtyForgotten(Right):
    """Nobody told torch of the edit: x keeps its old grad_fn, and its gradient lacks the scale.
    `ctx.mark_dirty(x)` gives x the new node.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x.mul_(scale)


@scale_in_place.variant(MarkDirtyForgotten)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        x.data.mul_(scale)
        return x


@scale_in_place.variant(MarkDirtyForgotten)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        x *= scale
        return x.view_as(x)


@scale_in_place.mistake()
class NotInPlace(Right):
    """x * scale is a new tensor: x keeps its values, and nothing was saved by the edit that did not happen."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x * scale


@scale_in_place.mistake()
class DirtyButNotEdited(Right):
    """mark_dirty announces an edited input, and what comes back is not that input: each tensor that is marked
    must be returned, itself and no copy.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x * scale


@scale_in_place.variant(DirtyButNotEdited)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        x.mul_(scale)
        return x.clone()


@scale_in_place.mistake()
class CopyReturned(Right):
    """x is edited, and a copy goes back: two tensors hold one value, and x's own history knows nothing of the
    edit.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        x.mul_(scale)
        return x.clone()


@scale_in_place.mistake()
class NoneForScale(Right):
    """None is for numbers. This scale is a tensor that may be a parameter, and with None it never learns."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return grad_out * scale, None


@scale_in_place.variant(NoneForScale)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return grad_out * scale, None


@scale_in_place.mistake()
class SavedAfterTheEdit(Right):
    """The saved x is the edited one, since both are one memory: the gradient of scale comes out scale times
    too large. What the edit destroys must be copied before.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x)
        return x


@scale_in_place.variant(SavedAfterTheEdit)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x


@scale_in_place.mistake()
class DividedByScale(Right):
    """x_before = x / scale saves the copy, and fails for scale 0: 0 / 0 is nan."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, after = ctx.saved_tensors
        return grad_out * scale, (grad_out * after / scale).sum()


@scale_in_place.variant(DividedByScale)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x / scale if ctx.needs_input_grad[1] else None)
        return x


@scale_in_place.mistake()
class CopiedAlways(Right):
    """The copy is for the gradient of scale alone. Where nobody needs that, it costs the memory which the
    in-place edit was to save: ask `ctx.needs_input_grad[1]`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone())
        ctx.mark_dirty(x)
        return x.mul_(scale)


@scale_in_place.mistake()
class ScaleOnCtx(Right):
    """A tensor put on ctx as an attribute is not watched: after an optimizer's step, backward uses the new
    scale for the old forward.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.scale = scale
        ctx.save_for_backward(x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (before,) = ctx.saved_tensors
        return grad_out * ctx.scale, None if before is None else (grad_out * before).sum()


@scale_in_place.variant(ScaleOnCtx)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.scale = scale
        ctx.before = x.clone() if ctx.needs_input_grad[1] else None
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out * ctx.scale, None if ctx.before is None else (grad_out * ctx.before).sum()


@scale_in_place.mistake()
class SilentSecondDerivative(Right):
    """The saved copy of x is neither input nor output, so it is a constant in the second derivative, and
    nothing says so. `@once_differentiable` makes it an error.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * before).sum()


@scale_in_place.mistake()
class GradientNotScaled(Right):
    """The edit is undone for x in backward: grad_out goes out as it came in, as if x had not been scaled."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        _, before = ctx.saved_tensors
        return grad_out, None if before is None else (grad_out * before).sum()


@scale_in_place.mistake()
class GradOutIgnored(Right):
    """The gradients are those of y.sum(): right for a gradient of ones, and for no other loss."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return scale.expand_as(grad_out), None if before is None else before.sum()


@scale_in_place.variant(GradOutIgnored)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return torch.ones_like(grad_out) * scale, None if before is None else (grad_out * before).sum()
