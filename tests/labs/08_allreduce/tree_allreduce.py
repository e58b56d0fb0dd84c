"""Right answers to 08.tree_allreduce, in different shapes."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend

# 08.tree_allreduce ------------------------------------------------------------------------------------------------


def binomial_tree(x: Tensor, rank: int, world: int) -> None:
    """The plain one: up by gaps of 1, 2, 4, ..., then down."""
    flat = x.contiguous()
    received = torch.empty_like(flat)
    gap = 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            flat += received
        gap *= 2
    if rank > 0:
        dist.send(flat, rank - gap)
        dist.recv(flat, rank - gap)
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.send(flat, rank + gap)
    if not x.is_contiguous():
        x.copy_(flat)


def swapped(tensor: Tensor, other: int) -> Tensor:
    """What `other` sends for `tensor`."""
    came = torch.empty_like(tensor)
    for work in batch_isend_irecv([P2POp(isend, tensor, other), P2POp(irecv, came, other)]):
        work.wait()
    return came


def recursive_doubling(x: Tensor, rank: int, world: int) -> None:
    """Partners swap their sums; ranks beyond the largest power of two give theirs away and get the result."""
    power = 1 << (world.bit_length() - 1)
    total = x.contiguous()
    if rank >= power:
        dist.send(total, rank - power)
        dist.recv(total, rank - power)
    else:
        if rank + power < world:
            came = torch.empty_like(total)
            dist.recv(came, rank + power)
            total = total + came
        gap = 1
        while gap < power:
            total = total + swapped(total, rank ^ gap)
            gap *= 2
        if rank + power < world:
            dist.send(total, rank + power)
    x.copy_(total)


def halving_and_doubling(x: Tensor, rank: int, world: int) -> None:
    """Partners swap halves, then quarters, and put them together again; neighbours stand in for extra ranks."""
    flat = x.reshape(-1).clone()
    power = 1 << (world.bit_length() - 1)
    extra = world - power
    if rank < 2 * extra and rank % 2:
        dist.send(flat, rank - 1)
        dist.recv(flat, rank - 1)
        x.copy_(flat.view(x.shape))
        return
    if rank < 2 * extra:
        came = torch.empty_like(flat)
        dist.recv(came, rank + 1)
        flat += came
    number = rank // 2 if rank < 2 * extra else rank - extra

    def rank_of(number: int) -> int:
        return 2 * number if number < extra else number + extra

    start, stop, gap, earlier = 0, flat.numel(), power // 2, []
    while gap:
        middle = (start + stop) // 2
        low, high = (start, middle), (middle, stop)
        keep, give = (low, high) if not number & gap else (high, low)
        came = torch.empty(keep[1] - keep[0], dtype=flat.dtype)
        requests = [irecv(came, rank_of(number ^ gap)), isend(flat[slice(*give)], rank_of(number ^ gap))]
        for request in requests:
            request.wait()
        flat[slice(*keep)] += came
        earlier.append((keep, give, gap))
        start, stop = keep
        gap //= 2
    for keep, give, gap in reversed(earlier):
        other = rank_of(number ^ gap)
        for request in [irecv(flat[slice(*give)], other), isend(flat[slice(*keep)], other)]:
            request.wait()
    if rank < 2 * extra:
        dist.send(flat, rank + 1)
    x.copy_(flat.view(x.shape))


def recursive_tree(x: Tensor, rank: int, world: int) -> None:
    """Ranks low to high - 1: both halves by themselves, then between their first ranks, and back."""
    flat = x.contiguous()

    def up(low: int, high: int) -> None:
        if high - low > 1:
            middle = (low + high) // 2
            up(low, middle) if rank < middle else up(middle, high)
            if rank == middle:
                dist.send(flat, low)
            elif rank == low:
                came = torch.empty_like(flat)
                dist.recv(came, middle)
                flat.add_(came)

    def down(low: int, high: int) -> None:
        if high - low > 1:
            middle = (low + high) // 2
            if rank == low:
                dist.send(flat, middle)
            elif rank == middle:
                dist.recv(flat, low)
            down(low, middle) if rank < middle else down(middle, high)

    up(0, world)
    down(0, world)
    if flat is not x:
        x.copy_(flat)


RIGHT = [binomial_tree, recursive_doubling, halving_and_doubling, recursive_tree]
