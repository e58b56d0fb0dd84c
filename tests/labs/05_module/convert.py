"""Right answers to 05.convert, in different shapes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def convert(module: nn.Module, fn: Callable[[Tensor], Tensor]) -> nn.Module:
    """The solution of the notebook."""
    for child in module._modules.values():
        if child is not None:
            convert(child, fn)
    with torch.no_grad():
        for param in module._parameters.values():
            if param is not None:
                param.data = fn(param)
                if param.grad is not None:
                    param.grad.data = fn(param.grad)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = fn(buffer)
    return module


def convert_each_once(module: nn.Module, fn: Callable[[Tensor], Tensor]) -> nn.Module:
    """By torch's iterators: what is tied, and a shared module, is converted once; buffers in their places."""
    for param in module.parameters():
        grad, param.grad = param.grad, None
        param.data = fn(param.data)
        if grad is not None:
            param.grad = fn(grad)
    for buffer in module.buffers():
        buffer.data = fn(buffer.data)
    return module


def convert_by_apply(module: nn.Module, fn: Callable[[Tensor], Tensor]) -> nn.Module:
    """nn.Module.apply, which walks; setattr for the buffers, which keeps them as persistent as they were."""

    def on_one(part: nn.Module) -> None:
        for param in filter(lambda param: param is not None, part._parameters.values()):
            new = nn.Parameter(fn(param.detach()), requires_grad=param.requires_grad)
            param.data = new.data
            if param.grad is not None:
                param.grad = fn(param.grad.detach())
        for name in [name for name in part._buffers if getattr(part, name) is not None]:
            setattr(part, name, fn(getattr(part, name)))

    return module.apply(on_one)


RIGHT = [convert, convert_each_once, convert_by_apply]
