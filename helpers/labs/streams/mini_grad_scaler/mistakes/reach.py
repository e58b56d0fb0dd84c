"""What people write for 06.mini_grad_scaler: an optimizer, a group or a gradient that is not reached."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler.exercise import (
    GROUPS,
    MULTIPLIES,
    NONE,
    OPTIMIZERS,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.right import Pieces


@mini_grad_scaler.mistake(breaks=OPTIMIZERS)
class OneMarkForAll(Pieces):
    """One flag says for all optimizers that unscale_ was called: the step of the second one sees scaled
    gradients. How far an optimizer is, is kept for each.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if "unscaled" in self.stage.values() and id(optimizer) not in self.stage:
            self.found[id(optimizer)] = self.bad(self.grads(optimizer))
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.variant(OneMarkForAll)
class _OneMarkAfterStep(Pieces):
    """The flag stays until update(), so the step of the first one sets it, too."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.stage and id(optimizer) not in self.stage:
            self.found[id(optimizer)] = self.bad(self.grads(optimizer))
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.variant(OneMarkForAll)
class _RefusesTheSecond(Pieces):
    """The flag makes unscale_ and step of the second optimizer an error."""

    def require_fresh(self, optimizer: Optimizer) -> None:
        if self.stage:
            raise RuntimeError("unscale_() has already been called since the last update()")


@mini_grad_scaler.mistake(breaks=GROUPS)
class OnlyTheFirstGroup(Pieces):
    """optimizer.param_groups[0] is one group of several: the others stay scaled, and an inf there is not
    seen.
    """

    def grads(self, optimizer: Optimizer) -> list[Tensor]:
        return [param.grad for param in optimizer.param_groups[0]["params"] if param.grad is not None]


@mini_grad_scaler.variant(OnlyTheFirstGroup)
class _FirstGroupOrNone(OnlyTheFirstGroup):
    def bad(self, grads: list[Tensor]) -> Any:
        return super().bad(grads) if grads else False


@mini_grad_scaler.mistake(breaks=NONE)
class NoneCrashes(Pieces):
    """A parameter that the loss does not use has .grad None, and so has every frozen one."""

    def grads(self, optimizer: Optimizer) -> list[Tensor]:
        return [param.grad for group in optimizer.param_groups for param in group["params"]]  # type: ignore[misc]


@mini_grad_scaler.mistake(breaks=MULTIPLIES)
class GradientsReplaced(Pieces):
    """param.grad = param.grad * inverse makes a new tensor: a view of the old one keeps the scaled numbers,
    and memory for all gradients is taken twice.
    """

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.grad = param.grad * self.inverse()
