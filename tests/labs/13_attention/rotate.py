"""Right answers of 13.rotate, of other shapes than the solution's."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def by_complex_numbers(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """A pair is a complex number, a turn a product."""
    wide = x.dtype if x.dtype == torch.float64 else torch.float32
    speeds = 1.0 / base ** (torch.arange(0, x.shape[-1], 2, dtype=wide) / x.shape[-1])
    angles = torch.outer(positions.to(wide), speeds)
    pairs = torch.view_as_complex(x.to(wide).reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(3).to(x.dtype)


def by_a_swapped_copy(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """x cos + swapped x sin, with each angle twice; always in float64 inside."""
    width = x.shape[-1]
    angles = positions.double()[:, None] * torch.exp(
        -math.log(base) * torch.arange(width // 2).double() * 2 / width
    )
    angles = angles.repeat_interleave(2, dim=-1)
    pairs = x.double().unflatten(-1, (-1, 2))
    other = torch.stack((-pairs[..., 1], pairs[..., 0]), -1).reshape(x.shape)
    return (x.double() * angles.cos() + other * angles.sin()).to(x.dtype)


def by_matrices(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """A 2 x 2 matrix for each row and pair, and einsum."""
    wide = torch.promote_types(x.dtype, torch.float32)
    speeds = torch.tensor([base ** (-2 * i / x.shape[-1]) for i in range(x.shape[-1] // 2)], dtype=wide)
    t = torch.einsum("t,i->ti", positions.to(wide), speeds)
    turn = torch.stack((torch.stack((t.cos(), -t.sin()), -1), torch.stack((t.sin(), t.cos()), -1)), -2)
    pairs = x.to(wide).unflatten(-1, (-1, 2))
    return torch.einsum("tirc,bhtic->bhtir", turn, pairs).flatten(-2).to(x.dtype)


def into_new_memory(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Filled pair by pair."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    result = torch.empty(x.shape, dtype=wide)
    for i in range(x.shape[-1] // 2):
        t = positions.to(wide) * (base ** (-2 * i / x.shape[-1]))
        a, b = x[..., 2 * i].to(wide), x[..., 2 * i + 1].to(wide)
        result[..., 2 * i] = a * t.cos() - b * t.sin()
        result[..., 2 * i + 1] = a * t.sin() + b * t.cos()
    return result.to(x.dtype)


TABLES: dict[tuple[Any, ...], Tensor] = {}


def by_tables(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Tables are kept between calls, under all that they are made of; the numbers of the positions, not their tensor."""
    wide = torch.promote_types(x.dtype, torch.float32)
    key = tuple(positions.tolist()), x.shape[-1], wide, base
    if key not in TABLES:
        speeds = torch.pow(base, torch.arange(x.shape[-1] // 2, dtype=wide) * (-2 / x.shape[-1]))
        angles = torch.einsum("t,i->ti", positions.to(wide), speeds)
        TABLES[key] = torch.stack((angles.cos(), angles.sin()))
    cos, sin = TABLES[key]
    first, second = x.to(wide).unflatten(-1, (-1, 2)).unbind(-1)
    pairs = torch.stack([first * cos - second * sin, second * cos + first * sin], -1)
    return pairs.view(x.shape).to(x.dtype)


RIGHT: list[Any] = [by_complex_numbers, by_a_swapped_copy, by_matrices, into_new_memory, by_tables]
