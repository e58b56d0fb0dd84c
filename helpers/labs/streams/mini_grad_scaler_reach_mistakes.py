"""What people write for 06.mini_grad_scaler: an optimizer, a group or a gradient that is not reached."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler import mini_grad_scaler
from helpers.labs.streams.mini_grad_scaler_parts import Pieces


@mini_grad_scaler.wrong_answer(
    "one_mark_for_all",
    why="One flag says for all optimizers that unscale_ was called: the step of the second one sees scaled gradients. How far "
    "an optimizer is, is kept for each.",
    seen="One flag says for all optimizers",
)
class _OneMark(Pieces):
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if "unscaled" in self.stage.values() and id(optimizer) not in self.stage:
            self.found[id(optimizer)] = self.bad(self.grads(optimizer))
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.another_form("one_mark_for_all")
class _OneMarkAfterStep(Pieces):
    """The flag stays until update(), so the step of the first one sets it, too."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self.stage and id(optimizer) not in self.stage:
            self.found[id(optimizer)] = self.bad(self.grads(optimizer))
            self.stage[id(optimizer)] = "unscaled"
        return super().step(optimizer, *args, **kwargs)


@mini_grad_scaler.another_form("one_mark_for_all")
class _RefusesTheSecond(Pieces):
    """The flag makes unscale_ and step of the second optimizer an error."""

    def require_fresh(self, optimizer: Optimizer) -> None:
        if self.stage:
            raise RuntimeError("unscale_() has already been called since the last update()")


@mini_grad_scaler.wrong_answer(
    "only_the_first_group",
    why="optimizer.param_groups[0] is one group of several: the others stay scaled, and an inf there is not seen.",
    seen="optimizer.param_groups[0] is one group of several",
)
class _FirstGroup(Pieces):
    def grads(self, optimizer: Optimizer) -> list[Tensor]:
        return [param.grad for param in optimizer.param_groups[0]["params"] if param.grad is not None]


@mini_grad_scaler.another_form("only_the_first_group")
class _FirstGroupOrNone(_FirstGroup):
    def bad(self, grads: list[Tensor]) -> Any:
        return super().bad(grads) if grads else False


@mini_grad_scaler.wrong_answer(
    "none_crashes",
    why="A parameter that the loss does not use has .grad None, and so has every frozen one.",
    seen="A parameter that the loss does not use has .grad None",
)
class _NoneCrashes(Pieces):
    def grads(self, optimizer: Optimizer) -> list[Tensor]:
        return [param.grad for group in optimizer.param_groups for param in group["params"]]  # type: ignore[misc]


@mini_grad_scaler.wrong_answer(
    "gradients_replaced",
    why="param.grad = param.grad * inverse makes a new tensor: a view of the old one keeps the scaled numbers, and memory "
    "for all gradients is taken twice.",
    seen="makes a new tensor: a view of the old one keeps",
)
class _Replaced(Pieces):
    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.grad = param.grad * self.inverse()
