"""What people write for 06.mini_grad_scaler: gradients that are unscaled at the wrong time, or not as asked."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler import mini_grad_scaler
from helpers.labs.streams.mini_grad_scaler_parts import Pieces


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    torch.amp.GradScaler.__init__(self, "cpu", *args, **kwargs)


mini_grad_scaler.wrong_answer(
    "torchs_scaler",
    why="A subclass of torch's scaler, or a call of its parts in C++, builds nothing.",
    seen="The answer calls torch's own scaler",
    answer=type("FromTorch", (torch.amp.GradScaler,), {"__init__": _init}),
)


@mini_grad_scaler.another_form("torchs_scaler")
class _NothingAdded(torch.amp.GradScaler):
    """The first argument is taken for the device."""


@mini_grad_scaler.another_form("torchs_scaler")
class _Holding:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.inner = torch.amp.GradScaler("cpu", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@mini_grad_scaler.another_form("torchs_scaler")
class _PartsInC(Pieces):
    def bad(self, grads: list[Tensor]) -> Any:
        found = torch.zeros(())
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.ones(()))
        return found


@mini_grad_scaler.wrong_answer(
    "unscales_after_clipping",
    why="unscale_ only notes that it was called, and step unscales: what was clipped between them were scaled gradients, "
    "and afterwards they are divided by the scale as well. Nothing trains any more, and no error says so.",
    seen="unscale_ only notes that it was called",
)
class _AfterClipping(Pieces):
    def unscale_now(self, optimizer: Optimizer) -> None:
        self.found[id(optimizer)] = False  # until step looks

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.enabled and self.used and self.stage.get(id(optimizer)) != "stepped":
            super().unscale_now(optimizer)
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.another_form("unscales_after_clipping")
class _LooksAtOnce(_AfterClipping):
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


@mini_grad_scaler.wrong_answer(
    "unscales_twice",
    why="step unscales again what unscale_ has unscaled: the update is smaller than it should be by the whole scale. "
    "step asks first how far this optimizer is.",
    seen="step unscales again what unscale_ has unscaled",
)
class _Twice(Pieces):
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.stage.get(id(optimizer)) == "unscaled":
            known = self.found[id(optimizer)]
            self.unscale_now(optimizer)
            self.found[id(optimizer)] |= known
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.another_form("unscales_twice")
class _TwiceAndLooksAgain(Pieces):
    """Also forgets what unscale_ found."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.stage.get(id(optimizer)) == "unscaled":
            self.unscale_now(optimizer)
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.wrong_answer(
    "never_unscales",
    why="Scaled gradients reach the optimizer: each update is too large by the factor of the scale, 65536 in the beginning. "
    "With Adam it is hardly seen, since Adam divides by the size of the gradients; with SGD the weights fly away.",
    seen="Scaled gradients reach the optimizer",
)
class _Never(Pieces):
    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        pass


@mini_grad_scaler.wrong_answer(
    "unscales_in_unscale_only",
    why="step does not call unscale_ if the caller did not: whoever does not clip trains with scaled gradients.",
    seen="step does not call unscale_",
)
class _OnlyByHand(Pieces):
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.enabled and self.used and id(optimizer) not in self.stage:
            self.found[id(optimizer)] = self.bad(self.grads(optimizer))
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.wrong_answer(
    "unscales_by_the_first_scale",
    why="The inverse is computed once, in __init__: it is right until the scale moves for the first time.",
    seen="The inverse is computed once, in __init__",
)
class _FirstScale(Pieces):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.first = self.now.reciprocal()

    def inverse(self) -> Tensor:
        return self.first


@mini_grad_scaler.wrong_answer(
    "mark_kept",
    why="That an optimizer is unscaled holds for one iteration. update() clears the mark, or from the next iteration on "
    "nothing is unscaled.",
    seen="update() clears the mark",
)
class _MarkKept(Pieces):
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


@mini_grad_scaler.another_form("mark_kept")
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


@mini_grad_scaler.wrong_answer(
    "loss_cut_off",
    why="The number of the loss is scaled (item, detach, or no_grad around all methods), and the graph is gone.",
    seen="no graph, so backward cannot start",
)
class _CutOff(Pieces):
    def scaled(self, loss: Tensor) -> Tensor:
        return loss.detach() * self.now


@mini_grad_scaler.wrong_answer(
    "loss_not_scaled",
    why="scale returns the loss as it is, and step divides all the same: the gradients underflow more than without a scaler.",
    seen="scale returns the loss as it is",
)
class _NotScaled(Pieces):
    def scaled(self, loss: Tensor) -> Tensor:
        return loss


@mini_grad_scaler.wrong_answer(
    "loss_divided",
    why="scale divides and unscale_ multiplies: the other way round. Small gradients become smaller still, and are 0 in "
    "float16.",
    seen="scale divides and unscale_ multiplies",
)
class _Divided(Pieces):
    def scaled(self, loss: Tensor) -> Tensor:
        return loss / self.now

    def inverse(self) -> Tensor:
        return self.now


@mini_grad_scaler.wrong_answer(
    "iteration_never_ends",
    why="update() moves the scale and keeps how far the optimizers are: in the next iteration they count as stepped already.",
    seen="in the next iteration they count as stepped already",
)
class _NeverEnds(Pieces):
    def clear(self) -> None:
        self.found, self.stage = {}, getattr(self, "stage", {})


@mini_grad_scaler.another_form("iteration_never_ends")
class _KeepsAll(Pieces):
    def update(self) -> None:
        if self.enabled:
            self.move()
