"""Wrong answers to 08.ring_reduce_scatter that are right on eight numbers, and fail by traffic, size, dtype or memory."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_reduce_scatter import ring_reduce_scatter
from helpers.labs.allreduce.wrong_parts import exchanged, first_half, place, through_chunks


@ring_reduce_scatter.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int) -> slice:
    """dist.reduce_scatter_tensor and dist.all_reduce are what you are building here. Use messages from one
    rank to the next.
    """
    dist.all_reduce(x)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def whole_x_travels(x: Tensor, rank: int, world: int) -> slice:
    """The whole x goes round, and each rank keeps the chunk that it needs. That is N times the bytes: a step
    moves one chunk only.
    """
    travelling, own = x.contiguous().view(-1).clone(), place(x, rank, world)
    total, received = travelling.clone(), torch.empty_like(travelling)
    for _ in range(world - 1):
        exchanged(travelling, received, rank, world)
        total += received
        travelling, received = received, travelling
    x.copy_(total.view(x.shape))
    return own


@ring_reduce_scatter.mistake()
def rows_for_chunks(x: Tensor, rank: int, world: int) -> slice:
    """`x.tensor_split(world)` cuts along the first dimension: with two rows on four ranks two chunks are
    empty and two far too long. Flatten first, then cut.
    """
    flat = x.contiguous()
    rows = flat.tensor_split(world) if x.dim() else flat.view(1).tensor_split(world)
    first_half(rows, rank, world)
    if flat is not x:
        x.copy_(flat)
    own = (rank + 1) % world
    start = sum(row.numel() for row in rows[:own])
    return slice(start, start + rows[own].numel())


@ring_reduce_scatter.mistake()
def each_chunk_straight_to_its_owner(x: Tensor, rank: int, world: int) -> slice:
    """Each rank sends each chunk straight to the rank that will own it. The bytes are those of a ring, but
    every rank now talks to every other: N (N - 1) connections, and messages that cross on the same wires.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        own = chunks[(rank + 1) % world]
        for step in range(1, world):
            buffer = torch.empty_like(own)
            arrives = dist.irecv(buffer, (rank - step) % world)
            dist.send(chunks[(rank + step + 1) % world], (rank + step) % world)
            arrives.wait()
            own += buffer

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def a_message_for_each_number(x: Tensor, rank: int, world: int) -> slice:
    """Each number travels in a message of its own. Every message pays its start-up time, so a chunk should go
    whole.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            arrive = [dist.irecv(one, (rank - 1) % world) for one in buffer.split(1)]
            leave = [dist.isend(one, (rank + 1) % world) for one in chunks[(rank - step) % world].split(1)]
            for request in arrive + leave:
                request.wait()
            mine += buffer

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int) -> slice:
    """`x.chunk(4)` of six numbers gives three chunks of two: it promises equal chunks, not their number.
    `tensor_split` gives as many as you ask for, empty ones too.
    """
    flat = x.contiguous().view(-1)
    chunks = flat.chunk(world)
    first_half(chunks, rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))
    own = (rank + 1) % world
    start = sum(len(chunk) for chunk in chunks[:own])
    return slice(start, start + len(chunks[own]))


@ring_reduce_scatter.variant(chunk_in_place_of_tensor_split)
def _(x: Tensor, rank: int, world: int) -> slice:
    flat = x.contiguous().view(-1)
    first_half(list(flat.chunk(world)), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def rest_forgotten(x: Tensor, rank: int, world: int) -> slice:
    """Chunks of `numel() // world` elements leave a rest that nobody reduces. The lengths have to differ by
    one, or the last chunk takes the rest.
    """
    flat = x.contiguous().view(-1)
    length = x.numel() // world
    first_half(flat[: length * world].tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))
    own = (rank + 1) % world
    return slice(own * length, own * length + length)


@ring_reduce_scatter.mistake()
def one_length_for_all_chunks(x: Tensor, rank: int, world: int) -> slice:
    """The receive buffer is made once, with the length of one chunk, and chunks differ in length when the
    ranks do not divide the elements. Take as much of the buffer as the chunk that comes is long.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        buffer = torch.empty_like(chunks[rank])
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            exchanged(chunks[(rank - step) % world], buffer, rank, world)
            mine += buffer

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> slice:
    """`torch.empty(length)` is float32 whatever x is. Messages carry bytes, no types: make the buffer with
    torch.empty_like of a chunk.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty(len(mine))
            exchanged(chunks[(rank - step) % world], buffer, rank, world)
            mine += buffer

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.variant(buffer_of_the_default_dtype)
def _(x: Tensor, rank: int, world: int) -> slice:
    flat = x.float().contiguous().view(-1)
    first_half(flat.tensor_split(world), rank, world)
    x.copy_(flat.view(x.shape))
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> slice:
    """`x.contiguous()` is a copy when x is a column, and the sums stay in that copy. Copy it back into x."""
    first_half(x.contiguous().view(-1).tensor_split(world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.variant(contiguous_copy_reduced)
def _(x: Tensor, rank: int, world: int) -> slice:
    first_half(x.flatten().contiguous().tensor_split(world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> slice:
    """Chunks of a column are not contiguous, and send and recv refuse such tensors; view(-1) fails on them,
    too. Work on `x.contiguous().view(-1)` and copy the result back.
    """
    chunks = x.reshape(-1).tensor_split(world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty(len(mine), dtype=x.dtype)
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(sends_a_strided_view)
def _(x: Tensor, rank: int, world: int) -> slice:
    first_half(x.view(-1).tensor_split(world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def whole_memory_reduced(x: Tensor, rank: int, world: int) -> slice:
    """The memory from x's first element on is taken as if x lay there without gaps. A column has its
    neighbours between its numbers: those were summed, too.
    """
    flat = torch.as_strided(x, (x.numel(),), (1,))
    first_half(flat.tensor_split(world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def isend_without_wait(x: Tensor, rank: int, world: int) -> slice:
    """The sums are right, but the isends are never waited for: when the function returns, a message may still
    be reading x. Keep the request, and wait for it.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
            dist.recv(buffer, (rank - 1) % world)
            mine += buffer

    through_chunks(x, world, work)
    return place(x, rank, world)
