"""Wrong answers to 08.ring_all_gather that are right on eight numbers, and fail by traffic, size, dtype or memory."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_all_gather import ring_all_gather
from helpers.labs.allreduce.wrong_parts import exchanged, place, second_half, through_chunks


@ring_all_gather.wrong_answer(
    "whole_x_travels",
    why="The whole x goes round, and each rank picks the complete chunk out of what passes. That is N times the bytes: a "
    "step moves one chunk.",
    seen="picks the complete chunk out of what passes",
)
def _(x: Tensor, rank: int, world: int) -> None:
    travelling, result = x.contiguous().view(-1).clone(), x.contiguous().view(-1).clone()
    received = torch.empty_like(travelling)
    for step in range(1, world):
        exchanged(travelling, received, rank, world)
        travelling, received = received, travelling
        own = place(x, (rank - step) % world, world)
        result[own] = travelling[own]
    x.copy_(result.view(x.shape))


@ring_all_gather.wrong_answer(
    "one_step_too_many",
    why="After N - 1 steps everybody has everything. The last step brings a rank the chunk that it owned from the start: "
    "right, and bytes for nothing.",
    seen="right, and bytes for nothing",
)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world):
            exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)

    through_chunks(x, world, work)


@ring_all_gather.wrong_answer(
    "each_owner_to_everybody",
    why="Each owner sends its chunk straight to all others. The bytes are those of a ring, but N (N - 1) connections are "
    "open, and messages cross on the same wires.",
    seen="Each owner sends its chunk straight to all others",
)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(1, world):
            arrives = dist.irecv(chunks[(rank - step + 1) % world], (rank - step) % world)
            dist.send(chunks[(rank + 1) % world], (rank + step) % world)
            arrives.wait()

    through_chunks(x, world, work)


@ring_all_gather.wrong_answer(
    "a_message_for_each_number",
    why="Each number travels in a message of its own, and each message pays its start-up time. Send the chunk whole.",
    seen="and each message pays its start-up time",
)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            arrive = [dist.irecv(one, (rank - 1) % world) for one in chunks[(rank - step) % world].split(1)]
            leave = [
                dist.isend(one, (rank + 1) % world) for one in chunks[(rank + 1 - step) % world].split(1)
            ]
            for request in arrive + leave:
                request.wait()

    through_chunks(x, world, work)


@ring_all_gather.wrong_answer(
    "rows_for_chunks",
    why="`x.tensor_split(world)` of a matrix cuts its rows, and these are not the chunks that the ranks own. Flatten "
    "first.",
    seen="of a matrix cuts its rows",
)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous() if x.dim() else x.view(1)
    second_half(flat.tensor_split(world), rank, world)
    if x.dim() and flat is not x:
        x.copy_(flat)


@ring_all_gather.wrong_answer(
    "chunk_in_place_of_tensor_split",
    why="`x.chunk(4)` of six numbers gives three chunks, not four, and some rank finds no chunk of its number. "
    "`tensor_split` gives as many as you ask for.",
    seen="some rank finds no chunk of its number",
)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous().view(-1)
    second_half(flat.chunk(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_all_gather.another_form("chunk_in_place_of_tensor_split")
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(list(x.contiguous().view(-1).chunk(world)), rank, world)


@ring_all_gather.wrong_answer(
    "rest_forgotten",
    why="Chunks of `numel() // world` elements leave a rest at the end that never travels.",
    seen="leave a rest at the end that never travels",
)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous().view(-1)
    length = x.numel() // world
    second_half(flat[: length * world].tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_all_gather.wrong_answer(
    "buffer_of_the_default_dtype",
    why="`torch.empty(length)` is float32 whatever x is, and a message carries bytes only. Receive into x itself, or make "
    "the buffer with torch.empty_like.",
    seen="and a message carries bytes only",
)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step) % world]
            buffer = torch.empty(len(mine))
            exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
            mine.copy_(buffer)

    through_chunks(x, world, work)


@ring_all_gather.wrong_answer(
    "contiguous_copy_filled",
    why="`x.contiguous()` is a copy when x is a column. The chunks arrived in that copy, and x never hears of them.",
    seen="x never hears of them",
)
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(x.contiguous().view(-1).tensor_split(world), rank, world)


@ring_all_gather.wrong_answer(
    "sends_a_strided_view",
    why="A piece of a column is not contiguous: send and recv refuse it, and view(-1) fails. Work on a contiguous copy "
    "and copy that back.",
    seen="A piece of a column is not contiguous",
)
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(x.reshape(-1).tensor_split(world), rank, world)


@ring_all_gather.another_form("sends_a_strided_view")
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(x.view(-1).tensor_split(world), rank, world)


@ring_all_gather.another_form("sends_a_strided_view")
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = x.view(-1).tensor_split(world)  # a column can be viewed so, a block of a matrix not
    for step in range(world - 1):
        mine = chunks[(rank - step) % world]
        buffer = torch.empty(len(mine), dtype=x.dtype)
        exchanged(chunks[(rank + 1 - step) % world].contiguous(), buffer, rank, world)
        mine.copy_(buffer)


@ring_all_gather.wrong_answer(
    "whole_memory_filled",
    why="The memory from x's first element on is taken as if x had no gaps. A column has the other columns' numbers in "
    "between.",
    seen="as if x had no gaps",
)
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(torch.as_strided(x, (x.numel(),), (1,)).tensor_split(world), rank, world)


@ring_all_gather.wrong_answer(
    "isend_without_wait",
    why="All chunks arrive, but nobody waits for the isends: when the function returns, a message may still be reading x.",
    seen="nobody waits for the isends",
)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            dist.isend(chunks[(rank + 1 - step) % world], (rank + 1) % world)
            dist.recv(chunks[(rank - step) % world], (rank - 1) % world)

    through_chunks(x, world, work)
