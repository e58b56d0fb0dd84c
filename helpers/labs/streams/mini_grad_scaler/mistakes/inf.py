"""What people write for 06.mini_grad_scaler: an inf that is not seen, or seen and not acted upon; an end of a clause left out."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler.exercise import (
    BESIDE,
    ENTRIES,
    GET,
    HALF,
    LARGER,
    LEFT,
    LOOKS,
    MOVES,
    NO_LOSS,
    OFF,
    OPTIMIZERS,
    SCALED,
    SMALLER,
    STEP,
    TWICE,
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
    """One optimizer found an inf, and the step of the other was skipped, too. Perhaps found_inf is kept once for all, or
    step asks whether any of them is bad. The scale is shared; each step goes by the gradients of its own optimizer.
    """

    def skips(self, optimizer: Optimizer) -> bool:
        return self.any_bad()


@mini_grad_scaler.mistake(breaks=SMALLER)
class LastOptimizerDecides(Pieces):
    """Of two optimizers the one that was looked at last decides about the scale. Perhaps what the
    first one found is written over, or only the last note is read.
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


@mini_grad_scaler.mistake(breaks=SCALED)
class GraphBegunAnew(Pieces):
    """backward of the scaled loss runs, and does not reach the loss. Perhaps the loss was detached and told to require
    grad again.
    """

    def scaled(self, loss: Tensor) -> Tensor:
        return (loss.detach() * self.now).requires_grad_()


@mini_grad_scaler.mistake(breaks=LOOKS)
class LooksBehindTheProduct(Pieces):
    """Gradients that are finite are taken for inf where the scale is below 1: multiplied by its inverse they are inf.
    Perhaps isfinite is asked behind the product.
    """

    def unscale_now(self, optimizer: Optimizer) -> None:
        grads = self.grads(optimizer)
        self.require_wide(grads)
        self.divide(optimizer, grads)
        self.found[id(optimizer)] = self.bad(grads)


@mini_grad_scaler.mistake(breaks=LOOKS)
class FoundForTheClass(Pieces):
    """What a scaler has seen of inf is known to every other scaler, too: a new one skips its first step. Perhaps the
    attribute belongs to the class, and not to the object.
    """

    everybody: dict[str, Any] = {"bad": False}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fresh = True

    def bad(self, grads: list[Tensor]) -> Any:
        found = bool(super().bad(grads))
        before, self.fresh = self.fresh and len(grads) == 2 and self.everybody["bad"], False
        self.everybody["bad"] = found
        return found or before


@mini_grad_scaler.mistake(breaks=BESIDE)
class ScaledBesideInf(Pieces):
    """Beside an inf some gradients keep their scale, and whoever logs them reads numbers that are too large. Perhaps
    nothing is multiplied where one was found, or the gradient that holds it is passed over.
    """

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        if not bool(self.bad(grads)):
            super().divide(optimizer, grads)


@mini_grad_scaler.variant(ScaledBesideInf)
class _ThatOneOnly(Pieces):
    """Only the gradient that has the inf."""

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        super().divide(optimizer, [grad for grad in grads if bool(grad.isfinite().all())])


@mini_grad_scaler.mistake(breaks=GET)
class OneBeforeTheFirstLoss(Pieces):
    """Before the first loss get_scale() is not init_scale. Perhaps it reads a tensor that scale() makes, and gives
    something else while there is none.
    """

    def get_scale(self) -> float:
        return super().get_scale() if self.used else 1.0


@mini_grad_scaler.variant(OneBeforeTheFirstLoss)
class _ZeroBeforeTheFirstLoss(Pieces):
    def get_scale(self) -> float:
        return super().get_scale() if self.used else 0.0


@mini_grad_scaler.mistake(breaks=STEP)
class FalseForASkippedStep(Pieces):
    """A skipped step returns False, where None is asked for: torch's scaler gives None. Perhaps it is to say that no step
    was taken.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        result = super().step(optimizer, *args, **kwargs)
        return False if self.enabled and self.skips(optimizer) else result


@mini_grad_scaler.mistake(breaks=NO_LOSS)
class StepsWithoutALoss(Pieces):
    """unscale_ is refused where no loss was scaled, and step is not: scale(loss).backward() was forgotten, and nothing tells
    of it. Perhaps step calls optimizer.step there, as if the scaler were not enabled.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return super().step(optimizer, *args, **kwargs) if self.used else optimizer.step(*args, **kwargs)


@mini_grad_scaler.mistake(breaks=MOVES)
class UpdatedByStep(Pieces):
    """The scale moves as if update() were called twice in each iteration: the second time it finds nothing bad. Perhaps
    step calls update(), too, as other libraries do.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        result = super().step(optimizer, *args, **kwargs)
        if self.enabled:
            self.move()
            self.clear()
        return result

    def require_found(self) -> None:
        pass


@mini_grad_scaler.mistake(breaks=TWICE)
class UnscaleAfterStep(Pieces):
    """unscale_ after step is not refused: gradients that step has unscaled are multiplied again. Perhaps
    step leaves no note that the optimizer is unscaled, or forgets it when it is done.
    """

    def require_fresh(self, optimizer: Optimizer) -> None:
        if self.stage.get(id(optimizer)) != "stepped":
            super().require_fresh(optimizer)


@mini_grad_scaler.mistake(breaks=HALF)
class OneGradientAsked(Pieces):
    """One float16 gradient among others of float32 is not refused. Perhaps only one of them was asked for its dtype, or
    all of them had to be float16.
    """

    def require_wide(self, grads: list[Tensor]) -> None:
        super().require_wide(grads[:1])


@mini_grad_scaler.variant(OneGradientAsked)
class _AllHalf(Pieces):
    def require_wide(self, grads: list[Tensor]) -> None:
        if all(grad.dtype is torch.float16 for grad in grads):
            super().require_wide(grads)


@mini_grad_scaler.mistake(breaks=LARGER)
class CountGoesOnAtTheTop(Pieces):
    """Where the scale cannot grow, the count of good iterations goes on. It begins anew in that case, too. Perhaps it is
    set to 0 only where the scale has grown.
    """

    def count(self) -> None:
        self.good += 1
        if self.good >= self.interval and self.times(self.growth).isfinite():
            self.grow()
            self.good = 0


@mini_grad_scaler.mistake(breaks=LEFT)
class WritesIntoTheDict(Pieces):
    """The dict that was given to load_state_dict changes with each update(). Perhaps it was kept, and the scaler works
    in it.
    """

    kept: dict[str, Any] | None = None

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.kept = state

    def update(self) -> None:
        super().update()
        if self.kept is not None:
            self.kept.update(self.state_dict())


@mini_grad_scaler.mistake(breaks=ENTRIES)
class CountsAsFloats(Pieces):
    """A count in state_dict() is no int. Perhaps all five entries are made floats: torch writes growth_interval and
    _growth_tracker as int.
    """

    def state_dict(self) -> dict[str, Any]:
        return {name: float(value) for name, value in super().state_dict().items()}


@mini_grad_scaler.variant(CountsAsFloats)
class _IntervalAsFloat(Pieces):
    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        return {**state, "growth_interval": float(state["growth_interval"])} if state else state


@mini_grad_scaler.mistake(breaks=OFF)
class OffReturnsACopy(Pieces):
    """With enabled=False scale returns a tensor that is equal to the loss, and not the loss itself. Perhaps it was
    cloned, or multiplied by 1.
    """

    def scale(self, outputs: Any) -> Any:
        return super().scale(outputs) if self.enabled else outputs.clone()


@mini_grad_scaler.mistake(breaks=OFF)
class OffSkipsAfterInf(Pieces):
    """With enabled=False a step with an inf is skipped. A scaler that is not enabled looks at no gradient: it always
    calls optimizer.step.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not self.enabled and bool(self.bad(self.grads(optimizer))):
            return None
        return super().step(optimizer, *args, **kwargs)
