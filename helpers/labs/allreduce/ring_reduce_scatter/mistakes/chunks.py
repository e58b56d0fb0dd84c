"""What people write for 08.ring_reduce_scatter, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_reduce_scatter.exercise import ring_reduce_scatter
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces.right import exchanged, first_half, place, through_chunks

Index = Callable[[int, int], int]
"""(rank, step) -> number of a chunk."""


def chunks_of(x: Tensor, world: int) -> tuple[Tensor, ...]:
    return x.contiguous().view(-1).tensor_split(world)


@ring_reduce_scatter.mistake(breaks="Returns slice(start, stop) of that chunk in x.flatten().")
def returns_the_numbers(x: Tensor, rank: int, world: int) -> Tensor:
    """The work is done, and a tensor is returned. The caller asks where the chunk stands: a slice of the
    flattened x, made of two whole numbers. Perhaps the chunk itself is returned.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    return chunks[(rank + 1) % world]


@ring_reduce_scatter.mistake(breaks="Returns slice(start, stop) of that chunk in x.flatten().")
def returns_nothing(x: Tensor, rank: int, world: int) -> None:
    """The work is done in x, and nothing is returned. Nobody can know from outside which part of x is
    complete. Perhaps a `return` is missing.
    """
    first_half(chunks_of(x, world), rank, world)


@ring_reduce_scatter.mistake(breaks="Returns slice(start, stop) of that chunk in x.flatten().")
def slice_of_chunk_rank(x: Tensor, rank: int, world: int) -> slice:
    """The sums are where they belong, and the slice is that of chunk `rank`. Rank r sends chunk r away at
    step 0; the last one that comes to it, complete, is chunk r + 1.
    """
    first_half(chunks_of(x, world), rank, world)
    return place(x, rank, world, ahead=0)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def starts_one_chunk_early(x: Tensor, rank: int, world: int) -> slice:
    """The ring is right, but rank r ends with chunk r. Perhaps it starts with chunk rank - 1, as NCCL's
    reduce_scatter does; here the second half starts from chunk r + 1, and both must agree.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 2) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step - 1) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world, ahead=0)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def right_for_two_ranks_only(x: Tensor, rank: int, world: int) -> slice:
    """Partial sums hold some ranks and lack others: chunks are sent on that have not come yet. Perhaps
    one of the two indices runs the wrong way, rank + step. With two ranks forwards and backwards are the
    same. What arrived at this step is what leaves at the next.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank + step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank + step) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank + step + 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank + step) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


def reduced(x: Tensor, rank: int, world: int, sent: Index, added: Index, right: int = 1) -> None:
    """A ring with its own rule of which chunk leaves at a step, and which one the numbers that come are added to."""
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[added(rank, step) % world]
        buffer = torch.empty_like(mine)
        arrives = dist.irecv(buffer, (rank - right) % world)
        dist.send(chunks[sent(rank, step) % world], (rank + right) % world)
        arrives.wait()
        mine += buffer


@ring_reduce_scatter.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> slice:
    reduced(x, rank, world, lambda r, s: r + s, lambda r, s: r - s - 1)
    return place(x, rank, world)


@ring_reduce_scatter.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> slice:
    reduced(x, rank, world, lambda r, s: r - s, lambda r, s: r + s + 1)
    return place(x, rank, world)


@ring_reduce_scatter.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> slice:
    reduced(x, rank, world, lambda r, s: r - s, lambda r, s: r + s - 1)
    return place(x, rank, world)


@ring_reduce_scatter.variant(starts_one_chunk_early)
def _(x: Tensor, rank: int, world: int) -> slice:
    reduced(x, rank, world, lambda r, s: r - s - 1, lambda r, s: r - s - 2)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def turns_left_from_chunk_rank(x: Tensor, rank: int, world: int) -> slice:
    """Rank r ends with chunk r - 1, complete. Perhaps the ring turns to the left and starts with chunk
    rank. It may turn that way, but then it has to start with chunk rank + 2 for rank r to end with chunk
    r + 1.
    """
    reduced(x, rank, world, lambda r, s: r + s, lambda r, s: r + s + 1, right=-1)
    return place(x, rank, world, ahead=-1)


@ring_reduce_scatter.variant(turns_left_from_chunk_rank)
def _(x: Tensor, rank: int, world: int) -> slice:
    reduced(x, rank, world, lambda r, s: r + s, lambda r, s: r + s + 1, right=-1)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def sends_the_same_chunk_each_step(x: Tensor, rank: int, world: int) -> slice:
    """What a rank has added up goes no further: each chunk has met one neighbour only. Perhaps each rank
    sends its chunk `rank` at every step, or sends from a copy that was made before. What has just been
    added is what leaves next.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[rank], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(sends_the_same_chunk_each_step)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    for _ in range(world - 1):
        mine = chunks[(rank - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[rank], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def copies_where_it_should_add(x: Tensor, rank: int, world: int) -> slice:
    """In each place stand the numbers of one rank, nowhere a sum. Perhaps what arrives replaces the own
    numbers. In the first half it is added to them; replacing is the second half.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def one_step_too_few(x: Tensor, rank: int, world: int) -> slice:
    """The chunk that a rank should own still holds its own numbers alone: the last step is missing, which brings
    the sum of all others there. N ranks need N - 1 steps. Perhaps the loop ends one step early.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 2):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.HALF_A_RING)
def one_step_too_many(x: Tensor, rank: int, world: int) -> slice:
    """One chunk too many travels on each rank. After N - 1 steps the sums are complete; at the next one a
    complete sum is added to a rank's own numbers once more. Perhaps the loop is `range(world)`.
    """
    chunks = chunks_of(x, world)
    for step in range(world):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world, ahead=0)


@ring_reduce_scatter.variant(one_step_too_many)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    for step in range(world):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def mean(x: Tensor, rank: int, world: int) -> slice:
    """The complete chunk is divided by the number of ranks. What is asked is the sum; a mean is one
    division more, outside.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    chunks[(rank + 1) % world].div_(world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.IN_PLACE)
def works_on_a_copy(x: Tensor, rank: int, world: int) -> slice:
    """Messages travel, and x is as before on every rank. Perhaps the partial sums are made in a copy that
    nobody copies back, or a buffer of zeros is added before its message is there. Chunks have to be views
    of x: adding to them then is adding to x.
    """
    first_half(chunks_of(x.clone(), world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.variant(works_on_a_copy)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = list(chunks_of(x, world))
    for step in range(world - 1):
        mine = (rank - step - 1) % world
        buffer = torch.empty_like(chunks[mine])
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        chunks[mine] = chunks[mine] + buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.MESSAGES_ONLY)
def calls_a_collective(x: Tensor, rank: int, world: int) -> slice:
    """A collective of torch was called. dist.reduce_scatter_tensor and dist.all_reduce are what you are
    building here. Use messages from one rank to the next.
    """
    dist.all_reduce(x)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.HALF_A_RING)
def whole_x_travels(x: Tensor, rank: int, world: int) -> slice:
    """N times the bytes travel: as many as if the whole x went at each step. Perhaps each rank keeps what
    it needs of what passes. A step moves one chunk only.
    """
    travelling, own = x.contiguous().view(-1).clone(), place(x, rank, world)
    total, received = travelling.clone(), torch.empty_like(travelling)
    for _ in range(world - 1):
        exchanged(travelling, received, rank, world)
        total += received
        travelling, received = received, travelling
    x.copy_(total.view(x.shape))
    return own


@ring_reduce_scatter.mistake(breaks=contract.CHUNKS)
def rows_for_chunks(x: Tensor, rank: int, world: int) -> slice:
    """With two rows on four ranks the chunks are not those of the flattened x: two are too long and two
    are empty. Perhaps `x.tensor_split(world)` cut the rows. Flatten first.
    """
    flat = x.contiguous()
    rows = flat.tensor_split(world) if x.dim() else flat.view(1).tensor_split(world)
    first_half(rows, rank, world)
    if flat is not x:
        x.copy_(flat)
    own = (rank + 1) % world
    start = sum(row.numel() for row in rows[:own])
    return slice(start, start + rows[own].numel())


@ring_reduce_scatter.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def each_chunk_straight_to_its_owner(x: Tensor, rank: int, world: int) -> slice:
    """The sums are right and the bytes are those of a ring, but every rank sends to every other: N (N -
    1) connections, and messages that cross on the same wires. Perhaps each chunk goes straight to its
    owner.
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


@ring_reduce_scatter.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def a_message_for_each_number(x: Tensor, rank: int, world: int) -> slice:
    """A rank sends a message for each number. Every message pays its start-up time: send a chunk whole,
    or in a few pieces.
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


@ring_reduce_scatter.mistake(breaks=contract.CHUNKS)
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int) -> slice:
    """With six numbers on four ranks there are fewer chunks than ranks, and an index lies beyond the
    last. Perhaps `x.chunk(4)` was asked, which gives three chunks of two: equal chunks, not so many.
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


@ring_reduce_scatter.mistake(breaks=contract.CHUNKS)
def rest_forgotten(x: Tensor, rank: int, world: int) -> slice:
    """Where the ranks do not divide the elements all chunks have one length, and a rest belongs to
    nobody. Perhaps they have `numel() // world` elements. The lengths have to differ by one, or the last
    chunk takes the rest.
    """
    flat = x.contiguous().view(-1)
    length = x.numel() // world
    first_half(flat[: length * world].tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))
    own = (rank + 1) % world
    return slice(own * length, own * length + length)


@ring_reduce_scatter.mistake(breaks=contract.ANY_SHAPE)
def one_length_for_all_chunks(x: Tensor, rank: int, world: int) -> slice:
    """A chunk comes into a buffer of a different length. Chunks differ in length where the ranks do not
    divide the elements. Perhaps one buffer is made for all steps, as long as one chunk: take the part
    that the chunk which comes needs.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        buffer = torch.empty_like(chunks[rank])
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            exchanged(chunks[(rank - step) % world], buffer, rank, world)
            mine += buffer

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.ANY_DTYPE)
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> slice:
    """A chunk in int64 comes into a buffer of a different size: the buffer's dtype is not x's. Perhaps
    it is `torch.empty(length)`, which is float32, or kept from an earlier call. A message carries bytes,
    no types: torch.empty_like gives a buffer of the chunk's dtype.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty(len(mine))
            exchanged(chunks[(rank - step) % world], buffer, rank, world)
            mine += buffer

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.GAPS)
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> slice:
    """A contiguous x is edited, and an x with gaps stays as it was, though messages travel. Perhaps
    `x.contiguous()` was reduced, which is a copy when x is a column. Copy it back into x.
    """
    first_half(x.contiguous().view(-1).tensor_split(world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.variant(contiguous_copy_reduced)
def _(x: Tensor, rank: int, world: int) -> slice:
    first_half(x.flatten().contiguous().tensor_split(world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.GAPS)
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> slice:
    """A message is refused, since its tensor is not contiguous: a piece of a column has gaps. Perhaps
    `x.reshape(-1)` of a column was cut, which is the column itself. Work on a contiguous copy, and copy
    that back.
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


@ring_reduce_scatter.mistake(breaks=contract.GAPS)
def whole_memory_reduced(x: Tensor, rank: int, world: int) -> slice:
    """Of a column other elements were summed: those that lie side by side from its first one on. Perhaps
    the memory was taken as if x lay there without gaps. A column has its neighbours between its numbers.
    """
    flat = torch.as_strided(x, (x.numel(),), (1,))
    first_half(flat.tensor_split(world), rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.WAITED)
def isend_without_wait(x: Tensor, rank: int, world: int) -> slice:
    """The numbers are right, and an isend was not waited for: when the function returns, a message may
    still be reading x, and the caller is free to change it. Keep the request, and wait for it.
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


@ring_reduce_scatter.mistake(breaks=contract.MESSAGES_ONLY)
def all_send_first(x: Tensor, rank: int, world: int) -> slice:
    """Every rank stands in a blocking send, and nobody receives: the ring is stuck. A send returns only
    when the other side receives. Post the irecv before the send, or let odd ranks receive first.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        dist.recv(buffer, (rank - 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.MESSAGES_ONLY)
def all_receive_first(x: Tensor, rank: int, world: int) -> slice:
    """Every rank stands in a blocking recv, and nobody has sent yet. irecv returns at once: post it,
    send, then wait.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.recv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.WAITED)
def irecv_without_wait(x: Tensor, rank: int, world: int) -> slice:
    """No irecv was waited for, and what was used is what stood in the buffer before. irecv only asks for
    a message; after its wait() the numbers are there.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.zeros_like(mine)
        dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    buffer = torch.empty_like(chunks[0])
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        arrives = buffer[: len(mine)]
        dist.irecv(arrives, (rank - 1) % world)
        leaves = dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
        leaves.wait()
        mine += arrives
    return place(x, rank, world)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def one_buffer_sends_and_receives(x: Tensor, rank: int, world: int) -> slice:
    """What a rank sends on is not what it should: numbers are counted twice, or in the place of others.
    Perhaps one buffer holds the partial sum that leaves and takes the one that comes: until the isend is
    waited for, the buffer belongs to it. Two buffers, or wait first.
    """
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(world - 1):
        leaves = dist.isend(travelling, (rank + 1) % world)
        travelling = travelling[: len(chunks[(rank - step - 1) % world])]
        dist.recv(travelling, (rank - 1) % world)
        leaves.wait()
        travelling += chunks[(rank - step - 1) % world]
    chunks[(rank + 1) % world].copy_(travelling)
    return place(x, rank, world)


@ring_reduce_scatter.variant(one_buffer_sends_and_receives)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(world - 1):
        arrives = dist.irecv(travelling, (rank - 1) % world)
        dist.send(travelling, (rank + 1) % world)
        arrives.wait()
        travelling += chunks[(rank - step - 1) % world]
    chunks[(rank + 1) % world].copy_(travelling)
    return place(x, rank, world)


@ring_reduce_scatter.variant(one_buffer_sends_and_receives)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(world - 1):
        leaves = dist.isend(travelling, (rank + 1) % world)
        received = torch.empty_like(travelling)
        dist.recv(received, (rank - 1) % world)
        travelling.copy_(received + chunks[(rank - step - 1) % world])
        leaves.wait()
    chunks[(rank + 1) % world].copy_(travelling)
    return place(x, rank, world)
