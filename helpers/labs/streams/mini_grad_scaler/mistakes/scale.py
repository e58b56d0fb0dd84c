"""What people write for 06.mini_grad_scaler: a scale that moves wrongly."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler.exercise import LARGER, MOVES, SMALLER, mini_grad_scaler
from helpers.labs.streams.mini_grad_scaler.right import Pieces


@mini_grad_scaler.mistake(breaks=SMALLER)
class NeverBacksOff(Pieces):
    """The step is skipped and the scale stays: the next iteration overflows as well, and all that follow."""

    def shrink(self) -> None:
        self.good = 0


@mini_grad_scaler.mistake(breaks=SMALLER)
class HeldAboveOne(Pieces):
    """The scale is kept from falling below 1. torch lets it fall: gradients that overflow at a scale of 1
    need a smaller one, and a scale below 1 says that something else is wrong.
    """

    def shrink(self) -> None:
        super().shrink()
        self.now = self.now.clamp(min=1.0)


@mini_grad_scaler.mistake(breaks=LARGER)
class NeverGrows(Pieces):
    """The scale only falls: after a few rare overflows it is too small to save any gradient."""

    def grow(self) -> None:
        pass


@mini_grad_scaler.mistake(breaks=SMALLER)
class CounterNotResetByInf(Pieces):
    """growth_interval counts good iterations in a row. If the count outlives an inf, the scale grows again
    too soon, and overflows too often.
    """

    def shrink(self) -> None:
        self.now = self.times(self.backoff)


@mini_grad_scaler.mistake(breaks=SMALLER)
class SkippedStepsCount(Pieces):
    """An iteration with inf is counted as a good one: the scale grows on a skipped step."""

    def shrink(self) -> None:
        self.now = self.times(self.backoff)
        self.count()


@mini_grad_scaler.mistake(breaks=LARGER)
class CounterNotResetByGrowth(Pieces):
    """After growth the count goes on: with >= the scale grows in every iteration from then on."""

    def count(self) -> None:
        self.good += 1
        if self.good >= self.interval:
            self.grow()


@mini_grad_scaler.variant(CounterNotResetByGrowth)
class _GrowsOnce(Pieces):
    """With == it grows once, and never again."""

    def count(self) -> None:
        self.good += 1
        if self.good == self.interval:
            self.grow()


@mini_grad_scaler.mistake(breaks=LARGER)
class GrowsLate(Pieces):
    """> for >=, or the comparison before the count: growth comes one iteration late."""

    def count(self) -> None:
        self.good += 1
        if self.good > self.interval:
            self.grow()
            self.good = 0


@mini_grad_scaler.variant(GrowsLate)
class _LateAndCounted(Pieces):
    """Compares first; the iteration in which it grows counts for the next interval."""

    def count(self) -> None:
        if self.good == self.interval:
            self.grow()
            self.good = 0
        self.good += 1


@mini_grad_scaler.mistake(breaks=LARGER)
class GrowsEarly(Pieces):
    """growth_interval - 1 good iterations are enough for this scaler."""

    def count(self) -> None:
        self.good += 1
        if self.good >= max(self.interval - 1, 1):
            self.grow()
            self.good = 0


@mini_grad_scaler.mistake(breaks=MOVES)
class UpdatesForEachOptimizer(Pieces):
    """With two optimizers an iteration moves the scale twice, or counts twice. Perhaps it is moved in step, or once for
    each optimizer in update(): it is one iteration.
    """

    def move(self) -> None:
        for found in self.found.values():
            if bool(found):
                self.shrink()
            else:
                self.count()


@mini_grad_scaler.variant(UpdatesForEachOptimizer)
class _CountsEach(Pieces):
    """Only good iterations are counted for each optimizer."""

    def count(self) -> None:
        self.good += len(self.found)
        if self.good >= self.interval:
            self.grow()
            self.good = 0


@mini_grad_scaler.variant(UpdatesForEachOptimizer)
class _InStep(Pieces):
    """Moves at each step; update() only clears."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        result = super().step(optimizer, *args, **kwargs)
        if self.enabled:
            if bool(self.found[id(optimizer)]):
                self.shrink()
            else:
                self.count()
        return result

    def move(self) -> None:
        pass


@mini_grad_scaler.mistake(breaks=MOVES)
class BacksOffForEachInf(Pieces):
    """The scale backs off once for each optimizer that found an inf. It is one scale and one iteration: once
    is enough.
    """

    def shrink(self) -> None:
        self.good = 0
        for found in self.found.values():
            if bool(found):
                self.now = self.times(self.backoff)


@mini_grad_scaler.mistake(breaks=LARGER)
class CountGoesOnBehindGrowth(Pieces):
    """The scale grows when it should, and the count of good iterations is not 0 again behind it. Perhaps growth goes by
    count % growth_interval: state_dict() tells a different number than torch's.
    """

    def count(self) -> None:
        self.good += 1
        if self.good % self.interval == 0:
            self.grow()


@mini_grad_scaler.mistake(breaks=LARGER)
class GrowsToInf(Pieces):
    """The scale grows without an end. Once it is inf, every gradient is inf, and inf times the backoff is
    inf.
    """

    def grow(self) -> None:
        self.now = self.times(self.growth)


@mini_grad_scaler.mistake(breaks=LARGER)
class GrowsPastFloat32(Pieces):
    """The scale grows to 2**128, which no float32 holds: every gradient is inf with it. Perhaps it is a Python float or
    a double, in which that is finite.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = self.now.double()

    def times(self, factor: float) -> Tensor:
        return self.now * factor

    def scaled(self, loss: Tensor) -> Tensor:
        return loss * self.get_scale()
