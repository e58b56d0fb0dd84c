"""Mistakes in 08.ring_allreduce: which chunk at which step, how many steps, who sends first; and buffers."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_allreduce.exercise import ring_allreduce
from helpers.labs.allreduce.ring_allreduce.mistakes.four_ranks import (
    chunks_of,
    irecv_without_wait,
    isend_buffer_overwritten,
    right_on_rank_0_only,
    second_half_runs_forwards,
    second_half_starts_with_chunk_rank,
)
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces.right import exchanged, first_half, second_half

Index = Callable[[int, int], int]
"""(rank, step) -> number of a chunk."""


def moved(
    chunks: tuple[Tensor, ...], rank: int, steps: int, sent: Index, into: Index, adds: bool = False
) -> None:
    """One half of the ring, with its own rule of which chunk leaves and where the one that comes belongs."""
    world = len(chunks)
    for step in range(steps):
        mine = chunks[into(rank, step) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[sent(rank, step) % world], buffer, rank, world)
        mine.copy_(mine + buffer if adds else buffer)


@ring_allreduce.variant(second_half_runs_forwards)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    moved(chunks, rank, world - 1, lambda r, s: r + 1 + s, lambda r, s: r - s)


@ring_allreduce.variant(second_half_runs_forwards)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    moved(chunks, rank, world - 1, lambda r, s: r + 1 - s, lambda r, s: r + s)


@ring_allreduce.variant(second_half_starts_with_chunk_rank)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    moved(chunks, rank, world - 1, lambda r, s: r + s, lambda r, s: r + s - 1)


@ring_allreduce.variant(second_half_starts_with_chunk_rank)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    moved(chunks, rank, world - 1, lambda r, s: r - s, lambda r, s: r - s)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def one_step_too_few(x: Tensor, rank: int, world: int) -> None:
    """A chunk that should have come to a rank has not. A half has N - 1 steps. Perhaps one of them is
    missing.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    moved(chunks, rank, world - 2, lambda r, s: r + 1 - s, lambda r, s: r - s)


@ring_allreduce.variant(one_step_too_few)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    moved(chunks, rank, world - 2, lambda r, s: r - s, lambda r, s: r - s - 1, adds=True)
    second_half(chunks, rank, world)


@ring_allreduce.variant(one_step_too_few)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    moved(chunks, rank, world - 2, lambda r, s: r - s, lambda r, s: r - s - 1, adds=True)
    moved(chunks, rank, world - 2, lambda r, s: r + 1 - s, lambda r, s: r - s)


@ring_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def all_receive_first(x: Tensor, rank: int, world: int) -> None:
    """Every rank stands in a blocking recv, and nobody has sent yet. irecv returns at once: post it,
    send, then wait.
    """
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.recv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine.copy_(mine + buffer if step < world - 1 else buffer)


@ring_allreduce.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    for step in range(world - 1):  # forgotten in the second half only
        buffer = torch.empty_like(chunks[(rank - step) % world])
        dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
        chunks[(rank - step) % world].copy_(buffer)


@ring_allreduce.variant(right_on_rank_0_only)
def _(x: Tensor, rank: int, world: int) -> None:
    received = torch.empty_like(x)
    if rank:
        dist.send(x, 0)
        return
    for source in range(1, world):
        dist.recv(received, source)
        x += received


@ring_allreduce.variant(right_on_rank_0_only)
def _(x: Tensor, rank: int, world: int) -> None:
    result = x.clone()
    first_half(chunks_of(result, world), rank, world)
    second_half(chunks_of(result, world), rank, world)
    if rank == 0:
        x.copy_(result)


@ring_allreduce.variant(isend_buffer_overwritten)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        leaves = dist.isend(travelling, (rank + 1) % world)
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world)
        travelling.copy_(received + mine if step < world - 1 else received)
        leaves.wait()
        mine.copy_(travelling)


@ring_allreduce.variant(isend_buffer_overwritten)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        outgoing, mine = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        received = torch.empty_like(mine)
        leaves = dist.isend(outgoing, (rank + 1) % world)
        outgoing.zero_()
        dist.recv(received, (rank - 1) % world)
        leaves.wait()
        mine.copy_(mine + received if step < world - 1 else received)
