"""A right conversion in steps, of which each mistake of 05.convert replaces one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from helpers.labs.module.convert.exercise import convert

Fn = Callable[[Tensor], Tensor]


class Convert:
    """A right conversion, of which the mistakes change one step."""

    def __call__(self, module: nn.Module, fn: Fn) -> Any:
        self.fn = fn
        self.whole(module)
        return module

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for name, param in part._parameters.items():
                if param is not None:
                    self.parameter(part, name, param)
            for name, value in list(part._buffers.items()):
                if value is not None:
                    self.buffer(part, name, value)

    def parts(self, module: nn.Module) -> Any:
        """Each module as often as it stands in the tree."""
        yield module
        for child in module._modules.values():
            if child is not None:
                yield from self.parts(child)

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        param.data = self.fn(param.data)
        self.gradient(param)

    def gradient(self, param: nn.Parameter) -> None:
        if param.grad is not None:
            param.grad.data = self.fn(param.grad.data)

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        part._buffers[name] = self.fn(value)


def of(kind: type[Convert]) -> Any:
    return lambda module, fn: kind()(module, fn)


# A class of Convert, or a function.
conversions = convert.bank(lambda written: of(written) if isinstance(written, type) else written)
