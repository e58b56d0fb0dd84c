"""What people write for 08.ring_reduce_scatter: neighbours, and chunks of different lengths."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_reduce_scatter.exercise import ring_reduce_scatter
from helpers.labs.allreduce.ring_reduce_scatter.mistakes.chunks import chunks_of, rows_for_chunks
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces.right import first_half, place, through_chunks


@ring_reduce_scatter.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def receives_from_the_wrong_side(x: Tensor, rank: int, world: int) -> slice:
    """Sends and receives do not meet: what one rank has posted the other one does not answer. Perhaps a rank receives
    from the neighbour to which it sends. What leaves to rank + 1 comes from rank - 1.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        arrives = dist.irecv(buffer, (rank + 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        arrives.wait()
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(receives_from_the_wrong_side)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        arrives = dist.irecv(buffer, (rank + 1) % world)
        leaves = dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
        arrives.wait()
        leaves.wait()
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks="Returns slice(start, stop) of that chunk in x.flatten().")
def slice_by_one_length(x: Tensor, rank: int, world: int) -> slice:
    """The sums are right, and where the chunks differ in length a slice is not that of the own chunk. Perhaps it starts at
    the number of the chunk times one length, its own or the longest. Add up the lengths of the chunks in front of it.
    """
    own, size = (rank + 1) % world, 0
    through_chunks(x, world, lambda chunks: first_half(chunks, rank, world))
    size = len(chunks_of(x, world)[own])
    return slice(own * size, own * size + size)


@ring_reduce_scatter.variant(slice_by_one_length)
def _(x: Tensor, rank: int, world: int) -> slice:
    own, size = (rank + 1) % world, -(-x.numel() // world)
    through_chunks(x, world, lambda chunks: first_half(chunks, rank, world))
    return slice(own * size, min(own * size + size, x.numel()))


@ring_reduce_scatter.mistake(breaks=contract.ANY_SHAPE)
def short_x_left(x: Tensor, rank: int, world: int) -> slice:
    """Where x has fewer elements than there are ranks the slice is the whole x, and no element is complete. Perhaps a
    question stands at the start, `if x.numel() < world`. Some chunks are empty then, and the others have to travel.
    """
    if x.numel() < world:
        return slice(0, x.numel())
    through_chunks(x, world, lambda chunks: first_half(chunks, rank, world))
    return place(x, rank, world)


@ring_reduce_scatter.variant(rows_for_chunks)
def _(x: Tensor, rank: int, world: int) -> slice:
    flat = x.contiguous()
    rows = flat.tensor_split(world) if x.dim() else flat.view(1).tensor_split(world)
    first_half(rows, rank, world)
    if flat is not x:
        x.copy_(flat)
    start = sum(map(len, rows[: (rank + 1) % world]))
    return slice(start, start + len(rows[(rank + 1) % world]))
