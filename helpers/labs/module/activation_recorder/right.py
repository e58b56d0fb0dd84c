"""A right answer to 05.activation_recorder in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


class Right:
    """The right answer; the wrong ones change one method."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.activations: Any = {}
        self.handles: list[Any] = []

    def __enter__(self) -> Any:
        if self.handles:
            raise RuntimeError("on already")
        self.register()
        return self

    def register(self) -> None:
        for name, module in self.modules():
            self.handles.append(module.register_forward_hook(self.hook(name)))

    def modules(self) -> Any:
        return self.model.named_modules()

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> Any:
            if isinstance(output, Tensor):
                self.keep(name, self.copy(output))

        return record

    def copy(self, output: Tensor) -> Tensor:
        return output.detach().clone()

    def keep(self, name: str, value: Tensor) -> None:
        self.activations.setdefault(name, []).append(value)

    def __exit__(self, *error: Any) -> Any:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
