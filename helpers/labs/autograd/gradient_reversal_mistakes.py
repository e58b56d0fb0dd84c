"""What people write for 03.gradient_reversal."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.gradient_reversal import gradient_reversal

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


@gradient_reversal.wrong_answer(
    "sign_missing",
    why="The gradient is scaled and not reversed: the layers below learn to help the adversary.",
    seen="learn to help the adversary",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return ctx.scale * grad_out, None


@gradient_reversal.wrong_answer(
    "scale_ignored",
    why="The sign is turned and scale is never used: right for scale 1, which is what people try.",
    seen="right for scale 1",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.neg(), None


@gradient_reversal.wrong_answer(
    "sign_in_forward",
    why="The sign belongs to backward alone. Turned in forward, the value changes, and what follows sees -x.",
    seen="what follows sees -x",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return -x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, None


@gradient_reversal.wrong_answer(
    "scaled_in_forward",
    why="-scale * x has the wanted gradient and other values: forward must be the identity.",
    seen="has the wanted gradient and other values",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return -scale * x


@gradient_reversal.wrong_answer(
    "one_gradient_too_few",
    why="forward has two arguments, so backward returns two values. For scale, a number, the second one is None.",
    seen="For scale, a number, the second one is None",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out


@gradient_reversal.wrong_answer(
    "gradient_for_a_number",
    why="scale is a Python number, which cannot take a gradient: torch accepts nothing but None for it.",
    seen="accepts nothing but None for it",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, torch.zeros(())


@gradient_reversal.wrong_answer(
    "grad_out_ignored",
    why="-scale alone is the derivative of one number. backward multiplies it by the gradient that comes in.",
    seen="is the derivative of one number",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return torch.full_like(grad_out, -ctx.scale), None


@gradient_reversal.wrong_answer(
    "scale_as_tensor",
    why="torch.tensor(0.1) is a float32: 0.1 loses half of its digits, and float64 gradients with it. A Python number is "
    "best left one.",
    seen="0.1 loses half of its digits",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = torch.tensor(scale)
        return x.view_as(x)


@gradient_reversal.another_form("scale_as_tensor")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(torch.tensor(scale))
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return -scale * grad_out, None


@gradient_reversal.wrong_answer(
    "number_in_save_for_backward",
    why="save_for_backward takes tensors only. A number may stand on ctx itself: it has no graph and no memory to watch.",
    seen="has no graph and no memory to watch",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(scale)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return -scale * grad_out, None


@gradient_reversal.wrong_answer(
    "scale_on_the_class",
    why="There is one class and many calls: the scale of the last call is used by all backwards that come after it.",
    seen="the scale of the last call",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        _LAST["scale"] = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -_LAST["scale"] * grad_out, None


@gradient_reversal.wrong_answer(
    "memory_shared_in_secret",
    why="x.detach() shares x's memory and is no view as far as autograd can see: an in-place layer behind it overwrites x.",
    seen="an in-place layer behind it overwrites x",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.detach()


@gradient_reversal.another_form("memory_shared_in_secret")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.data


@gradient_reversal.wrong_answer(
    "grad_out_edited",
    why="`grad_out.neg_()` saves one allocation and breaks the neighbours: an addition hands one and the same gradient to "
    "both of its inputs.",
    seen="hands one and the same gradient",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.mul_(-ctx.scale), None


@gradient_reversal.another_form("grad_out_edited")
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.neg_() * ctx.scale, None


@gradient_reversal.wrong_answer(
    "grad_out_detached",
    why="`grad_out.detach()`, `.data` or `no_grad` cut the gradient's own history: a gradient penalty behind this layer is "
    "lost.",
    seen="cut the gradient's own history",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out.detach(), None


@gradient_reversal.wrong_answer(
    "once_only",
    why="There is nothing in this backward that could not be differentiated again: `once_differentiable` forbids what "
    "works.",
    seen="forbids what works",
)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return -ctx.scale * grad_out, None
