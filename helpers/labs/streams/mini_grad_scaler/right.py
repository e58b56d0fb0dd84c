"""A scaler in pieces for 06.mini_grad_scaler: a mistake replaces one of them, and is right otherwise."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class Pieces:
    """Keeps its numbers as Python's, except the scale, which is a float32 tensor."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self.now = torch.tensor(init_scale, dtype=torch.float32)
        self.growth, self.backoff, self.interval = growth_factor, backoff_factor, growth_interval
        self.enabled, self.used, self.good = enabled, False, 0
        self.clear()

    def clear(self) -> None:
        """Forgets what belongs to one iteration."""
        self.found: dict[int, Any] = {}  # by optimizer: whether a gradient was inf or NaN
        self.stage: dict[int, str] = {}

    # scale

    def scale(self, outputs: Any) -> Any:
        if not self.enabled:
            return outputs
        self.used = True
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        return self.scaled(outputs)

    def scaled(self, loss: Tensor) -> Tensor:
        return loss * self.now

    # unscale_

    def unscale_(self, optimizer: Optimizer) -> None:
        if self.enabled:
            self.require_used()
            self.require_fresh(optimizer)
            self.unscale_now(optimizer)
            self.stage[id(optimizer)] = "unscaled"

    def unscale_now(self, optimizer: Optimizer) -> None:
        grads = self.grads(optimizer)
        self.require_wide(grads)
        self.found[id(optimizer)] = self.bad(grads)
        self.divide(optimizer, grads)

    def grads(self, optimizer: Optimizer) -> list[Tensor]:
        every = [param.grad for group in optimizer.param_groups for param in group["params"]]
        return [grad for grad in every if grad is not None]

    def bad(self, grads: list[Tensor]) -> Any:
        return torch.stack([~grad.isfinite().all() for grad in grads]).any()

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        for grad in grads:
            grad.mul_(self.inverse())

    def inverse(self) -> Tensor:
        return self.now.double().reciprocal().float()

    # step

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not self.enabled:
            return optimizer.step(*args, **kwargs)
        self.require_used()
        if self.stage.get(id(optimizer)) == "stepped":
            return self.step_again(optimizer)
        if self.stage.get(id(optimizer)) != "unscaled":
            self.unscale_(optimizer)
        self.stage[id(optimizer)] = "stepped"
        if self.skips(optimizer):
            return None
        return self.take(optimizer, *args, **kwargs)

    def skips(self, optimizer: Optimizer) -> bool:
        return bool(self.found[id(optimizer)])

    def take(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    # update

    def update(self) -> None:
        if self.enabled:
            self.require_used()
            self.require_found()
            self.move()
            self.clear()

    def any_bad(self) -> bool:
        return any(bool(found) for found in self.found.values())

    def move(self) -> None:
        if self.any_bad():
            self.shrink()
        else:
            self.count()

    def shrink(self) -> None:
        self.now, self.good = self.times(self.backoff), 0

    def count(self) -> None:
        self.good += 1
        if self.good >= self.interval:
            self.grow()
            self.good = 0

    def grow(self) -> None:
        larger = self.times(self.growth)
        self.now = larger if larger.isfinite() else self.now

    def times(self, factor: float) -> Tensor:
        return (self.now.double() * factor).float()

    # numbers

    def get_scale(self) -> float:
        return self.now.item() if self.enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        if not self.enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self.growth,
            "backoff_factor": self.backoff,
            "growth_interval": self.interval,
            "_growth_tracker": self.good,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if self.enabled:
            self.now, self.good = torch.full_like(self.now, state["scale"]), state["_growth_tracker"]
            self.growth, self.backoff = state["growth_factor"], state["backoff_factor"]
            self.interval = state["growth_interval"]

    # errors

    def require_used(self) -> None:
        assert self.used, "no loss was scaled"

    def require_fresh(self, optimizer: Optimizer) -> None:
        if id(optimizer) in self.stage:
            raise RuntimeError(f"this optimizer is {self.stage[id(optimizer)]} already")

    def step_again(self, optimizer: Optimizer) -> Any:
        raise RuntimeError("this optimizer has stepped already")

    def require_found(self) -> None:
        assert self.found, "no gradient was looked at"

    def require_wide(self, grads: list[Tensor]) -> None:
        if any(grad.dtype is torch.float16 for grad in grads):
            raise ValueError("float16 gradients")
