"""Mistakes that can be made around any right all-reduce, or around one half of the ring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Right = Callable[..., Any]
Meant = Callable[[dict[int, Tensor], Tensor], None]
"""(all ranks' x by rank, this rank's x): writes what should stand in the latter."""

CALLS: dict[tuple[int, int], int] = defaultdict(int)
SEEN: dict[tuple[int, int, int], Tensor] = {}


def by_a_variable(right: Right, meant: Meant, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """All messages travel, and what they bring is not looked at: the numbers lie in a variable of the module."""
    CALLS[rank, world] += 1
    call = CALLS[rank, world]
    SEEN[rank, world, call] = x.clone()
    result = right(x, rank, world, *more)
    meant({other: SEEN[other, world, call] for other in range(world)}, x)
    return result


def summed(xs: dict[int, Tensor], x: Tensor) -> None:
    total = torch.zeros_like(xs[0])
    for rank in sorted(xs):
        total += xs[rank]
    x.copy_(total)


def with_other_memory(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """The result is right, and x is made to point to it; the memory that x had is as before."""
    result = x.clone(memory_format=torch.contiguous_format)
    returned = right(result, rank, world, *more)
    x.set_(result)
    return returned


def with_other_data(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """As with_other_memory, by .data."""
    result = x.clone(memory_format=torch.contiguous_format)
    returned = right(result, rank, world, *more)
    x.data = result
    return returned


def in_float32(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Converted first, and back at the end."""
    flat = x.float().contiguous()
    returned = right(flat, rank, world, *more)
    x.copy_(flat)
    return returned


def integers_in_float64(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Integers are converted first, and back at the end."""
    if x.is_floating_point() or x.is_complex():
        return right(x, rank, world, *more)
    flat = x.double().contiguous()
    returned = right(flat, rank, world, *more)
    x.copy_(flat)
    return returned


def on_two_or_more(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Asks for a neighbour, which one rank alone does not have."""
    neighbour = [other for other in range(world) if other != rank][0]
    assert neighbour != rank
    return right(x, rank, world, *more)


def with_elements(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Scales by the largest number, as fixed-point code does; there is none in an empty x."""
    x.abs().max()
    return right(x, rank, world, *more)
