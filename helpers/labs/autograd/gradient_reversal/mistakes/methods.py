"""What people write for 03.gradient_reversal, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.gradient_reversal.exercise import gradient_reversal

_LAST: dict[str, float] = {}
_BY_MEMORY: dict[int, float] = {}


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class SignMissing(Right):
    """The gradient is scaled and not reversed: the layers below learn to help the adversary."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return ctx.scale * grad_out, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class ScaleIgnored(Right):
    """The gradient has its sign turned and does not depend on scale: right for scale 1, which is what people
    try.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.neg(), None


@gradient_reversal.mistake(breaks="The values of x, as a view (`x.view_as(x)`) or a copy.")
class SignInForward(Right):
    """The sign belongs to backward alone. Turned in forward, the value changes, and what follows sees -x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return -x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, None


@gradient_reversal.mistake(breaks="The values of x, as a view (`x.view_as(x)`) or a copy.")
class ScaledInForward(Right):
    """x comes out scaled: forward must be the identity. scale belongs to backward alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return -scale * x


@gradient_reversal.mistake(breaks="that of scale is None.")
class OneGradientTooFew(Right):
    """backward returned one value, or none (a list counts as one), and forward has two arguments: for scale, a
    number, the second one is None.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out


@gradient_reversal.mistake(breaks="that of scale is None.")
class GradientForANumber(Right):
    """A gradient stands in the place of scale, a Python number, for which torch accepts nothing but None. The
    values are in the order of forward's arguments: that of x first.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, torch.zeros(())


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class GradOutIgnored(Right):
    """-scale alone is the derivative of one number. backward multiplies it by the gradient that comes in."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return torch.full_like(grad_out, -ctx.scale), None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class ScaleAsTensor(Right):
    """The gradient of a float64 x is right to some seven digits only: perhaps scale became a torch.tensor(0.1),
    which is a float32. A Python number is best left one.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = torch.tensor(scale)
        return x.view_as(x)


@gradient_reversal.variant(ScaleAsTensor)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(torch.tensor(scale))
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return -scale * grad_out, None


@gradient_reversal.mistake(breaks="scale: a Python number, int or float, of any sign; 0, too.")
class NumberInSaveForBackward(Right):
    """`save_for_backward` takes tensors only. A number may stand on ctx itself: it has no graph and no memory
    to watch.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(scale)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return -scale * grad_out, None


@gradient_reversal.mistake()
class ScaleOnTheClass(Right):
    """A backward used the scale of the other call. Perhaps it stands on the class or under a global name, of
    which there is one for all calls; ctx is made anew for each.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        _LAST["scale"] = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -_LAST["scale"] * grad_out, None


@gradient_reversal.mistake()
class MemorySharedInSecret(Right):
    """The result shares x's memory and is no view as far as autograd can see (perhaps `x.detach()` or
    `x.data`): an in-place layer behind it overwrites x.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.detach()


@gradient_reversal.variant(MemorySharedInSecret)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.data


@gradient_reversal.mistake()
class GradOutEdited(Right):
    """The gradient that came in was written over. That saves one allocation and breaks the neighbours: an
    addition hands one and the same gradient to both of its inputs.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.mul_(-ctx.scale), None


@gradient_reversal.variant(GradOutEdited)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.neg_() * ctx.scale, None


@gradient_reversal.mistake()
class GradOutDetached(Right):
    """The gradient's own history is cut, perhaps by `grad_out.detach()`, `.data` or `no_grad`: a gradient
    penalty behind this layer is lost.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out.detach(), None


@gradient_reversal.mistake()
class OnceOnly(Right):
    """There is nothing in this backward that could not be differentiated again: `once_differentiable` forbids
    what works.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, None


@gradient_reversal.variant(GradientForANumber)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return None, -ctx.scale * grad_out


@gradient_reversal.mistake()
class KeptForNothing(Right):
    """x or the result is held in memory, and backward needs neither: perhaps `save_for_backward` out of
    habit, or an attribute of ctx. The number is enough.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x.view_as(x)


@gradient_reversal.mistake()
class MemoryKept(Right):
    """A tensor is kept for backward that is neither x nor the result, perhaps a copy, or one filled with scale. The
    number is enough.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x.clone())
        ctx.scale = scale
        return x.view_as(x)


@gradient_reversal.mistake(breaks="scale: a Python number, int or float, of any sign; 0, too.")
class ZeroIsMissing(Right):
    """With scale 0 the gradient is that of a different scale: perhaps `scale or 1`, or `if scale:`, where 0
    counts as none. It is a number like all others.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale or 1.0
        return x.view_as(x)


@gradient_reversal.variant(ZeroIsMissing)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out if ctx.scale else grad_out, None


@gradient_reversal.mistake(breaks="scale: a Python number, int or float, of any sign; 0, too.")
class NoneAtZero(Right):
    """With scale 0, x gets no gradient at all, None: perhaps `if scale:`, where 0 counts as none. The gradient is a
    tensor of zeros, of the shape of x.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out if ctx.scale else None, None


@gradient_reversal.mistake(breaks="scale: a Python number, int or float, of any sign; 0, too.")
class AbsoluteScale(Right):
    """A negative scale is not used as it is: its sign is lost, or it counts as 0. -scale * grad_out holds for it,
    too.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -abs(ctx.scale) * grad_out, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class ScaledTwice(Right):
    """scale is there twice in the gradient."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * ctx.scale * grad_out, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class GradientTimesX(Right):
    """x stands in the gradient. forward is the identity, whose derivative is 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return -ctx.scale * grad_out * x, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class DividedByScale(Right):
    """The gradient was divided by scale. It is multiplied."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -grad_out / ctx.scale, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class PassedThrough(Right):
    """The gradient goes out as it came in: neither turned nor scaled."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class NoGradientReturned(Right):
    """x gets no gradient: backward returned None for it. That is no error; what stands before never learns."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return None, None


@gradient_reversal.variant(OneGradientTooFew)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        -ctx.scale * grad_out  # noqa: B018


@gradient_reversal.mistake(breaks="The values of x, as a view (`x.view_as(x)`) or a copy.")
class NothingReturned(Right):
    """forward returned None. Perhaps the line `return ...` is missing."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class ScaleNotKept(Right):
    """backward looked for the scale and found none: forward has to put it on ctx, under the same name."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        return x.view_as(x)


@gradient_reversal.variant(ScaleNotKept)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.alpha = scale
        return x.view_as(x)


@gradient_reversal.mistake(breaks="The values of x, as a view (`x.view_as(x)`) or a copy.")
class MarkedDirty(Right):
    """forward says that it edits x, with `mark_dirty`: it does not, and a leaf is refused. A view is enough."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        ctx.mark_dirty(x)
        return x


@gradient_reversal.mistake()
class NoNodeOfItsOwn(Right):
    """torch's own nodes are recorded, and the backward that was written never runs: leave `apply` as it is, it
    makes the node.
    """

    @staticmethod
    def apply(x: Tensor, scale: float) -> Tensor:
        return (1 + scale) * x.detach() - scale * x


@gradient_reversal.variant(NoNodeOfItsOwn)
class _(Right):
    @staticmethod
    def apply(x: Tensor, scale: float) -> Tensor:
        y = x.view_as(x)
        if y.requires_grad:
            y.register_hook(lambda grad: -scale * grad)
        return y


@gradient_reversal.mistake(breaks="as one node of the graph: `GradientReversal.apply(x, scale)`.")
class NoFunction:
    """The class is no `torch.autograd.Function`: torch makes a node only for those."""

    @staticmethod
    def apply(x: Tensor, scale: float) -> Tensor:
        return x


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class NoBackward(Function):
    """The Function has no method `backward`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        return x.view_as(x)


@gradient_reversal.variant(AbsoluteScale)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -max(ctx.scale, 0) * grad_out, None


@gradient_reversal.variant(ScaledInForward)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return scale * x


@gradient_reversal.variant(MarkedDirty)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        ctx.mark_dirty(x)
        return x.view_as(x)


@gradient_reversal.mistake(breaks="x is not edited.")
class InputOverwritten(Right):
    """The caller's x was written over, perhaps by an operation with an underscore. forward changes nothing."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.neg_()


@gradient_reversal.mistake(breaks="The values of x, as a view (`x.view_as(x)`) or a copy.")
class DtypeChanged(Right):
    """The result has a dtype that x has not."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.float()


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class GradientReduced(Right):
    """backward gave one number for all of x. Each entry of x has a gradient of its own."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out.sum(), None


@gradient_reversal.variant(GradientReduced)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class SubtractedFromGradOut(Right):
    """scale was subtracted from the gradient that comes in. The two are multiplied."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out - ctx.scale, None


@gradient_reversal.mistake(breaks="`GradientReversal.apply(x, scale)`.")
class ArgumentsExchanged(Right):
    """forward used the number as a tensor. Perhaps it takes scale before x: the order is that of `apply(x,
    scale)`, after ctx.
    """

    @staticmethod
    def forward(ctx: Any, scale: float, x: Tensor) -> Tensor:
        ctx.scale = scale
        return x.view_as(x)


@gradient_reversal.variant(ScaleOnTheClass)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.at = x.data_ptr()
        _BY_MEMORY[ctx.at] = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -_BY_MEMORY[ctx.at] * grad_out, None


@gradient_reversal.variant(MemorySharedInSecret)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.clone() if x.is_contiguous() else x.detach()


@gradient_reversal.mistake(breaks="scale: a Python number, int or float, of any sign; 0, too.")
class ScaleAsInt(Right):
    """With scale 0.1 the gradient is 0: perhaps scale became an int, or was rounded to one."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -int(ctx.scale) * grad_out, None


@gradient_reversal.mistake(breaks="scale: a Python number, int or float, of any sign; 0, too.")
class ScaleClipped(Right):
    """With scale 2 the gradient is that of scale 1: perhaps scale was clipped. It is a number of any size."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = min(max(scale, -1.0), 1.0)
        return x.view_as(x)


@gradient_reversal.mistake(breaks="scale: a Python number, int or float, of any sign; 0, too.")
class IntIgnored(Right):
    """With scale 3, an int, the gradient is that of scale 1: perhaps only a float counts as a scale here."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out if isinstance(ctx.scale, float) else -grad_out, None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class ScaleRounded(Right):
    """A scale of many digits is not used as it is: perhaps it was rounded to some of them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = round(scale, 3)
        return x.view_as(x)
