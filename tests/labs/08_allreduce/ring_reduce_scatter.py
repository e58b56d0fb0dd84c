"""Right answers to 08.ring_reduce_scatter, in different shapes."""

from __future__ import annotations

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend, recv

from .shared import bounds, scatter_with_irecv


def scatter_odd_even(x: Tensor, rank: int, world: int) -> slice:
    """Blocking calls only: even ranks send first, odd ones receive first. Chunks of its own; empty ones stay at home."""
    values = x.flatten().clone()
    cuts = bounds(values.numel(), world)

    def part(index: int) -> slice:
        return slice(cuts[index % world], cuts[index % world + 1])

    for step in range(world - 1):
        out, into = values[part(rank - step)], values[part(rank - step - 1)]
        came = torch.empty_like(into)
        calls = [(dist.send, out, (rank + 1) % world), (dist.recv, came, (rank - 1) % world)]
        for call, tensor, peer in calls if rank % 2 == 0 else reversed(calls):
            if tensor.numel():
                call(tensor, peer)
        into.add_(came)
    x.copy_(values.view(x.shape))
    return part(rank + 1)


def scatter_to_the_left(x: Tensor, rank: int, world: int) -> slice:
    """The other way round the ring: it starts one chunk further, so that rank r still ends with chunk r + 1."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    for step in range(world - 1):
        mine = chunks[(rank + step + 3) % world]
        came = torch.empty_like(mine)
        ops = [
            P2POp(isend, chunks[(rank + step + 2) % world], (rank - 1) % world),
            P2POp(irecv, came, (rank + 1) % world),
        ]
        for work in batch_isend_irecv(ops):
            work.wait()
        mine += came
    if flat.data_ptr() != x.data_ptr() or not x.is_contiguous():
        x.copy_(flat.view_as(x))
    lengths = [len(chunk) for chunk in chunks]
    own = (rank + 1) % world
    return slice(sum(lengths[:own]), sum(lengths[: own + 1]))


def scatter_padded(x: Tensor, rank: int, world: int) -> slice:
    """Pads to rows of equal length."""
    count = x.numel()
    length = -(-count // world)
    rows = x.new_zeros(world, length)
    rows.view(-1)[:count] = x.reshape(-1)
    travelling = rows[rank].clone()
    for step in range(world - 1):
        came = torch.empty_like(travelling)
        leaves = isend(travelling, (rank + 1) % world)
        recv(came, (rank - 1) % world)
        leaves.wait()
        travelling = came + rows[(rank - step - 1) % world]
    own = (rank + 1) % world
    rows[own] = travelling
    x.copy_(rows.view(-1)[:count].view(x.shape))
    return slice(own * length, min((own + 1) * length, count))


def scatter_with_numpy_slice(x: Tensor, rank: int, world: int) -> slice:
    """Where the chunk stands, in numpy's integers."""
    scatter_with_irecv(x, rank, world)
    edges = np.cumsum([0, *map(len, x.flatten().tensor_split(world))])
    return slice(edges[(rank + 1) % world], edges[(rank + 1) % world + 1])


RIGHT = [
    scatter_with_irecv,
    scatter_odd_even,
    scatter_to_the_left,
    scatter_padded,
    scatter_with_numpy_slice,
]
