"""What people write for 08.ring_all_gather, and why it is wrong."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_all_gather.exercise import ring_all_gather
from helpers.labs.allreduce.shared.right import exchanged, place, second_half, through_chunks


def chunks_of(x: Tensor, world: int) -> tuple[Tensor, ...]:
    return x.contiguous().view(-1).tensor_split(world)


@ring_all_gather.mistake()
def adds_what_arrives(x: Tensor, rank: int, world: int) -> None:
    """What arrives is added to what stands there. These chunks are complete: they replace partial sums, and
    adding counts some ranks twice. Phase 1 adds, phase 2 copies.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
        mine += buffer


@ring_all_gather.mistake()
def starts_with_chunk_rank(x: Tensor, rank: int, world: int) -> None:
    """The first chunk sent is `rank`, as in the first half. But rank r now owns chunk r + 1: what it sends is
    a partial sum, and that is what everybody ends up with. The index is rank + 1 - step.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world)


@ring_all_gather.mistake()
def right_for_two_ranks_only(x: Tensor, rank: int, world: int) -> None:
    """The chunk index runs forwards, + step. With two ranks that is the same as backwards; with more, each
    rank sends chunks that have not come to it yet.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1 + step) % world], chunks[(rank + step) % world], rank, world)


@ring_all_gather.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1 + step) % world], chunks[(rank + 2 + step) % world], rank, world)


@ring_all_gather.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        buffer = torch.empty_like(chunks[(rank - step) % world])
        exchanged(chunks[(rank + 1 + step) % world], buffer, rank, world)
        chunks[(rank - step) % world].copy_(buffer)


@ring_all_gather.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        buffer = torch.empty_like(chunks[(rank + step) % world])
        exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
        chunks[(rank + step) % world].copy_(buffer)


@ring_all_gather.mistake()
def sends_its_own_chunk_each_step(x: Tensor, rank: int, world: int) -> None:
    """Each rank sends its own chunk at every step, so its neighbour gets that one N - 1 times and no other.
    Send on what has just arrived.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1) % world], chunks[(rank - step) % world], rank, world)


@ring_all_gather.variant(sends_its_own_chunk_each_step)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for _ in range(world - 1):
        exchanged(chunks[(rank + 1) % world], chunks[rank], rank, world)


@ring_all_gather.mistake()
def chunks_in_order_of_ranks(x: Tensor, rank: int, world: int) -> None:
    """The chunks are laid down by the number of their owner, so each stands one place off: rank r owns chunk
    r + 1, not chunk r.
    """
    chunks = chunks_of(x, world)
    travelling, found = chunks[(rank + 1) % world].clone(), {}
    found[rank] = travelling
    for step in range(world - 1):
        received = torch.empty_like(chunks[(rank - step) % world])
        exchanged(travelling, received, rank, world)
        travelling = found[(rank - step - 1) % world] = received
    x.copy_(torch.cat([found[owner] for owner in range(world)]).view(x.shape))


@ring_all_gather.mistake()
def one_step_too_few(x: Tensor, rank: int, world: int) -> None:
    """N chunks need N - 1 steps to come to everybody; here one step is missing, and on each rank one chunk is
    still the old one.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 2):
        exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)


@ring_all_gather.mistake()
def all_send_first(x: Tensor, rank: int, world: int) -> None:
    """Everybody waits in a blocking send to the right, and nobody receives. Post the irecv before the send."""
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
        dist.recv(chunks[(rank - step) % world], (rank - 1) % world)


@ring_all_gather.mistake()
def all_receive_first(x: Tensor, rank: int, world: int) -> None:
    """Everybody waits in a blocking recv, and nobody has sent yet. irecv returns at once: post it, send, then
    wait.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.recv(chunks[(rank - step) % world], (rank - 1) % world)
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)


@ring_all_gather.mistake()
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """A chunk is sent on before it has arrived: irecv returns at once, and only its wait() says that the
    numbers are there.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.irecv(chunks[(rank - step) % world], (rank - 1) % world)
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)


@ring_all_gather.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            buffer = torch.empty_like(chunks[(rank - step) % world])
            dist.irecv(buffer, (rank - 1) % world)
            dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
            chunks[(rank - step) % world].copy_(buffer)

    through_chunks(x, world, work)


@ring_all_gather.mistake()
def one_buffer_sends_and_receives(x: Tensor, rank: int, world: int) -> None:
    """One buffer holds the chunk that leaves and takes the one that comes. While the isend is not waited for,
    what arrives overwrites what should leave. Receive each chunk into its own place in x.
    """
    chunks = chunks_of(x, world)
    travelling = chunks[(rank + 1) % world].clone()
    for step in range(world - 1):
        leaves = dist.isend(travelling, (rank + 1) % world)
        travelling = travelling[: len(chunks[(rank - step) % world])]
        dist.recv(travelling, (rank - 1) % world)
        leaves.wait()
        chunks[(rank - step) % world].copy_(travelling)


@ring_all_gather.variant(one_buffer_sends_and_receives)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    travelling = chunks[(rank + 1) % world].clone()
    for step in range(world - 1):
        exchanged(travelling, travelling, rank, world)
        chunks[(rank - step) % world].copy_(travelling)


@ring_all_gather.mistake()
def gathers_into_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """The chunks come together in a new tensor, and x stays as it was. Receive into x, or copy the result
    into it.
    """
    result = x.clone()
    through_chunks(result, world, lambda chunks: second_half(chunks, rank, world))
    return result


@ring_all_gather.variant(gathers_into_a_new_tensor)
def _(x: Tensor, rank: int, world: int) -> None:
    result = x.clone()
    through_chunks(result, world, lambda chunks: second_half(chunks, rank, world))


@ring_all_gather.mistake()
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """All owners send their chunk to rank 0, and there it ends. Every rank needs every chunk."""
    chunks = chunks_of(x, world)
    if rank:
        dist.send(chunks[(rank + 1) % world], 0)
        return
    for owner in range(1, world):
        dist.recv(chunks[(owner + 1) % world], owner)


@ring_all_gather.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """dist.all_gather is what you are building here. Use messages from one rank to the next."""
    wholes = [torch.empty(x.shape, dtype=x.dtype) for _ in range(world)]
    dist.all_gather(wholes, x.contiguous())
    for owner, whole in enumerate(wholes):
        own = place(x, owner, world)
        if x.is_contiguous():
            x.view(-1)[own] = whole.view(-1)[own]


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
