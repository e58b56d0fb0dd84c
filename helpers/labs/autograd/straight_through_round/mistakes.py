"""What people write for 03.straight_through_round, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.straight_through_round.exercise import straight_through_round


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out


@straight_through_round.mistake()
class ZeroKept(Right):
    """That is the true derivative of round, 0 everywhere: what stands before the rounding never learns. The
    point of the exercise is to lie here.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.zeros_like(grad_out)


@straight_through_round.mistake()
class GradOutIgnored(Right):
    """Straight through means that the gradient passes, not that it becomes 1: ones are right for y.sum()
    alone.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.ones_like(grad_out)


@straight_through_round.mistake()
class Clamped(Right):
    """The gradient is stopped where |x| > 1. That belongs to the estimator for sign(x), a hard tanh; a
    rounding has no end of its range.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * (x.abs() <= 1)


@straight_through_round.variant(Clamped)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.inside = (x >= -1) & (x <= 1)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.where(ctx.inside, grad_out, torch.zeros_like(grad_out))


@straight_through_round.mistake()
class NotRounded(Right):
    """The forward gives x back: gradients go through, and nothing is rounded."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x


@straight_through_round.mistake()
class HalfUp(Right):
    """floor(x + 0.5) is the rounding of school: 0.5 and 2.5 go up. torch.round goes to the even neighbour, so
    that halves do not drift upwards on average.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.floor(x + 0.5)


@straight_through_round.mistake()
class CutOff(Right):
    """`.int()`, `.long()` and `trunc` cut the digits off; 1.9 becomes 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.trunc(x)


@straight_through_round.variant(CutOff)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.long().to(x.dtype)


@straight_through_round.mistake()
class InputRounded(Right):
    """`round_` with its underscore writes over the caller's x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round_()


@straight_through_round.variant(InputRounded)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.round_()


@straight_through_round.mistake()
class DetachTrick(Right):
    """x + (round(x) - x).detach() gives the gradient, too, by four nodes and three tensors, and not always a
    whole number: the sum is rounded once more.
    """

    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x + (x.round() - x).detach()


@straight_through_round.variant(DetachTrick)
class _(Right):
    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x.round().detach() + x - x.detach()


@straight_through_round.mistake()
class NoNodeOfItsOwn(Right):
    """Here torch's own round is recorded, with its zero gradient, and the backward that was written is dead
    code.
    """

    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return torch.round(x)


@straight_through_round.mistake()
class KeptForNothing(Right):
    """save_for_backward out of habit: x stays in memory until backward, which never looks at it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.round(x)


@straight_through_round.variant(KeptForNothing)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return torch.round(x)


@straight_through_round.mistake()
class GradOutDetached(Right):
    """`grad_out.detach()`, `.data` or `no_grad` cut the gradient's own history: a loss that is differentiated
    twice stops here.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.detach()


@straight_through_round.variant(GradOutDetached)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        with torch.no_grad():
            return grad_out.clone()


@straight_through_round.mistake()
class OnceOnly(Right):
    """There is nothing in this backward that could not be differentiated again: `once_differentiable` forbids
    what works.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out
