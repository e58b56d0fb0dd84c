"""What people write for 08.ring_all_gather, and why it is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_all_gather.exercise import ring_all_gather
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces import wrong
from helpers.labs.allreduce.shared.pieces.right import exchanged, place, second_half, through_chunks


def chunks_of(x: Tensor, world: int) -> tuple[Tensor, ...]:
    return x.contiguous().view(-1).tensor_split(world)


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def adds_what_arrives(x: Tensor, rank: int, world: int) -> None:
    """Chunks hold sums of several ranks' numbers. These chunks are complete when they come: they replace
    what stands there. Perhaps what arrives is added. Phase 1 adds, phase 2 copies.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
        mine += buffer


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def starts_with_chunk_rank(x: Tensor, rank: int, world: int) -> None:
    """Each chunk comes from the rank of its number, not from its owner: everybody ends with partial sums.
    Perhaps the first chunk sent is `rank`, as in the first half. Rank r now owns chunk r + 1: the index
    is rank + 1 - step.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world)


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def right_for_two_ranks_only(x: Tensor, rank: int, world: int) -> None:
    """Some chunks come to some ranks only. Perhaps an index runs forwards, + step, or the neighbours have
    changed places and the indices have not: with two ranks that is the same; with more, each rank sends
    chunks that have not come to it yet.
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


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def sends_its_own_chunk_each_step(x: Tensor, rank: int, world: int) -> None:
    """A rank has its neighbour's chunk, and none from farther away. Perhaps each rank sends its own chunk
    at every step. Send on what has just arrived.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1) % world], chunks[(rank - step) % world], rank, world)


@ring_all_gather.variant(sends_its_own_chunk_each_step)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for _ in range(world - 1):
        exchanged(chunks[(rank + 1) % world], chunks[rank], rank, world)


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def chunks_in_order_of_ranks(x: Tensor, rank: int, world: int) -> None:
    """All chunks are there, each one place off: they stand in the order of their owners. Rank r owns
    chunk r + 1, not chunk r.
    """
    chunks = chunks_of(x, world)
    travelling, found = chunks[(rank + 1) % world].clone(), {}
    found[rank] = travelling
    for step in range(world - 1):
        received = torch.empty_like(chunks[(rank - step) % world])
        exchanged(travelling, received, rank, world)
        travelling = found[(rank - step - 1) % world] = received
    x.copy_(torch.cat([found[owner] for owner in range(world)]).view(x.shape))


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def one_step_too_few(x: Tensor, rank: int, world: int) -> None:
    """On each rank one chunk is still the old one. N chunks need N - 1 steps to come to everybody.
    Perhaps the loop ends one step early.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 2):
        exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)


@ring_all_gather.mistake(breaks=contract.MESSAGES_ONLY)
def all_send_first(x: Tensor, rank: int, world: int) -> None:
    """Every rank stands in a blocking send, and nobody receives: the ring is stuck. A send returns only
    when the other side receives. Post the irecv before the send, or let odd ranks receive first.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
        dist.recv(chunks[(rank - step) % world], (rank - 1) % world)


@ring_all_gather.mistake(breaks=contract.MESSAGES_ONLY)
def all_receive_first(x: Tensor, rank: int, world: int) -> None:
    """Every rank stands in a blocking recv, and nobody has sent yet. irecv returns at once: post it,
    send, then wait.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.recv(chunks[(rank - step) % world], (rank - 1) % world)
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)


@ring_all_gather.mistake(breaks=contract.WAITED)
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """No irecv was waited for. irecv only asks for a message: until its wait() returns nobody knows whether
    the numbers are there.
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


@ring_all_gather.mistake(breaks=contract.WAITED)
def waits_for_the_last_only(x: Tensor, rank: int, world: int) -> None:
    """Some irecvs were waited for, and others not. That the last message has come does not say that the others have.
    Perhaps `request` was waited for after the loop, where it is the last one. Each has a wait() of its own.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        request = None
        for step in range(world - 1):
            request = dist.irecv(chunks[(rank - step) % world], (rank - 1) % world)
            dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
        if request is not None:
            request.wait()

    through_chunks(x, world, work)


@ring_all_gather.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def receives_from_the_wrong_side(x: Tensor, rank: int, world: int) -> None:
    """Sends and receives do not meet: what one rank has posted the other one does not answer. Perhaps a rank receives
    from the neighbour to which it sends. What leaves to rank + 1 comes from rank - 1.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            arrives = dist.irecv(chunks[(rank - step) % world], (rank + 1) % world)
            dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
            arrives.wait()

    through_chunks(x, world, work)


@ring_all_gather.variant(receives_from_the_wrong_side)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            arrives = dist.irecv(chunks[(rank - step) % world], (rank + 1) % world)
            leaves = dist.isend(chunks[(rank + 1 - step) % world], (rank + 1) % world)
            arrives.wait()
            leaves.wait()

    through_chunks(x, world, work)


@ring_all_gather.mistake(breaks=contract.ANY_SHAPE)
def short_x_left(x: Tensor, rank: int, world: int) -> None:
    """Where x has fewer elements than there are ranks it is left as it was, and no message travels. Perhaps a question
    stands at the start, `if x.numel() < world: return`. Some chunks are empty then, and the others have to travel.
    """
    if x.numel() >= world:
        through_chunks(x, world, lambda chunks: second_half(chunks, rank, world))


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def one_buffer_sends_and_receives(x: Tensor, rank: int, world: int) -> None:
    """Chunks that come are those of the wrong owners: what arrives has overwritten what should leave.
    Perhaps one buffer holds both, while the isend is not waited for. Receive each chunk into its own
    place in x.
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


@ring_all_gather.mistake(breaks=contract.IN_PLACE)
def gathers_into_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """Messages travel, and x is as before. Perhaps the chunks come together in a new tensor. Receive into
    x, or copy the result into it.
    """
    result = x.clone()
    through_chunks(result, world, lambda chunks: second_half(chunks, rank, world))
    return result


@ring_all_gather.variant(gathers_into_a_new_tensor)
def _(x: Tensor, rank: int, world: int) -> None:
    result = x.clone()
    through_chunks(result, world, lambda chunks: second_half(chunks, rank, world))


@ring_all_gather.mistake(breaks="the chunk (rank + 1) % world of each rank comes to all ranks.")
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 has all chunks, and the others have their own. Every rank needs every chunk. Perhaps all
    owners send to rank 0, and there it ends.
    """
    chunks = chunks_of(x, world)
    if rank:
        dist.send(chunks[(rank + 1) % world], 0)
        return
    for owner in range(1, world):
        dist.recv(chunks[(owner + 1) % world], owner)


@ring_all_gather.mistake(breaks=contract.MESSAGES_ONLY)
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """A collective of torch was called. dist.all_gather is what you are building here. Use messages from
    one rank to the next.
    """
    wholes = [torch.empty(x.shape, dtype=x.dtype) for _ in range(world)]
    dist.all_gather(wholes, x.contiguous())
    for owner, whole in enumerate(wholes):
        own = place(x, owner, world)
        if x.is_contiguous():
            x.view(-1)[own] = whole.view(-1)[own]


@ring_all_gather.mistake(breaks=contract.HALF_A_RING)
def whole_x_travels(x: Tensor, rank: int, world: int) -> None:
    """N times the bytes travel: as many as if the whole x went at each step. Perhaps each rank picks the
    complete chunk out of what passes. A step moves one chunk.
    """
    travelling, result = x.contiguous().view(-1).clone(), x.contiguous().view(-1).clone()
    received = torch.empty_like(travelling)
    for step in range(1, world):
        exchanged(travelling, received, rank, world)
        travelling, received = received, travelling
        own = place(x, (rank - step) % world, world)
        result[own] = travelling[own]
    x.copy_(result.view(x.shape))


@ring_all_gather.mistake(breaks=contract.HALF_A_RING)
def one_step_too_many(x: Tensor, rank: int, world: int) -> None:
    """All is right, and one chunk too many travels on each rank: after N - 1 steps everybody has
    everything. The last step brings a rank what it has. Perhaps the loop is `range(world)`.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world):
            exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)

    through_chunks(x, world, work)


@ring_all_gather.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def each_owner_to_everybody(x: Tensor, rank: int, world: int) -> None:
    """The bytes are those of a ring, but each rank sends to every other: N (N - 1) connections, and
    messages cross on the same wires. Perhaps each owner sends its chunk straight to all.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(1, world):
            arrives = dist.irecv(chunks[(rank - step + 1) % world], (rank - step) % world)
            dist.send(chunks[(rank + 1) % world], (rank + step) % world)
            arrives.wait()

    through_chunks(x, world, work)


@ring_all_gather.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def a_message_for_each_number(x: Tensor, rank: int, world: int) -> None:
    """A rank sends a message for each number. Every message pays its start-up time: send a chunk whole,
    or in a few pieces.
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


@ring_all_gather.mistake(breaks=contract.CHUNKS)
def rows_for_chunks(x: Tensor, rank: int, world: int) -> None:
    """With two rows on four ranks the chunks are not those of the flattened x: two are too long and two
    are empty. Perhaps `x.tensor_split(world)` cut the rows. Flatten first.
    """
    flat = x.contiguous() if x.dim() else x.view(1)
    second_half(flat.tensor_split(world), rank, world)
    if x.dim() and flat is not x:
        x.copy_(flat)


@ring_all_gather.mistake(breaks=contract.CHUNKS)
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int) -> None:
    """With six numbers on four ranks there are fewer chunks than ranks, and an index lies beyond the
    last. Perhaps `x.chunk(4)` was asked, which gives three chunks of two: equal chunks, not so many.
    `tensor_split` gives as many as you ask for, empty ones too.
    """
    flat = x.contiguous().view(-1)
    second_half(flat.chunk(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_all_gather.variant(chunk_in_place_of_tensor_split)
def _(x: Tensor, rank: int, world: int) -> None:
    second_half(list(x.contiguous().view(-1).chunk(world)), rank, world)


@ring_all_gather.mistake(breaks=contract.CHUNKS)
def rest_forgotten(x: Tensor, rank: int, world: int) -> None:
    """Where the ranks do not divide the elements some at the end of x never travel. Perhaps chunks of
    `numel() // world` elements leave a rest.
    """
    flat = x.contiguous().view(-1)
    length = x.numel() // world
    second_half(flat[: length * world].tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_all_gather.mistake(breaks=contract.ANY_DTYPE)
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """A chunk comes into a buffer of a different size. Perhaps the buffer has a dtype of its own: it is
    `torch.empty(length)`, which is float32, or kept from an earlier call. A message carries bytes, no types:
    torch.empty_like gives a buffer of the chunk's dtype.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step) % world]
            buffer = torch.empty(len(mine))
            exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
            mine.copy_(buffer)

    through_chunks(x, world, work)


@ring_all_gather.mistake(breaks=contract.GAPS)
def contiguous_copy_filled(x: Tensor, rank: int, world: int) -> None:
    """A contiguous x gets all chunks, and an x with gaps stays as it was, though messages travel. Perhaps
    they arrived in `x.contiguous()`, which is a copy when x is a column. Copy it back.
    """
    second_half(x.contiguous().view(-1).tensor_split(world), rank, world)


@ring_all_gather.mistake(breaks=contract.GAPS)
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """A message is refused, since its tensor is not contiguous: a piece of a column has gaps. Perhaps
    `x.reshape(-1)` of a column was cut, which is the column itself. Work on a contiguous copy, and copy
    that back.
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


@ring_all_gather.mistake(breaks=contract.GAPS)
def whole_memory_filled(x: Tensor, rank: int, world: int) -> None:
    """Of a column other elements were filled: those that lie side by side from its first one on. Perhaps
    the memory was taken as if x had no gaps. A column has the other columns' numbers in between.
    """
    second_half(torch.as_strided(x, (x.numel(),), (1,)).tensor_split(world), rank, world)


@ring_all_gather.mistake(breaks=contract.WAITED)
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The numbers are right, and an isend was not waited for: when the function returns, a message may
    still be reading x, and the caller is free to change it. Keep the request, and wait for it.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            dist.isend(chunks[(rank + 1 - step) % world], (rank + 1) % world)
            dist.recv(chunks[(rank - step) % world], (rank - 1) % world)

    through_chunks(x, world, work)


def right(x: Tensor, rank: int, world: int) -> None:
    """All of it."""
    through_chunks(x, world, lambda chunks: second_half(chunks, rank, world))


def gathered(xs: dict[int, Tensor], x: Tensor, rank: int) -> None:
    flat = x.flatten()
    for owner, its in xs.items():
        own = place(x, owner, len(xs))
        flat[own] = its.flatten()[own]
    x.copy_(flat.view(x.shape))


wrong.around(ring_all_gather, right, gathered)


@ring_all_gather.mistake(breaks=contract.HALF_A_RING)
def sent_as_float64(x: Tensor, rank: int, world: int) -> None:
    """Twice the bytes travel that half a ring needs. Perhaps x was converted with `x.double()`, whose numbers have eight
    bytes, or every chunk is sent both ways round. Send each chunk once, in the dtype of x.
    """
    flat = x.double().contiguous()
    right(flat, rank, world)
    x.copy_(flat)


@ring_all_gather.mistake(breaks=contract.IN_A_ROW)
def next_receive_too_early(x: Tensor, rank: int, world: int) -> None:
    """Right while messages come as late as they can, wrong when they come early: a buffer is written before its
    numbers were used. Perhaps the next irecv is posted into the buffer that is still to be copied. Use it first, or
    take two buffers in turn.
    """

    def work(chunks: Sequence[Tensor]) -> None:
        buffer, steps = torch.empty_like(chunks[0]), world - 1
        leaving: list[dist.Work] = []

        def posted(step: int) -> tuple[Tensor, dist.Work]:
            into = buffer[: len(chunks[(rank - step) % world])]
            return into, dist.irecv(into, (rank - 1) % world)

        following = posted(0) if steps else None
        for step in range(steps):
            into, arrives = following
            leaving.append(dist.isend(chunks[(rank + 1 - step) % world], (rank + 1) % world))
            arrives.wait()
            following = posted(step + 1) if step + 1 < steps else None
            chunks[(rank - step) % world].copy_(into)
        for request in leaving:
            request.wait()

    through_chunks(x, world, work)


@ring_all_gather.mistake(breaks="What stands in the other chunks on entry means nothing; it may be NaN.")
def emptied_by_a_product(x: Tensor, rank: int, world: int) -> None:
    """NaN that stood in a chunk on entry is still there. Perhaps the other chunks were multiplied by 0, to add to
    them what comes: NaN and infinity times 0 are NaN. Copy what comes, or use zero_().
    """
    flat = x.contiguous().view(-1)
    own = place(x, rank, world)
    keep = torch.zeros_like(flat)
    keep[own] = 1
    flat *= keep

    def work(chunks: Sequence[Tensor]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step) % world]
            buffer = torch.empty_like(mine)
            exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
            mine += buffer

    work(flat.tensor_split(world))
    if flat.data_ptr() != x.data_ptr() or not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_all_gather.mistake(breaks=contract.ANY_DTYPE)
def integers_through_float64(x: Tensor, rank: int, world: int) -> None:
    """Very large int64 come back rounded, as float64 holds them: whole numbers above 2 ** 53 have no place in it.
    Perhaps integers were converted with `x.double()`. Send and add in the dtype of x.
    """
    wrong.integers_in_float64(right, x, rank, world)
