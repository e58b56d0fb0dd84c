"""What people write for 03.straight_through_round."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.straight_through_round import straight_through_round


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out


@straight_through_round.wrong_answer(
    "zero_kept",
    why="That is the true derivative of round, 0 everywhere: what stands before the rounding never learns. The point of "
    "the exercise is to lie here.",
    seen="The point of the exercise is to lie here",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.zeros_like(grad_out)


@straight_through_round.wrong_answer(
    "grad_out_ignored",
    why="Straight through means that the gradient passes, not that it becomes 1: ones are right for y.sum() alone.",
    seen="not that it becomes 1",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.ones_like(grad_out)


@straight_through_round.wrong_answer(
    "clamped",
    why="The gradient is stopped where |x| > 1. That belongs to the estimator for sign(x), a hard tanh; a rounding has "
    "no end of its range.",
    seen="belongs to the estimator for sign(x)",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * (x.abs() <= 1)


@straight_through_round.another_form("clamped")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.inside = (x >= -1) & (x <= 1)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.where(ctx.inside, grad_out, torch.zeros_like(grad_out))


@straight_through_round.wrong_answer(
    "not_rounded",
    why="The forward gives x back: gradients go through, and nothing is rounded.",
    seen="and nothing is rounded",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x


@straight_through_round.wrong_answer(
    "half_up",
    why="floor(x + 0.5) is the rounding of school: 0.5 and 2.5 go up. torch.round goes to the even neighbour, so that "
    "halves do not drift upwards on average.",
    seen="the rounding of school",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.floor(x + 0.5)


@straight_through_round.wrong_answer(
    "cut_off",
    why="`.int()`, `.long()` and `trunc` cut the digits off; 1.9 becomes 1.",
    seen="1.9 becomes 1",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.trunc(x)


@straight_through_round.another_form("cut_off")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.long().to(x.dtype)


@straight_through_round.wrong_answer(
    "input_rounded",
    why="`round_` with its underscore writes over the caller's x.",
    seen="writes over the caller's x",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round_()


@straight_through_round.another_form("input_rounded")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.round_()


@straight_through_round.wrong_answer(
    "detach_trick",
    why="x + (round(x) - x).detach() gives the gradient, too, by four nodes and three tensors, and not always a whole "
    "number: the sum is rounded once more.",
    seen="by four nodes and three tensors",
)
class _(Right):
    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x + (x.round() - x).detach()


@straight_through_round.another_form("detach_trick")
class _(Right):
    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x.round().detach() + x - x.detach()


@straight_through_round.wrong_answer(
    "no_node_of_its_own",
    why="Here torch's own round is recorded, with its zero gradient, and the backward that was written is dead code.",
    seen="the backward that was written is dead code",
)
class _(Right):
    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return torch.round(x)


@straight_through_round.wrong_answer(
    "kept_for_nothing",
    why="save_for_backward out of habit: x stays in memory until backward, which never looks at it.",
    seen="out of habit",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.round(x)


@straight_through_round.another_form("kept_for_nothing")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return torch.round(x)


@straight_through_round.wrong_answer(
    "grad_out_detached",
    why="`grad_out.detach()`, `.data` or `no_grad` cut the gradient's own history: a loss that is differentiated twice "
    "stops here.",
    seen="cut the gradient's own history",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.detach()


@straight_through_round.another_form("grad_out_detached")
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        with torch.no_grad():
            return grad_out.clone()


@straight_through_round.wrong_answer(
    "once_only",
    why="There is nothing in this backward that could not be differentiated again: `once_differentiable` forbids what "
    "works.",
    seen="forbids what works",
)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out
