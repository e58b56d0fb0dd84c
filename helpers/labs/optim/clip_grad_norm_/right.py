"""A right answer to 04.clip_grad_norm_ in steps, and the frame that most answers share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

Params = Iterable[Tensor]


def grads_of(params: Params) -> list[Tensor]:
    return [param.grad for param in params if param.grad is not None]


def total_of(grads: list[Tensor], norm_type: float) -> Tensor:
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, norm_type)), norm_type)


def factor_of(total: Tensor, max_norm: float) -> Tensor:
    return (max_norm / (total + 1e-6)).clamp(max=1.0)


def on_gradients(clip: Callable[[list[Tensor], float, float], Tensor]) -> Callable[..., Tensor]:
    """The frame that most answers share: gradients once, 0 without any, nothing recorded."""

    @functools.wraps(clip)
    @torch.no_grad()
    def clipped(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
        grads = grads_of(params)
        return clip(grads, max_norm, norm_type) if grads else torch.tensor(0.0)

    return clipped
