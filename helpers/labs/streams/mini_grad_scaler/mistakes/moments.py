"""What people write for 06.mini_grad_scaler: gradients that are unscaled at the wrong time, or not as asked."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.check.spec import returned
from helpers.labs.streams.mini_grad_scaler.exercise import (
    BY_HAND,
    FIRST,
    MOVES,
    MULTIPLIES,
    SCALED,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.right import Pieces

built = mini_grad_scaler.bank(returned)


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    torch.amp.GradScaler.__init__(self, "cpu", *args, **kwargs)


@built.mistake(breaks=BY_HAND)
def torchs_scaler():
    """A subclass of torch's scaler, or a call of its parts in C++, builds nothing."""
    return type("FromTorch", (torch.amp.GradScaler,), {"__init__": _init})


@mini_grad_scaler.variant(torchs_scaler)
class _NothingAdded(torch.amp.GradScaler):
    """The first argument is taken for the device."""


@mini_grad_scaler.variant(torchs_scaler)
class _Holding:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.inner = torch.amp.GradScaler("cpu", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@mini_grad_scaler.variant(torchs_scaler)
class _PartsInC(Pieces):
    def bad(self, grads: list[Tensor]) -> Any:
        found = torch.zeros(())
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.ones(()))
        return found


@mini_grad_scaler.mistake(breaks=MULTIPLIES)
class UnscalesAfterClipping(Pieces):
    """unscale_ only notes that it was called, and step unscales: what was clipped between them were scaled
    gradients, and afterwards they are divided by the scale as well. Nothing trains any more, and no error
    says so.
    """

    def unscale_now(self, optimizer: Optimizer) -> None:
        self.found[id(optimizer)] = False  # until step looks

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.enabled and self.used and self.stage.get(id(optimizer)) != "stepped":
            super().unscale_now(optimizer)
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.variant(UnscalesAfterClipping)
class _LooksAtOnce(UnscalesAfterClipping):
    """Finds inf in unscale_, and divides in step."""

    def unscale_now(self, optimizer: Optimizer) -> None:
        self.found[id(optimizer)] = self.bad(self.grads(optimizer))

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        known = self.found.get(id(optimizer), False)
        if self.enabled and self.used and self.stage.get(id(optimizer)) != "stepped":
            Pieces.unscale_now(self, optimizer)
            self.found[id(optimizer)] = bool(known) or bool(self.found[id(optimizer)])
            self.stage[id(optimizer)] = "unscaled"
        return Pieces.step(self, optimizer, *args, **kwargs)


@mini_grad_scaler.mistake(breaks=FIRST)
class UnscalesTwice(Pieces):
    """step unscales again what unscale_ has unscaled: the update is smaller than it should be by the whole
    scale. step asks first how far this optimizer is.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.stage.get(id(optimizer)) == "unscaled":
            known = self.found[id(optimizer)]
            self.unscale_now(optimizer)
            self.found[id(optimizer)] |= known
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.variant(UnscalesTwice)
class _TwiceAndLooksAgain(Pieces):
    """Also forgets what unscale_ found."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.stage.get(id(optimizer)) == "unscaled":
            self.unscale_now(optimizer)
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.mistake(breaks=MULTIPLIES)
class NeverUnscales(Pieces):
    """Scaled gradients reach the optimizer: each update is too large by the factor of the scale, 65536 in the
    beginning. With Adam it is hardly seen, since Adam divides by the size of the gradients; with SGD the
    weights fly away.
    """

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        pass


@mini_grad_scaler.mistake(breaks=FIRST)
class UnscalesInUnscaleOnly(Pieces):
    """step does not call unscale_ if the caller did not: whoever does not clip trains with scaled gradients."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.enabled and self.used and id(optimizer) not in self.stage:
            self.found[id(optimizer)] = self.bad(self.grads(optimizer))
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.mistake(breaks=MULTIPLIES)
class UnscalesByTheFirstScale(Pieces):
    """The inverse is computed once, in __init__: it is right until the scale moves for the first time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.first = self.now.reciprocal()

    def inverse(self) -> Tensor:
        return self.first


@mini_grad_scaler.mistake(breaks=MOVES)
class MarkKept(Pieces):
    """That an optimizer is unscaled holds for one iteration. update() clears the mark, or from the next
    iteration on nothing is unscaled.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.marked: set[int] = set()

    def unscale_(self, optimizer: Optimizer) -> None:
        if id(optimizer) in self.marked:
            self.found[id(optimizer)] = self.bad(self.grads(optimizer))
            self.require_fresh(optimizer)
            self.stage[id(optimizer)] = "unscaled"
        else:
            super().unscale_(optimizer)
        self.marked.add(id(optimizer))


@mini_grad_scaler.variant(MarkKept)
class _NeverCleared(Pieces):
    """Keeps what it found, too: the inf of the first iterations is seen for ever, a later one never."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not self.enabled:
            return optimizer.step(*args, **kwargs)
        self.require_used()
        if id(optimizer) not in self.stage:
            self.unscale_(optimizer)
        return None if self.skips(optimizer) else optimizer.step(*args, **kwargs)

    def unscale_(self, optimizer: Optimizer) -> None:
        if self.enabled and id(optimizer) not in self.stage:
            super().unscale_(optimizer)

    def update(self) -> None:
        if self.enabled:
            self.move()


@mini_grad_scaler.mistake(breaks=SCALED)
class LossCutOff(Pieces):
    """The number of the loss is scaled (item, detach, or no_grad around all methods), and the graph is gone."""

    def scaled(self, loss: Tensor) -> Tensor:
        return loss.detach() * self.now


@mini_grad_scaler.mistake(breaks=SCALED)
class LossNotScaled(Pieces):
    """scale returns the loss as it is, and step divides all the same: the gradients underflow more than
    without a scaler.
    """

    def scaled(self, loss: Tensor) -> Tensor:
        return loss


@mini_grad_scaler.mistake(breaks=SCALED)
class LossDivided(Pieces):
    """scale divides and unscale_ multiplies: the other way round. Small gradients become smaller still, and
    are 0 in float16.
    """

    def scaled(self, loss: Tensor) -> Tensor:
        return loss / self.now

    def inverse(self) -> Tensor:
        return self.now


@mini_grad_scaler.mistake(breaks=MOVES)
class IterationNeverEnds(Pieces):
    """update() moves the scale and keeps how far the optimizers are: in the next iteration they count as
    stepped already.
    """

    def clear(self) -> None:
        self.found, self.stage = {}, getattr(self, "stage", {})


@mini_grad_scaler.variant(IterationNeverEnds)
class _KeepsAll(Pieces):
    def update(self) -> None:
        if self.enabled:
            self.move()
