"""Wrong answers to 08.tree_allreduce that give the right sums, and too many rounds or bytes; and those about memory."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.tree import tree_allreduce
from helpers.labs.allreduce.tree_mistakes import down, up
from helpers.labs.allreduce.wrong_parts import first_half, second_half, through_chunks


@tree_allreduce.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """dist.all_reduce does all of it. Build it from messages of one rank to one other."""
    dist.all_reduce(x)


@tree_allreduce.mistake()
def a_star(x: Tensor, rank: int, world: int) -> None:
    """All send to rank 0, and rank 0 to all. No message waits for a second one, but rank 0 moves N - 1 times
    x both ways, one after the other. In a tree others add and hand out, too.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        received = torch.empty_like(flat)
        for source in range(1, world):
            dist.recv(received, source)
            flat += received
        for target in range(1, world):
            dist.send(flat, target)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def tree_up_star_down(x: Tensor, rank: int, world: int) -> None:
    """The way up is a tree, but rank 0 hands the result to every rank itself, N - 1 times x. On the way down
    each rank that has the result can pass it on.
    """
    flat = x.contiguous()
    up(flat, rank, world)
    if rank:
        dist.recv(flat, 0)
    else:
        for target in range(1, world):
            dist.send(flat, target)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def a_chain(x: Tensor, rank: int, world: int) -> None:
    """The sum goes from rank to rank down a chain and back: each rank has one neighbour on each side, and the
    last one waits for all the others. A tree has 2 log2(N) rounds, the chain 2 (N - 1).
    """
    flat = x.contiguous()
    if rank + 1 < world:
        received = torch.empty_like(flat)
        dist.recv(received, rank + 1)
        flat += received
    if rank:
        dist.send(flat, rank - 1)
        dist.recv(flat, rank - 1)
    if rank + 1 < world:
        dist.send(flat, rank + 1)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def a_ring(x: Tensor, rank: int, world: int) -> None:
    """That is the ring: few bytes, and 2 (N - 1) rounds. For small x the rounds are what counts, and a tree
    has 2 log2(N) of them.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        first_half(chunks, rank, world)
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@tree_allreduce.mistake()
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> None:
    """`x.contiguous()` of a column is a copy. It was reduced, and the column stayed as it was."""
    flat = x.contiguous()
    down(flat, rank, world, up(flat, rank, world))


@tree_allreduce.mistake()
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """send and recv take contiguous tensors only. Work on `x.contiguous()` and copy the result back into x."""
    down(x, rank, world, up(x, rank, world))


@tree_allreduce.mistake()
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """The buffer is float32 whatever x is; a message carries bytes, no types."""
    flat = x.contiguous()
    received, gap = torch.empty(flat.shape), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            flat += received
        gap *= 2
    if rank:
        dist.send(flat, rank - gap)
    down(flat, rank, world, gap)
    if flat is not x:
        x.copy_(flat)
