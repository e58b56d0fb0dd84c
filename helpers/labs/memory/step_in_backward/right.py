"""A right answer to 14.step_in_backward in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


class Right:
    """One optimizer and one hook for each parameter that requires grad."""

    def __init__(self, model: nn.Module, make: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> None:
        self.model, self.make = model, make

    def __call__(self) -> Any:
        return [self.register(each, self.hook(self.optimizer(each))) for each in self.parameters()]

    def parameters(self) -> Iterable[nn.Parameter]:
        return [each for each in self.model.parameters() if each.requires_grad]

    def optimizer(self, parameter: nn.Parameter) -> torch.optim.Optimizer:
        return self.make([parameter])

    def register(self, parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> Any:
        return parameter.register_post_accumulate_grad_hook(hook)

    def hook(self, optimizer: torch.optim.Optimizer) -> Callable[[Tensor], None]:
        def complete(parameter: Tensor) -> None:
            self.step(optimizer, parameter)
            self.clear(optimizer, parameter)

        return complete

    def step(self, optimizer: torch.optim.Optimizer, parameter: Tensor) -> None:
        optimizer.step()

    def clear(self, optimizer: torch.optim.Optimizer, parameter: Tensor) -> None:
        parameter.grad = None
