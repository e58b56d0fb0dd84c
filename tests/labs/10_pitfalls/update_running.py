"""Right answers to 10.update_running, in different shapes."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import torch
from torch import Tensor


def by_copy(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    """By formula, copied in; the count is an attribute."""
    with torch.no_grad():
        rows = x.movedim(1, -1).reshape(-1, x.shape[1])
        n = rows.shape[0]
        mu = rows.sum(0) / n
        sigma2 = ((rows - mu) ** 2).sum(0) / (n - 1)
        if momentum is None:
            mean._count = getattr(mean, "_count", 0) + 1
            momentum = 1.0 / mean._count
        mean.copy_((1 - momentum) * mean + momentum * mu)
        var.copy_((1 - momentum) * var + momentum * sigma2)


_counts: dict[int, int] = {}


def by_id(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    """Detached data, the count in a dictionary by id."""
    x = x.detach()
    dims = [d for d in range(x.dim()) if d != 1]
    if momentum is None:
        _counts[id(mean)] = _counts.get(id(mean), 0) + 1
        momentum = 1 / _counts[id(mean)]
    mean += momentum * (x.mean(dims) - mean)
    var += momentum * (x.var(dims, unbiased=True) - var)


class Updater:
    """An object that knows its tensors weakly, and returns what it has moved."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[Any, int]] = {}

    @torch.no_grad()
    def __call__(self, x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> tuple[Tensor, Tensor]:
        if momentum is None:
            ref, count = self.seen.get(id(mean), (lambda: None, 0))
            count = count + 1 if ref() is mean else 1
            self.seen[id(mean)] = (weakref.ref(mean), count)
            weight = 1 / count
        else:
            weight = momentum
        channels = x.transpose(0, 1).flatten(1)
        new_var, new_mean = torch.var_mean(channels, dim=1)
        return mean.mul_(1 - weight).add_(new_mean, alpha=weight), var.mul_(1 - weight).add_(
            new_var, alpha=weight
        )


def by_numpy(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    """NumPy on the memory of the tensors."""
    values = np.moveaxis(x.detach().numpy(), 1, 0).reshape(x.shape[1], -1)
    if momentum is None:
        var.batches = getattr(var, "batches", 0) + 1
        momentum = 1 / var.batches
    for held, new in ((mean.numpy(), values.mean(1)), (var.numpy(), values.var(1, ddof=1))):
        held *= 1 - momentum
        held += (momentum * new).astype(held.dtype)


RIGHT = [by_copy, by_id, Updater(), by_numpy]
