"""What answers to 13.grouped are tried on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.attention.shared.blocks import randn, strided

Answer = Callable[[Tensor, Tensor, Tensor], Tensor]
Sizes = tuple[int, int, int, int, int, int]  # B, Hq, Hk, Lq, Lk, D

PLAIN: tuple[Sizes, ...] = ((2, 3, 3, 5, 7, 4),)  # each query head has keys of its own
GROUPS: tuple[Sizes, ...] = (
    (2, 6, 3, 5, 7, 4),
    (3, 8, 2, 4, 9, 6),
    (1, 6, 2, 3, 1, 5),  # one key
    (2, 4, 2, 1, 10, 3),  # one query
)
ONE: tuple[Sizes, ...] = ((2, 5, 1, 3, 8, 4), (1, 1, 1, 1, 1, 1))
# In each k is the largest, as while one position after the other is made.
LONG: tuple[Sizes, ...] = (
    (
        1,
        8,
        2,
        2,
        25,
        12,
    ),  # four heads in a group: keys and values joined are twice k, and no copy for each of them
    (2, 6, 3, 1, 40, 8),
    (3, 4, 1, 1, 30, 7),
    (2, 3, 3, 2, 20, 6),
)
UNEVEN: tuple[Sizes, ...] = ((2, 5, 2, 3, 4, 6), (2, 4, 3, 3, 5, 6), (2, 2, 4, 3, 5, 6), (1, 3, 6, 2, 5, 4))


def drawn(
    trial: Trial, sizes: Sizes, dtype: torch.dtype = torch.float64, gaps: bool = True
) -> tuple[Tensor, ...]:
    """Normal q, k and v; with gaps in their memory, or contiguous."""
    batch, heads, shared, queries, keys, width = sizes
    shapes = (batch, heads, queries, width), (batch, shared, keys, width), (batch, shared, keys, width)
    parts = (randn(trial, *shape, dtype=dtype) for shape in shapes)
    return tuple(strided(each) if gaps else each for each in parts)


def told(sizes: Sizes, dtype: torch.dtype = torch.float64, more: str = "") -> str:
    batch, heads, shared, queries, keys, width = sizes
    return (
        f"q of shape {(batch, heads, queries, width)}, k and v of shape {(batch, shared, keys, width)}, "
        f"{str(dtype).removeprefix('torch.')}{more}"
    )


def reference(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The formula with keys and values repeated, side by side; torch's graph behind it."""
    k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for each in (k, v))
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v
