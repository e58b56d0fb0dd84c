"""Recorders that record more than the calls of the model's modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from helpers.labs.module.activation_recorder.exercise import activation_recorder
from helpers.labs.module.activation_recorder.mistakes.records import ForeignModulesRecorded
from helpers.labs.module.activation_recorder.right import Right


@activation_recorder.mistake(breaks="Each call of a module adds one tensor to its list")
class RecordedTwice(Right):
    """Inside the with one call of `head` was recorded twice. Perhaps its hook was registered twice, or a hook runs forward of its
    parent once more, and the children record again: the hook is given the output.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                with torch.no_grad():
                    self.keep(name, module.forward(*args).detach().clone())

        return record


@activation_recorder.variant(RecordedTwice)
class _(Right):
    """Two hooks on each module."""

    def register(self) -> None:
        super().register()
        super().register()


@activation_recorder.variant(ForeignModulesRecorded)
class _(Right):
    """By a global hook beside its own ones, under the names of their classes."""

    def register(self) -> None:
        super().register()
        own = {module for _, module in self.modules()}

        def others(module: nn.Module, args: Any, output: Any) -> None:
            if module not in own:
                self.hook(type(module).__name__)(module, args, output)

        self.handles.append(register_module_forward_hook(others))
