"""Mistakes in 08.ring_allreduce about where x is cut: two halves that cut it at other places, and an x too short to be cut."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_allreduce.exercise import ring_allreduce
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces.right import first_half, second_half

Cut = Callable[[Tensor, int], list[Tensor]]


def cut_by_product(flat: Tensor, world: int) -> list[Tensor]:
    """Borders at i * n // world: the longer chunks stand last."""
    borders = [i * flat.numel() // world for i in range(world + 1)]
    return [flat[a:b] for a, b in zip(borders, borders[1:], strict=False)]


def cut_by_ceil(flat: Tensor, world: int) -> list[Tensor]:
    """Chunks of ceil(n / world): the last ones are short, or empty."""
    size = -(-flat.numel() // world)
    return [flat[i * size : (i + 1) * size] for i in range(world)]


def cut_with_the_rest_last(flat: Tensor, world: int) -> list[Tensor]:
    """n // world each, and the rest in the last one."""
    size = flat.numel() // world
    return [flat[i * size : (i + 1) * size if i < world - 1 else None] for i in range(world)]


def with_first_half_cut(x: Tensor, rank: int, world: int, cut: Cut) -> None:
    flat = x.contiguous().view(-1)
    first_half(cut(flat, world), rank, world)
    second_half(flat.tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_allreduce.mistake(breaks=contract.UNEVEN_RING)
def halves_cut_differently(x: Tensor, rank: int, world: int) -> None:
    """Where the ranks do not divide x, some elements are not complete. Perhaps the halves cut x at other
    places, and the second one sends round what the first one did not complete. ring_reduce_scatter has to
    cut as torch.tensor_split does, the longer chunks first.
    """
    with_first_half_cut(x, rank, world, cut_by_product)


@ring_allreduce.variant(halves_cut_differently)
def _(x: Tensor, rank: int, world: int) -> None:
    with_first_half_cut(x, rank, world, cut_by_ceil)


@ring_allreduce.variant(halves_cut_differently)
def _(x: Tensor, rank: int, world: int) -> None:
    with_first_half_cut(x, rank, world, cut_with_the_rest_last)


@ring_allreduce.mistake(breaks=contract.UNEVEN_RING)
def short_x_through_rank_0(x: Tensor, rank: int, world: int) -> None:
    """Where x has fewer elements than there are ranks more travels through rank 0 than through a rank of the ring. Perhaps a short
    x has a way of its own, through rank 0. The ring needs none: some of its chunks are empty.
    """
    flat = x.contiguous().view(-1)
    if len(flat) < world:
        received = torch.empty_like(flat)
        for source in range(1, world) if rank == 0 else ():
            dist.recv(received, source)
            flat += received
        for step in (dist.send, dist.recv) if rank else ():
            step(flat, 0)
        for target in range(1, world) if rank == 0 else ():
            dist.send(flat, target)
    else:
        first_half(flat.tensor_split(world), rank, world)
        second_half(flat.tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))
