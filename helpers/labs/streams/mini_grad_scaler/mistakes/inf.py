"""What people write for 06.mini_grad_scaler: an inf that is not seen, or seen and not acted upon."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler.exercise import (
    LOOKS,
    MOVES,
    OPTIMIZERS,
    SMALLER,
    STEP,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.right import Pieces


@mini_grad_scaler.mistake(breaks=LOOKS)
class ChecksTheLossOnly(Pieces):
    """A finite loss can have gradients of inf: it is in backward that the scaled numbers of float16 overflow.
    The gradients are what is looked at.
    """

    ill: Any = False

    def scaled(self, loss: Tensor) -> Tensor:
        result = super().scaled(loss)
        self.ill = not bool(torch.isfinite(result).all())
        return result

    def bad(self, grads: list[Tensor]) -> Any:
        return self.ill


@mini_grad_scaler.variant(ChecksTheLossOnly)
class _LossAsItIs(ChecksTheLossOnly):
    """Looks at the loss before it is scaled."""

    def scaled(self, loss: Tensor) -> Tensor:
        self.ill = not math.isfinite(loss.item())
        return loss * self.now


@mini_grad_scaler.mistake(breaks=LOOKS)
class NeverLooks(Pieces):
    """Nothing is ever looked at for inf: after the first overflow all weights are NaN, and the scale grows
    on.
    """

    def bad(self, grads: list[Tensor]) -> Any:
        return False


@mini_grad_scaler.mistake(breaks=LOOKS)
class NanNotSeen(Pieces):
    """NaN equals nothing and is larger than nothing, so a comparison with inf passes it by, and isinf as
    well. isfinite knows inf, -inf and NaN.
    """

    def bad(self, grads: list[Tensor]) -> Any:
        return torch.stack([grad.isinf().any() for grad in grads]).any()


@mini_grad_scaler.mistake(breaks=LOOKS)
class NegativeInfNotSeen(Pieces):
    """The largest entry is compared with inf, and -inf is the smallest."""

    def bad(self, grads: list[Tensor]) -> Any:
        return torch.stack([((grad == math.inf) | grad.isnan()).any() for grad in grads]).any()


@mini_grad_scaler.variant(NegativeInfNotSeen)
class _OnlyPositiveInf(Pieces):
    """Neither -inf nor NaN."""

    def bad(self, grads: list[Tensor]) -> Any:
        return torch.stack([(grad == math.inf).any() for grad in grads]).any()


@mini_grad_scaler.mistake(breaks=LOOKS)
class InfNotSeen(Pieces):
    """isnan does not know inf, and an overflow of float16 is inf first. It becomes NaN only when inf meets
    inf or 0.
    """

    def bad(self, grads: list[Tensor]) -> Any:
        return torch.stack([grad.isnan().any() for grad in grads]).any()


@mini_grad_scaler.mistake(breaks=LOOKS)
class OnlyTheLastGradient(Pieces):
    """found_inf is set anew for each gradient, so the last one decides alone."""

    def bad(self, grads: list[Tensor]) -> Any:
        return ~grads[-1].isfinite().all()


@mini_grad_scaler.mistake(breaks=LOOKS)
class OnlyTheFirstGradient(Pieces):
    """One gradient stands for all: a loop that returns after its first turn, or a look at params[0]."""

    def bad(self, grads: list[Tensor]) -> Any:
        return ~grads[0].isfinite().all()


@mini_grad_scaler.mistake(breaks=LOOKS)
class AllMustBeInf(Pieces):
    """`isfinite().any()` for `.all()`: a gradient counts as bad only if every entry is inf or NaN."""

    def bad(self, grads: list[Tensor]) -> Any:
        return torch.stack([~grad.isfinite().any() for grad in grads]).any()


@mini_grad_scaler.mistake(breaks=LOOKS)
class LooksAtTheNorm(Pieces):
    """Large gradients that are finite are taken for inf, and the step is skipped without need. Perhaps a sum or a norm
    was looked at: it can be inf though no entry is.
    """

    def bad(self, grads: list[Tensor]) -> Any:
        return ~torch.stack([grad.norm() for grad in grads]).norm().isfinite()


@mini_grad_scaler.variant(LooksAtTheNorm)
class _Sum(Pieces):
    def bad(self, grads: list[Tensor]) -> Any:
        return ~torch.stack([grad.sum() for grad in grads]).sum().isfinite()


@mini_grad_scaler.mistake(breaks=STEP)
class StepsDespiteInf(Pieces):
    """The scale backs off, and the step is taken nevertheless: one inf in a gradient makes the parameter NaN."""

    def skips(self, optimizer: Optimizer) -> bool:
        return False


@mini_grad_scaler.mistake(breaks=STEP)
class InfReplacedByZero(Pieces):
    """nan_to_num makes a gradient that looks healthy: a step with wrong numbers instead of none."""

    def skips(self, optimizer: Optimizer) -> bool:
        for grad in self.grads(optimizer):
            grad.nan_to_num_(0.0, 0.0, 0.0)
        return False


@mini_grad_scaler.mistake(breaks=LOOKS)
class LooksAtTheStep(Pieces):
    """step looks at the gradients itself and forgets what unscale_ saw. Clipping with an inf norm makes every
    finite gradient 0 and hides nothing yet, but a caller that cleans gradients hides the overflow, and the
    scale stays.
    """

    def skips(self, optimizer: Optimizer) -> bool:
        self.found[id(optimizer)] = self.bad(self.grads(optimizer))
        return super().skips(optimizer)


@mini_grad_scaler.mistake(breaks=OPTIMIZERS)
class OneInfStopsAll(Pieces):
    """found_inf is kept once for all optimizers. The scale is shared, so one inf makes it smaller for all;
    the step is skipped only for the optimizer whose gradients are bad.
    """

    def skips(self, optimizer: Optimizer) -> bool:
        return self.any_bad()


@mini_grad_scaler.mistake(breaks=SMALLER)
class LastOptimizerDecides(Pieces):
    """Of two optimizers the one that was looked at last decides about the scale: what the first one found is
    written over.
    """

    def any_bad(self) -> bool:
        return bool(list(self.found.values())[-1])


@mini_grad_scaler.variant(LastOptimizerDecides)
class _OneFlag(Pieces):
    """One flag, which unscale_ writes and step reads."""

    flag: Any = False

    def bad(self, grads: list[Tensor]) -> Any:
        self.flag = super().bad(grads)
        return self.flag

    def skips(self, optimizer: Optimizer) -> bool:
        return bool(self.flag)

    def any_bad(self) -> bool:
        return bool(self.flag)


@mini_grad_scaler.mistake(breaks=MOVES)
class InfKept(Pieces):
    """What was found is not cleared by update(): one inf, and no step is ever taken again."""

    ever: Any = False

    def bad(self, grads: list[Tensor]) -> Any:
        self.ever = self.ever | super().bad(grads)
        return self.ever
