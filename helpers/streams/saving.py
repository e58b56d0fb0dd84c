"""Copies of a tensor of the device by `copy.deepcopy`, and as bytes by pickle and torch.save."""

from __future__ import annotations

import copy
from typing import Any

import torch

_OWN = {"raw", "shadow", "allocation"}


def _attributes(tensor: torch.Tensor) -> dict[str, Any]:
    """What the user and torch have attached to the tensor (`_is_param` among it)."""
    return {name: value for name, value in vars(tensor).items() if name not in _OWN}


def deep_copied(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """As `copy.deepcopy` copies any tensor: only leaves, with their gradient. The host does not wait."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
            "at the moment."
        )
    copied = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    memo[id(tensor)] = copied
    vars(copied).update(copy.deepcopy(_attributes(tensor), memo))
    if tensor.grad is not None:
        copied.grad = copy.deepcopy(tensor.grad, memo)
    return copied


def reduced(tensor: torch.Tensor) -> tuple[Any, ...]:
    """How pickle writes it: as a CPU tensor and the name of its device (the host waits for the value)."""
    if isinstance(tensor, torch.nn.Parameter):
        return torch._utils._rebuild_parameter, (tensor.detach(), tensor.requires_grad, {})
    value = tensor.detach().cpu()
    arguments = (value, tensor.dtype, str(tensor.device), tensor.requires_grad)
    return torch._utils._rebuild_device_tensor_from_cpu_tensor, arguments
