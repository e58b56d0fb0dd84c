"""What people write for 03.gradient_reversal: gradients that are cleaned, tensors that have other strides."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.gradient_reversal.exercise import gradient_reversal
from helpers.labs.autograd.gradient_reversal.mistakes.methods import KeptForNothing, Right


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
