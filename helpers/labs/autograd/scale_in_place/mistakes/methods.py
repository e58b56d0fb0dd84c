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


@scale_in_place.mistake(
    breaks="x *= scale, in the memory of x: `ScaleInPlace.apply(x, scale)` returns x itself."
)
class MarkDirtyForgotten(Right):
    """The result lies in the memory of x and is not x itself, or not with the new node. Perhaps
    `ctx.mark_dirty(x)` was not called, here or in this case: it tells torch of the edit and gives x the new
    node, whoever of the two needs a gradient.
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


@scale_in_place.mistake(
    breaks="x *= scale, in the memory of x: `ScaleInPlace.apply(x, scale)` returns x itself."
)
class NotInPlace(Right):
    """The result is right, and x keeps its values. Perhaps x * scale was computed, which is a new tensor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x * scale


@scale_in_place.mistake(
    breaks="x *= scale, in the memory of x: `ScaleInPlace.apply(x, scale)` returns x itself."
)
class MarkedButNotReturned(Right):
    """What was marked with `mark_dirty` does not come back: each tensor that is marked must be edited and
    returned, itself and no copy. (scale is neither edited nor returned, so it is not marked.)
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x * scale


@scale_in_place.variant(MarkedButNotReturned)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        x.mul_(scale)
        return x.clone()


@scale_in_place.mistake(
    breaks="x *= scale, in the memory of x: `ScaleInPlace.apply(x, scale)` returns x itself."
)
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
    """scale gets no gradient, None or zeros. This scale is a tensor that may be a parameter, and so it never
    learns.
    """

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
    """The gradient of scale is scale times too large. Perhaps it is made of the edited x, which was saved itself or copied
    after the edit, or scale is multiplied in once more. What the edit destroys must be copied before.
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
    """The gradient of scale is nan for scale 0: perhaps x was computed back, as x / scale. That saves the copy,
    and 0 / 0 is nan.
    """

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
    """Where scale needs no gradient, memory is kept that is neither x nor scale. Perhaps x is copied always,
    or wherever anything needs a gradient: the copy is for the gradient of scale alone. Ask `ctx.needs_input_grad[1]`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone())
        ctx.mark_dirty(x)
        return x.mul_(scale)


@scale_in_place.mistake()
class ScaleOnCtx(Right):
    """After an edit of scale, such as an optimizer's step, backward used the new scale for the old forward.
    Perhaps scale stands on ctx as an attribute, which torch does not watch.
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
    """The second derivative is wrong, and nothing says so. Perhaps backward used the copy of x, which is neither
    input nor output and counts as a constant, or it recorded no graph. `@once_differentiable` makes it an error.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * before).sum()


@scale_in_place.mistake()
class GradientNotScaled(Right):
    """The gradient of x goes out as it came in, as if x had not been scaled."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        _, before = ctx.saved_tensors
        return grad_out, None if before is None else (grad_out * before).sum()


@scale_in_place.mistake()
class GradOutIgnored(Right):
    """A gradient is that of y.sum(): right where ones come in, and for no other loss. Perhaps grad_out has no
    part in it.
    """

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


@scale_in_place.variant(GradOutIgnored)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else before.sum()


@scale_in_place.variant(NoneForScale)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, _ = ctx.saved_tensors
        return grad_out * scale, torch.zeros_like(scale)


@scale_in_place.mistake()
class AskedForTheOther(Right):
    """scale gets no gradient where x needs none. Perhaps `ctx.needs_input_grad[0]` was asked: [1] tells of
    scale, [0] of x.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[0] else None)
        ctx.mark_dirty(x)
        return x.mul_(scale)


@scale_in_place.mistake()
class NoGradientForX(Right):
    """What x was made of gets no gradient. Perhaps backward returned None for x: the values are in the order of
    forward's arguments, that of x first.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return None if before is None else (grad_out * before).sum(), grad_out * scale


@scale_in_place.mistake()
class FactorsExchanged(Right):
    """Each factor's derivative is the other factor: x gets grad_out * scale, and scale grad_out * x. Here one of
    them got its own.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * scale).sum()


@scale_in_place.variant(FactorsExchanged)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone())
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * before, (grad_out * scale).sum()


@scale_in_place.mistake()
class MeanForSum(Right):
    """The gradient of scale is the mean of grad_out * x. scale was used once for each number of x, and each use
    gives a share: the sum.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * before).mean()


@scale_in_place.mistake()
class XForgotten(Right):
    """The gradient of scale is the sum of grad_out, and x does not stand in it."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else grad_out.sum()


@scale_in_place.mistake()
class NotAllDigits(Right):
    """The gradient of scale is right to some digits only: perhaps a small number was added before a division, or
    the copy of x has a shorter dtype.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.float() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x.mul_(scale)


@scale_in_place.mistake()
class ScaledTwice(Right):
    """scale is there twice: x comes out times scale * scale, or its gradient does."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale * scale, None if before is None else (grad_out * before).sum()


@scale_in_place.variant(ScaledTwice)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        x.mul_(scale)
        return x.mul_(scale)


@scale_in_place.mistake()
class OneGradientTooFew(Right):
    """forward has two arguments, so backward returns two values; None for a scale that needs no gradient."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, _ = ctx.saved_tensors
        return grad_out * scale


@scale_in_place.mistake()
class GradOutEdited(Right):
    """The gradient that came in was written over. That saves one allocation and breaks the neighbours: an
    addition hands one and the same gradient to both of its inputs.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        of_scale = None if before is None else (grad_out * before).sum()
        return grad_out.mul_(scale), of_scale


@scale_in_place.mistake(
    breaks="x *= scale, in the memory of x: `ScaleInPlace.apply(x, scale)` returns x itself."
)
class ShortCutForOne(Right):
    """For scale 1 something else happens, perhaps `if scale == 1: return x`. The values stay, and autograd needs
    all the rest: the mark, and what backward uses.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        if scale == 1:
            ctx.save_for_backward(scale, None)
            return x
        return Right.forward(ctx, x, scale)


@scale_in_place.variant(ShortCutForOne)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        if scale == 1:
            ctx.save_for_backward(scale, None)
            ctx.mark_dirty(x)
            return x
        return Right.forward(ctx, x, scale)


@scale_in_place.mistake(breaks="x *= scale")
class ZeroForAll(Right):
    """For scale 0 the result is 0 everywhere. x *= 0 leaves nan where x is nan or infinite."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        if scale == 0:
            ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
            ctx.mark_dirty(x)
            return x.zero_()
        return Right.forward(ctx, x, scale)


@scale_in_place.mistake(breaks="x *= scale")
class WrongOperation(Right):
    """x comes out plus scale, or divided by it. It is to be multiplied."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x.add_(scale)


@scale_in_place.variant(WrongOperation)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x.div_(scale)


@scale_in_place.mistake(breaks="scale is not edited.")
class ScaleEdited(Right):
    """scale was edited. It is the caller's: only x may change."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale.clone(), x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        x.mul_(scale)
        scale.zero_()
        return x


@scale_in_place.mistake(breaks="x may be edited again later.")
class SavedItself(Right):
    """Backward raised after x was edited again, although it needs nothing of what x holds then. Perhaps x
    itself was saved, and not a copy: the next in-place layer edits it.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else x)
        ctx.mark_dirty(x)
        return x.mul_(scale)


_LAST: dict[str, Any] = {}


@scale_in_place.mistake(
    breaks="The gradient of what x was made of is scale * grad_out, through the result and through x."
)
class KeptOnTheClass(Right):
    """The gradients of one call are made of what the next one was given. Perhaps that stands on the class or under
    a global name, of which there is one for all calls; ctx is made anew for each.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        _LAST["scale"], _LAST["x"] = scale, x.clone()
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out * _LAST["scale"], (grad_out * _LAST["x"]).sum()


@scale_in_place.mistake()
class NoNodeOfItsOwn(Right):
    """The result's node is that of one of torch's own operations. Perhaps `apply` was replaced, and the backward
    that was written never runs: leave `apply` as it is, it makes the node.
    """

    @staticmethod
    def apply(x: Tensor, scale: Tensor) -> Tensor:
        return x.mul_(scale)


@scale_in_place.mistake()
class NotAllSaved(Right):
    """A tuple has fewer entries than backward takes from it. Perhaps `ctx.saved_tensors`: it gives what
    `save_for_backward` was given, in that order.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale)
        ctx.mark_dirty(x)
        return x.mul_(scale)


@scale_in_place.variant(NotAllSaved)
class _(NotAllSaved):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out * ctx.saved_tensors[0], (grad_out * ctx.saved_tensors[1]).sum()


@scale_in_place.mistake()
class OneOfTwo(Right):
    """Where scale needs a gradient, too, x gets none (None). backward returns one for each that needs it."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return (grad_out * scale, None) if before is None else (None, (grad_out * before).sum())
