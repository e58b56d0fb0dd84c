"""Wrong answers to 08.naive_allreduce: what people write, and what is wrong with it."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.naive import naive_allreduce


def collected(x: Tensor, world: int) -> None:
    """Rank 0's part, first half."""
    received = torch.empty_like(x)
    for source in range(1, world):
        dist.recv(received, source)
        x += received


def handed_out(x: Tensor, world: int) -> None:
    """Rank 0's part, second half."""
    for target in range(1, world):
        dist.send(x, target)


@naive_allreduce.mistake()
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 has the sum and keeps it. All-reduce is for every rank: the sum has to travel back into their x."""
    if rank == 0:
        collected(x, world)
    else:
        dist.send(x, 0)


@naive_allreduce.variant(right_on_rank_0_only)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.clone()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)  # arrives in the copy
        return
    collected(flat, world)
    handed_out(flat, world)
    x.copy_(flat)


@naive_allreduce.mistake()
def forwards_running_sum(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 answers each rank as soon as it has added that rank's numbers, so the early ones get a sum that
    is not complete. With two ranks it looks right. Collect from all first, then hand out.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.empty_like(x)
    for other in range(1, world):
        dist.recv(received, other)
        x += received
        dist.send(x, other)


@naive_allreduce.mistake()
def running_sum_around_the_ring(x: Tensor, rank: int, world: int) -> None:
    """Each rank passes on its running sum, which holds numbers that the next one has counted already: right
    for two ranks, 24 in place of 10 for 1 + 2 + 3 + 4. Pass on what arrived, not the sum so far.
    """
    received = torch.empty_like(x)
    for _ in range(world - 1):
        arrives = dist.irecv(received, (rank - 1) % world)
        dist.send(x, (rank + 1) % world)
        arrives.wait()
        x += received


@naive_allreduce.mistake()
def pairs_only(x: Tensor, rank: int, world: int) -> None:
    """Each rank talks to one other, and then it stops: that is the sum for two ranks. Four need all of them."""
    other = rank ^ 1
    if other < world:
        received = torch.empty_like(x)
        arrives = dist.irecv(received, other)
        dist.send(x, other)
        arrives.wait()
        x += received


@naive_allreduce.variant(pairs_only)
def _(x: Tensor, rank: int, world: int) -> None:
    received = torch.empty_like(x)
    if rank == 0 and world > 1:
        dist.recv(received, 1)
        x += received
        dist.send(x, 1)
    elif rank == 1:
        dist.send(x, 0)
        dist.recv(x, 0)


@naive_allreduce.mistake()
def sum_goes_one_way_down_a_chain(x: Tensor, rank: int, world: int) -> None:
    """Each rank adds what comes from the rank before it, and passes its sum on to the next one. The last rank
    has the sum of all, every other one only the sum up to itself: the way back is missing.
    """
    if rank:
        received = torch.empty_like(x)
        dist.recv(received, rank - 1)
        x += received
    if rank + 1 < world:
        dist.send(x, rank + 1)


@naive_allreduce.mistake()
def returns_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """The sum is returned and x stays as it was. A collective writes into the tensor that it is given and
    returns None: the caller's x, a gradient say, has to change.
    """
    result = x.clone()
    if rank:
        dist.send(result, 0)
        dist.recv(result, 0)
    else:
        collected(result, world)
        handed_out(result, world)
    return result


@naive_allreduce.mistake()
def works_on_a_copy(x: Tensor, rank: int, world: int) -> None:
    """All is added up in a copy, and nobody copies it back: x is as before on every rank. `x = x + received`
    makes such a copy, too; `x += received` and `x.copy_(result)` write into x.
    """
    result = x.clone()
    if rank:
        dist.send(result, 0)
        dist.recv(result, 0)
    else:
        collected(result, world)
        handed_out(result, world)


@naive_allreduce.mistake()
def rank_0_binds_a_new_name(x: Tensor, rank: int, world: int) -> None:
    """`x = x + received` makes a new tensor on rank 0. The others get the right sum from it, but rank 0's own
    x is as before. `x += received` adds in place.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.empty_like(x)
    for source in range(1, world):
        dist.recv(received, source)
        x = x + received
    handed_out(x, world)


@naive_allreduce.mistake()
def adds_what_comes_back(x: Tensor, rank: int, world: int) -> None:
    """What comes back from rank 0 is the sum already, with the own numbers in it. It is copied into x, not
    added.
    """
    if rank:
        dist.send(x, 0)
        received = torch.empty_like(x)
        dist.recv(received, 0)
        x += received
        return
    collected(x, world)
    handed_out(x, world)


@naive_allreduce.mistake()
def mean(x: Tensor, rank: int, world: int) -> None:
    """Somebody divides by the number of ranks. All-reduce's default is the sum; who wants the mean divides
    once, outside.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    collected(x, world)
    x /= world
    handed_out(x, world)
