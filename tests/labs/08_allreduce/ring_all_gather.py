"""Right answers to 08.ring_all_gather, in different shapes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend

from .shared import bounds, gather_into_place


def gather_all_receives_first(x: Tensor, rank: int, world: int) -> None:
    """All receives are posted before the first send; a chunk goes on when it has come."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    arrive = [irecv(chunks[(rank - step) % world], (rank - 1) % world) for step in range(world - 1)]
    leave = []
    for step in range(world - 1):
        leave.append(isend(chunks[(rank + 1 - step) % world], (rank + 1) % world))
        arrive[step].wait()
    for request in leave:
        request.wait()
    x.copy_(flat.view(x.shape))


def gather_in_own_chunks(x: Tensor, rank: int, world: int) -> None:
    """The partner of scatter_odd_even, with its chunks."""
    values = x.flatten()
    cuts = bounds(values.numel(), world)
    travelling = values[cuts[(rank + 1) % world] : cuts[(rank + 1) % world + 1]].clone()
    for step in range(world - 1):
        index = (rank - step) % world
        came = torch.empty(cuts[index + 1] - cuts[index], dtype=x.dtype)
        for work in batch_isend_irecv(
            [P2POp(isend, travelling, (rank + 1) % world), P2POp(irecv, came, (rank - 1) % world)]
        ):
            work.wait()
        values[cuts[index] : cuts[index + 1]] = came
        travelling = came
    x.copy_(values.view(x.shape))


def gather_both_ways(x: Tensor, rank: int, world: int) -> None:
    """Half of the chunks come from the left, the others from the right."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    from_left, from_right = world // 2, (world - 1) // 2
    for step in range(from_left):
        ops = [
            P2POp(irecv, chunks[(rank - step) % world], (rank - 1) % world, tag=1),
            P2POp(isend, chunks[(rank + 1 - step) % world], (rank + 1) % world, tag=1),
        ]
        if step < from_right:
            ops += [
                P2POp(irecv, chunks[(rank + 2 + step) % world], (rank + 1) % world, tag=2),
                P2POp(isend, chunks[(rank + 1 + step) % world], (rank - 1) % world, tag=2),
            ]
        for work in batch_isend_irecv(ops):
            work.wait()
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


def gather_emptied_then_added(x: Tensor, rank: int, world: int) -> None:
    """The other chunks are set to 0 first, and what comes is added to them."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    for number, chunk in enumerate(chunks):
        if number != (rank + 1) % world:
            chunk.zero_()
    for step in range(world - 1):
        came = torch.empty_like(chunks[(rank - step) % world])
        arrives = irecv(came, (rank - 1) % world)
        isend(chunks[(rank + 1 - step) % world], (rank + 1) % world).wait()
        arrives.wait()
        chunks[(rank - step) % world].add_(came)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


RIGHT = [
    gather_into_place,
    gather_emptied_then_added,
    gather_all_receives_first,
    gather_in_own_chunks,
    gather_both_ways,
]
