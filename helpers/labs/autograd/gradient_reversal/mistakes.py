"""What people write for 03.gradient_reversal, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.gradient_reversal.exercise import gradient_reversal

_LAST: dict[str, float] = {}


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, None


@gradient_reversal.mistake()
class SignMissing(Right):
    """The gradient is scaled and not reversed: the layers below learn to help the adversary."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return ctx.scale * grad_out, None


@gradient_reversal.mistake()
class ScaleIgnored(Right):
    """The sign is turned and scale is never used: right for scale 1, which is what people try."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.neg(), None


@gradient_reversal.mistake()
class SignInForward(Right):
    """The sign belongs to backward alone. Turned in forward, the value changes, and what follows sees -x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return -x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, None


@gradient_reversal.mistake()
class ScaledInForward(Right):
    """-scale * x has the wanted gradient and other values: forward must be the identity."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return -scale * x


@gradient_reversal.mistake()
class OneGradientTooFew(Right):
    """forward has two arguments, so backward returns two values. For scale, a number, the second one is None."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out


@gradient_reversal.mistake()
class GradientForANumber(Right):
    """scale is a Python number, which cannot take a gradient: torch accepts nothing but None for it."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, torch.zeros(())


@gradient_reversal.mistake()
class GradOutIgnored(Right):
    """-scale alone is the derivative of one number. backward multiplies it by the gradient that comes in."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return torch.full_like(grad_out, -ctx.scale), None


@gradient_reversal.mistake()
class ScaleAsTensor(Right):
    """torch.tensor(0.1) is a float32: 0.1 loses half of its digits, and float64 gradients with it. A Python
    number is best left one.
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


@gradient_reversal.mistake()
class NumberInSaveForBackward(Right):
    """save_for_backward takes tensors only. A number may stand on ctx itself: it has no graph and no memory
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
    """There is one class and many calls: the scale of the last call is used by all backwards that come after
    it.
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
    """x.detach() shares x's memory and is no view as far as autograd can see: an in-place layer behind it
    overwrites x.
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
    """`grad_out.neg_()` saves one allocation and breaks the neighbours: an addition hands one and the same
    gradient to both of its inputs.
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
    """`grad_out.detach()`, `.data` or `no_grad` cut the gradient's own history: a gradient penalty behind
    this layer is lost.
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
