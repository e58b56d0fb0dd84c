"""Wrong answers to 08.ring_all_gather that are right on eight numbers, and fail by traffic, size, dtype or memory."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_all_gather import ring_all_gather
from helpers.labs.allreduce.wrong_parts import exchanged, place, second_half, through_chunks


@ring_all_gather.mistake()
def whole_x_travels(x: Tensor, rank: int, world: int) -> None:
    """The whole x goes round, and each rank picks the complete chunk out of what passes. That is N times the
    bytes: a step moves one chunk.
    """
    travelling, result = x.contiguous().view(-1).clone(), x.contiguous().view(-1).clone()
    received = torch.empty_like(travelling)
    for step in range(1, world):
        exchanged(travelling, received, rank, world)
        travelling, received = received, travelling
        own = place(x, (rank - step) % world, world)
        result[own] = travelling[own]
    x.copy_(result.view(x.shape))


@ring_all_gather.mistake()
def one_step_too_many(x: Tensor, rank: int, world: int) -> None:
    """After N - 1 steps everybody has everything. The last step brings a rank the chunk that it owned from
    the start: right, and bytes for nothing.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world):
            exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)

    through_chunks(x, world, work)


@ring_all_gather.mistake()
def each_owner_to_everybody(x: Tensor, rank: int, world: int) -> None:
    """Each owner sends its chunk straight to all others. The bytes are those of a ring, but N (N - 1)
    connections are open, and messages cross on the same wires.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(1, world):
            arrives = dist.irecv(chunks[(rank - step + 1) % world], (rank - step) % world)
            dist.send(chunks[(rank + 1) % world], (rank + step) % world)
            arrives.wait()

    through_chunks(x, world, work)


@ring_all_gather.mistake()
def a_message_for_each_number(x: Tensor, rank: int, world: int) -> None:
    """Each number travels in a message of its own, and each message pays its start-up time. Send the chunk
    whole.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            arrive = [dist.irecv(one, (rank - 1) % world) for one in chunks[(rank - step) % world].split(1)]
            leave = [
                dist.isend(one, (rank + 1) % world) for one in chunks[(rank + 1 - step) % world].split(1)
            ]
            for request in arrive + leave:
                request.wait()

    through_chunks(x, world, work)


@ring_all_gather.mistake()
def rows_for_chunks(x: Tensor, rank: int, world: int) -> None:
    """`x.tensor_split(world)` of a matrix cuts its rows, and these are not the chunks that the ranks own.
    Flatten first.
    """
    flat = x.contiguous() if x.dim() else x.view(1)
    second_half(flat.tensor_split(world), rank, world)
    if x.dim() and flat is not x:
        x.copy_(flat)


@ring_all_gather.mistake()
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int) -> None:
    """`x.chunk(4)` of six numbers gives three chunks, not four, and some rank finds no chunk of its number.
    `tensor_split` gives as many as you ask for.
    """
    flat = x.contiguous().view(-1)
    second_half(flat.chunk(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_all_gather.variant(chunk_in_place_of_tensor_split)
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(list(x.contiguous().view(-1).chunk(world)), rank, world)


@ring_all_gather.mistake()
def rest_forgotten(x: Tensor, rank: int, world: int) -> None:
    """Chunks of `numel() // world` elements leave a rest at the end that never travels."""
    flat = x.contiguous().view(-1)
    length = x.numel() // world
    second_half(flat[: length * world].tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_all_gather.mistake()
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """`torch.empty(length)` is float32 whatever x is, and a message carries bytes only. Receive into x
    itself, or make the buffer with torch.empty_like.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step) % world]
            buffer = torch.empty(len(mine))
            exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
            mine.copy_(buffer)

    through_chunks(x, world, work)


@ring_all_gather.mistake()
def contiguous_copy_filled(x: Tensor, rank: int, world: int) -> None:
    """`x.contiguous()` is a copy when x is a column. The chunks arrived in that copy, and x never hears of
    them.
    """
    second_half(x.contiguous().view(-1).tensor_split(world), rank, world)


@ring_all_gather.mistake()
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """A piece of a column is not contiguous: send and recv refuse it, and view(-1) fails. Work on a
    contiguous copy and copy that back.
    """
    second_half(x.reshape(-1).tensor_split(world), rank, world)


@ring_all_gather.variant(sends_a_strided_view)
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(x.view(-1).tensor_split(world), rank, world)


@ring_all_gather.variant(sends_a_strided_view)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = x.view(-1).tensor_split(world)  # a column can be viewed so, a block of a matrix not
    for step in range(world - 1):
        mine = chunks[(rank - step) % world]
        buffer = torch.empty(len(mine), dtype=x.dtype)
        exchanged(chunks[(rank + 1 - step) % world].contiguous(), buffer, rank, world)
        mine.copy_(buffer)


@ring_all_gather.mistake()
def whole_memory_filled(x: Tensor, rank: int, world: int) -> None:
    """The memory from x's first element on is taken as if x had no gaps. A column has the other columns'
    numbers in between.
    """
    second_half(torch.as_strided(x, (x.numel(),), (1,)).tensor_split(world), rank, world)


@ring_all_gather.mistake()
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """All chunks arrive, but nobody waits for the isends: when the function returns, a message may still be
    reading x.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            dist.isend(chunks[(rank + 1 - step) % world], (rank + 1) % world)
            dist.recv(chunks[(rank - step) % world], (rank - 1) % world)

    through_chunks(x, world, work)
