"""Right answers to 10.std_var, in different shapes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

Dims = int | Sequence[int] | None


def var_of_two_passes(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The short one."""
    mean = x.mean(dim, keepdim=True)
    n = x.numel() // max(mean.numel(), 1)
    return ((x - mean) ** 2).sum(dim, keepdim=keepdim).div(max(0, n - correction))


def std_of_two_passes(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.sqrt(var_of_two_passes(x, dim, correction=correction, keepdim=keepdim))


def var_over_the_last(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The reduced dims are moved to the end and flattened into one."""
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = sorted(d % x.ndim for d in dims)
    kept = [d for d in range(x.ndim) if d not in dims]
    size = math.prod(x.shape[d] for d in dims)
    rows = x.permute(*kept, *dims).reshape(*(x.shape[d] for d in kept), size)
    distances = rows - rows.mean(-1, keepdim=True)
    result = torch.einsum("...i,...i->...", distances, distances) / torch.tensor(
        max(size - correction, 0), dtype=x.dtype
    )
    if size == 0:
        result = torch.full_like(result, math.nan)
    return result.reshape([1 if d in dims else n for d, n in enumerate(x.shape)]) if keepdim else result


def std_over_the_last(*args: Any, **kwargs: Any) -> Tensor:
    return var_over_the_last(*args, **kwargs) ** 0.5


def var_shifted(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """One pass, after a shift by the first entry of each sum: the squares stay small."""
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    n = math.prod(x.shape[d] for d in dims)
    first = x
    for d in dims:
        first = first.narrow(d, 0, min(1, x.shape[d]))
    if n == 0:
        return x.sum(dims, keepdim=keepdim) * math.nan
    near = x - first
    sums, squares = near.sum(dims, keepdim=keepdim), near.pow(2).sum(dims, keepdim=keepdim)
    return (squares - sums * sums / n) / max(n - correction, 0)


def std_shifted(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return var_shifted(x, dim, correction, keepdim).sqrt()


class Moments:
    """Welford's way: one entry of each sum after the other."""

    def __init__(self, power: float) -> None:
        self.power = power

    def __call__(self, x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
        dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
        shape = list(x.shape)
        for d in dims:
            shape[d] = 1
        mean, rest = x.new_zeros(shape), x.new_zeros(shape)
        count = 0
        for place in itertools.product(*(range(x.shape[d]) for d in dims)):
            entry = x
            for d, at in zip(dims, place, strict=True):
                entry = entry.narrow(d, at, 1)
            count += 1
            step = entry - mean
            mean = mean + step / count
            rest = rest + step * (entry - mean)
        result = (rest / max(count - correction, 0)) ** self.power
        return result if keepdim else result.squeeze(tuple(dims))


RIGHT = [
    (std_of_two_passes, var_of_two_passes),
    (std_over_the_last, var_over_the_last),
    (std_shifted, var_shifted),
    (Moments(0.5), Moments(1.0)),
]
