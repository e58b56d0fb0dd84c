"""What people write for 03.gradient_reversal: gradients that are cleaned, tensors that have other strides."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.gradient_reversal.exercise import gradient_reversal
from helpers.labs.autograd.gradient_reversal.mistakes.methods import GradOutEdited, KeptForNothing, Right


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class GradientCleaned(Right):
    """An infinite or a nan that came in did not go on times -scale: perhaps `nan_to_num`, or a special case for scale 0.
    A gradient scaler looks for them, to skip the step.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * torch.nan_to_num(grad_out), None


@gradient_reversal.variant(GradientCleaned)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return torch.nan_to_num(-ctx.scale * grad_out), None


@gradient_reversal.variant(GradientCleaned)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out if ctx.scale else torch.zeros_like(grad_out), None


@gradient_reversal.mistake(breaks="The gradient of x is -scale * grad_out")
class LargeGradientClipped(Right):
    """A large gradient came out changed: perhaps it was clipped. It is -scale times what came in, whatever its size."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out.clamp(-100, 100), None


@gradient_reversal.mistake(breaks="x: floating, any shape, any strides.")
class Viewed(Right):
    """A tensor that is not contiguous, and `.view` raises: perhaps x, or the gradient that came in, is made flat by it.
    `view_as(x)` of x itself always works; nothing here must be flat.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.view(-1).view(x.shape)


@gradient_reversal.variant(Viewed)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return (-ctx.scale * grad_out.view(-1)).view(grad_out.shape), None


@gradient_reversal.variant(KeptForNothing)
class _(Right):
    """x alone, where the result is a copy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x.clone()


@gradient_reversal.variant(KeptForNothing)
class _(Right):
    """The result, a copy of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale, ctx.result = scale, x.clone()
        return ctx.result


@gradient_reversal.variant(GradOutEdited)
class _(Right):
    """Only for scale 1, as a short cut."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return (grad_out.neg_() if ctx.scale == 1 else -ctx.scale * grad_out), None


OF_X = "The gradient of x is -scale * grad_out"
OF_ANY_SIGN = "scale: a Python number, int or float, of any sign; 0, too."


@gradient_reversal.mistake(breaks=OF_X)
class GradientClipped(Right):
    """No entry of the gradient, or of what came in, is larger than 1: perhaps it was cut to the range from -1 to 1. It is
    -scale times what came in, whatever its size.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out.clamp(-1, 1), None


@gradient_reversal.variant(GradientClipped)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return (-ctx.scale * grad_out).clamp(-1, 1), None


@gradient_reversal.mistake(breaks=OF_X)
class SignsOnly(Right):
    """The gradient is scale, or -scale, in every entry: of what came in only the sign counts. Perhaps sign() was taken of it;
    the sign is turned by the minus alone.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out.sign(), None


@gradient_reversal.mistake(breaks=OF_X)
class Scheduled(Right):
    """The gradient is turned and its factor is 2 / (1 + exp(-10 * scale)) - 1, the schedule of a well-known paper. scale is
    the factor itself: a schedule is the caller's.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -(2 / (1 + math.exp(-10 * ctx.scale)) - 1) * grad_out, None


@gradient_reversal.mistake(breaks=OF_ANY_SIGN)
class NegativeRefused(Right):
    """With a scale below 0 an error came. Perhaps only positive numbers are let in: scale is of any sign."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        if scale < 0:
            raise ValueError("scale below 0")
        return Right.forward(ctx, x, scale)


@gradient_reversal.mistake(breaks=OF_ANY_SIGN)
class IntRefused(Right):
    """With scale 3, an int, an error came, and with a float none. Perhaps the type was asked: an int is a number, too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        if not isinstance(scale, float):
            raise TypeError("scale is no float")
        return Right.forward(ctx, x, scale)


@gradient_reversal.mistake(breaks="`GradientReversal.apply(x, scale)`")
class ScaleNotTaken(Right):
    """apply is called with x and scale, and forward takes a different number of arguments. Perhaps the one for scale is
    missing, as in code that is written for scale 1 alone.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)


@gradient_reversal.mistake(breaks="x: floating, any shape, any strides.")
class ThroughNumpy(Right):
    """An error came where x has no dimensions or is bfloat16. Perhaps x went through NumPy, which makes a number of the one and
    has not the other: `view_as(x)` takes every tensor.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return torch.from_numpy(x.detach().numpy().copy())


@gradient_reversal.variant(ThroughNumpy)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return torch.from_numpy(x.detach().numpy() + 0)
