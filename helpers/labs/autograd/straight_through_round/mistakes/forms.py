"""What people write for 03.straight_through_round: the form of x, and numbers beside a half."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.straight_through_round.exercise import straight_through_round
from helpers.labs.autograd.straight_through_round.mistakes.methods import HalfUp, Right, RoundedBefore


@straight_through_round.mistake(breaks="x: floating, any shape, any strides.")
class Viewed(Right):
    """A tensor that is not contiguous, and `.view` raises: perhaps x is made flat by it. torch.round takes any shape."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view(-1).round().view(x.shape)


@straight_through_round.mistake(breaks="A new tensor, shape and dtype of x")
class FlatResult(Right):
    """The numbers lie in one row, and x has more dimensions. Perhaps x was made flat, and the result not brought into its
    shape again: torch.round takes any shape.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        return x.reshape(-1).round()

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out.view(ctx.shape)


@straight_through_round.variant(HalfUp)
class _(Right):
    """Of the absolute value: away from 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.sign() * (x.abs() + 0.5).floor()


@straight_through_round.variant(HalfUp)
class _(Right):
    """Down."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.ceil(x - 0.5)


@straight_through_round.variant(RoundedBefore)
class _(Right):
    """A half is added to all but the halves: just below 0.5 the sum is 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        half = x - x.floor() == 0.5
        return torch.where(half, 2 * (x / 2 + 0.25).floor(), (x + 0.5).floor())


NUMBERS = "with the numbers of torch.round: halves go to the even neighbour."


@straight_through_round.mistake(breaks=NUMBERS)
class IntegersTooNarrow(Right):
    """A large number became one that is far away. Perhaps it went through an integer type, whose range ends: int32 at 2e9,
    int64 at 9e18.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.where(x.isfinite(), x.round().to(torch.int32).to(x.dtype), x)


@straight_through_round.variant(IntegersTooNarrow)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.where(x.isfinite(), x.round().to(torch.int64).to(x.dtype), x)


@straight_through_round.mistake(breaks=NUMBERS)
class DigitsKept(Right):
    """The result has one digit behind the point. Perhaps torch.round was called with decimals=1: whole numbers are asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x, decimals=1)


@straight_through_round.mistake(breaks="The gradient of x is grad_out, everywhere.")
class StoppedAtWhole(Right):
    """The gradient is 0 where x is a whole number already, and passes elsewhere. Perhaps a mask lets it through where rounding
    changed x: it passes everywhere.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.changed = x != x.round()
        return x.round()

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out * ctx.changed


@straight_through_round.mistake(breaks=NUMBERS)
class NotTheNearest(Right):
    """Each number became a whole one beside it, the one above or the one below, and not always the nearest. Perhaps chance
    decides, as in stochastic rounding, or a different bound than a half.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.floor(x + 0.3)
