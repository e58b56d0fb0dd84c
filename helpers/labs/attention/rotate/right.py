"""A right answer to 13.rotate in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def wide_of(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def speeds_of(width: int, base: float, wide: torch.dtype) -> Tensor:
    return base ** (-torch.arange(0, width, 2, dtype=wide) / width)


def angles_of(x: Tensor, positions: Tensor, base: float) -> Tensor:
    wide = wide_of(x)
    return positions.to(wide)[:, None] * speeds_of(x.shape[-1], base, wide)


def pairs_of(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 0::2], x[..., 1::2]


def turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos - b * sin, a * sin + b * cos


def joined(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack((a, b), dim=-1).flatten(-2)


def answer(
    *,
    angles: Callable[..., Tensor] = angles_of,
    pairs: Callable[..., Any] = pairs_of,
    turn: Callable[..., Any] = turned,
    join: Callable[..., Tensor] = joined,
) -> Callable[..., Tensor]:
    def rotate(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
        t = angles(x, positions, base)
        a, b = pairs(x.to(wide_of(x)))
        return join(*turn(a, b, t.cos(), t.sin())).to(x.dtype)

    return rotate


def by_angles(angles: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return answer(angles=angles)


def by_turn(turn: Callable[..., Any]) -> Callable[..., Tensor]:
    return answer(turn=turn)
