"""A right answer to 13.generate in two parts: the loop, and what stands around it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def in_eval(model: nn.Module) -> Iterator[None]:
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def rightly_run(loop: Callable[..., Any]) -> Callable[..., Any]:
    """In eval mode and without a graph, as asked."""

    @functools.wraps(loop)
    @torch.no_grad()
    def run(model: nn.Module, prompt: Tensor, n: int) -> Any:
        with in_eval(model):
            return loop(model, prompt.detach(), n)

    return run


def rows_of(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The right loop."""
    rows = [prompt.detach()]
    if n:
        caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
        for _ in range(n):
            rows.append(model(rows[-1], caches)[:, -1:])
    return torch.cat(rows, dim=1)
