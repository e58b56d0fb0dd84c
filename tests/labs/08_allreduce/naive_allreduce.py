"""Right answers to 08.naive_allreduce, in different shapes."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend, recv, send


def naive_blocking(x: Tensor, rank: int, world: int) -> None:
    """The plain one."""
    flat = x.contiguous()
    if rank == 0:
        buffer = torch.empty_like(flat)
        for source in range(1, world):
            dist.recv(buffer, src=source)
            flat += buffer
        for target in range(1, world):
            dist.send(flat, dst=target)
    else:
        dist.send(flat, dst=0)
        dist.recv(flat, src=0)
    if not x.is_contiguous():
        x.copy_(flat)


def naive_all_at_once(x: Tensor, rank: int, world: int) -> None:
    """All receives of rank 0 at once, each into a row of its own."""
    mine = x.detach().clone(memory_format=torch.contiguous_format)
    if rank:
        send(mine, 0)
        recv(mine, 0)
    else:
        rows = mine.new_empty((world, *mine.shape))
        rows[0] = mine
        for request in [irecv(rows[source], source) for source in range(1, world)]:
            request.wait()
        mine = rows.sum(0, dtype=mine.dtype)
        for request in [isend(mine, target) for target in range(1, world)]:
            request.wait()
    x.copy_(mine)


def naive_from_anyone(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 takes the numbers in the order in which they come, in two segments."""
    flat = x.reshape(-1).clone()
    halves = flat.tensor_split(2)
    for tag, half in enumerate(halves):
        if rank:
            dist.send(half, 0, tag=tag)
        buffer = torch.zeros_like(half)
        for _ in range(1, world) if rank == 0 else ():
            dist.recv(buffer, tag=tag)
            half.add_(buffer)
    for half in halves:
        for other in range(1, world) if rank == 0 else [0]:
            (dist.recv if rank else dist.send)(half, other)
    x.copy_(flat.view(x.shape))


def naive_batched(x: Tensor, rank: int, world: int) -> Tensor:
    """batch_isend_irecv; returns x, which does no harm."""
    total = x.contiguous()
    if world == 1:
        return x
    others = range(1, world) if rank == 0 else [0]
    buffers = {other: torch.empty_like(total) for other in others}

    def messages(sends: bool) -> None:
        ops = [
            P2POp(isend if sends else irecv, total if sends else buffers[other], other) for other in others
        ]
        for work in batch_isend_irecv(ops):
            work.wait()

    messages(sends=rank > 0)
    if rank == 0:
        for buffer in buffers.values():
            total += buffer
    messages(sends=rank == 0)
    x.copy_(total if rank == 0 else buffers[0])
    return x


RIGHT = [naive_blocking, naive_all_at_once, naive_from_anyone, naive_batched]
