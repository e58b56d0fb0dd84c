"""What answers to 13.attend_blockwise are tried on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.attention.shared.blocks import randn, strided

Answer = Callable[[Tensor, Tensor, Tensor, int], Tensor]
Sizes = tuple[int, int, int, int, int, int]  # B, H, Lq, Lk, D, block

EVEN: tuple[Sizes, ...] = ((2, 3, 5, 6, 4, 2), (1, 2, 3, 8, 5, 4))
UNEVEN: tuple[Sizes, ...] = (
    (2, 3, 5, 7, 4, 3),
    (3, 2, 4, 11, 6, 8),
    (2, 1, 3, 5, 2, 9),  # block larger than Lk
    (1, 3, 7, 4, 3, 1),
    (2, 4, 1, 10, 3, 4),  # one query
    (2, 3, 4, 1, 5, 2),  # one key
    (1, 1, 1, 1, 1, 1),
)
# Of q, a block of keys, and the scores of a block, each is the largest once.
SMALL: tuple[Sizes, ...] = ((2, 3, 9, 21, 8, 2), (2, 3, 2, 37, 5, 4), (3, 2, 7, 24, 2, 5))


def drawn(trial: Trial, sizes: Sizes, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Normal q, k and v, each in memory of its own, with gaps."""
    batch, heads, queries, keys, width, _ = sizes
    return (
        strided(randn(trial, batch, heads, queries, width, dtype=dtype)),
        strided(randn(trial, batch, heads, keys, width, dtype=dtype)),
        strided(randn(trial, batch, heads, keys, width, dtype=dtype)),
    )


def told(sizes: Sizes, dtype: torch.dtype = torch.float64, more: str = "") -> str:
    batch, heads, queries, keys, width, block = sizes
    return (
        f"q of shape {(batch, heads, queries, width)}, k and v of shape {(batch, heads, keys, width)}, block {block}, "
        f"{str(dtype).removeprefix('torch.')}{more}"
    )
