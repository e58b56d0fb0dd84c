"""What people write for 08.ring_reduce_scatter, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_reduce_scatter.exercise import ring_reduce_scatter
from helpers.labs.allreduce.shared.right import exchanged, first_half, place, through_chunks

Index = Callable[[int, int], int]
"""(rank, step) -> number of a chunk."""


def chunks_of(x: Tensor, world: int) -> tuple[Tensor, ...]:
    return x.contiguous().view(-1).tensor_split(world)


@ring_reduce_scatter.mistake()
def returns_the_numbers(x: Tensor, rank: int, world: int) -> Tensor:
    """The chunk itself is returned. The caller asks where it stands: a slice of the flattened x, made of two
    whole numbers.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    return chunks[(rank + 1) % world]


@ring_reduce_scatter.mistake()
def returns_nothing(x: Tensor, rank: int, world: int) -> None:
    """The work is done in x and nothing is returned. Nobody can know from outside which part of x is
    complete.
    """
    first_half(chunks_of(x, world), rank, world)


@ring_reduce_scatter.mistake()
def slice_of_chunk_rank(x: Tensor, rank: int, world: int) -> slice:
    """The slice is that of chunk `rank`, as if everybody owned the chunk of their own number. Rank r sends
    chunk r away at step 0; the last one that comes to it, complete, is chunk r + 1.
    """
    first_half(chunks_of(x, world), rank, world)
    return place(x, rank, world, ahead=0)


@ring_reduce_scatter.mistake()
def starts_one_chunk_early(x: Tensor, rank: int, world: int) -> slice:
    """The ring is right but starts with chunk rank - 1, so rank r ends with chunk r. NCCL's reduce_scatter
    does that; here the second half starts from chunk r + 1, and both must agree.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 2) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step - 1) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world, ahead=0)


@ring_reduce_scatter.mistake()
def right_for_two_ranks_only(x: Tensor, rank: int, world: int) -> slice:
    """The chunk index runs forwards, rank + step. With two ranks forwards and backwards are the same; with
    more, a rank sends on a chunk that it has not received yet. What arrived at this step is what leaves at
    the next.
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


@ring_reduce_scatter.mistake()
def turns_left_from_chunk_rank(x: Tensor, rank: int, world: int) -> slice:
    """The ring turns to the left and starts with chunk rank, so rank r ends with chunk r - 1. It may turn
    that way, but then it has to start with chunk rank + 2 for rank r to end with chunk r + 1.
    """
    reduced(x, rank, world, lambda r, s: r + s, lambda r, s: r + s + 1, right=-1)
    return place(x, rank, world, ahead=-1)


@ring_reduce_scatter.variant(turns_left_from_chunk_rank)
def _(x: Tensor, rank: int, world: int) -> slice:
    reduced(x, rank, world, lambda r, s: r + s, lambda r, s: r + s + 1, right=-1)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def sends_the_same_chunk_each_step(x: Tensor, rank: int, world: int) -> slice:
    """Each rank sends its chunk `rank` again and again, and never passes on what it has added up. The index
    has to go back by one at each step.
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


@ring_reduce_scatter.mistake()
def copies_where_it_should_add(x: Tensor, rank: int, world: int) -> slice:
    """What arrives replaces the own numbers. In the first half it is added to them; replacing is the second
    half.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def one_step_too_few(x: Tensor, rank: int, world: int) -> slice:
    """N ranks need N - 1 steps, so that each chunk meets every rank once. Here one is missing, and each sum
    lacks one rank's numbers.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 2):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def one_step_too_many(x: Tensor, rank: int, world: int) -> slice:
    """`range(world)` is one step too many: after N - 1 steps the sums are complete, and at the next one a
    complete sum is added to a rank's own numbers once more.
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


@ring_reduce_scatter.mistake()
def mean(x: Tensor, rank: int, world: int) -> slice:
    """Each complete chunk is divided by the number of ranks. What is asked is the sum; a mean is one division
    more, outside.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    chunks[(rank + 1) % world].div_(world)
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def works_on_a_copy(x: Tensor, rank: int, world: int) -> slice:
    """The partial sums are made in a copy of x, and x stays as it was. Chunks have to be views of x: adding
    to them then is adding to x.
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


@ring_reduce_scatter.mistake()
def all_send_first(x: Tensor, rank: int, world: int) -> slice:
    """Everybody stands in a blocking send to the right, and nobody receives: the ring is stuck at its first
    step. Post the irecv before the send.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        dist.recv(buffer, (rank - 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def all_receive_first(x: Tensor, rank: int, world: int) -> slice:
    """Everybody stands in a blocking recv from the left, and nobody has sent yet. Post the irecv, which
    returns at once, then send.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.recv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def irecv_without_wait(x: Tensor, rank: int, world: int) -> slice:
    """The buffer is added before its message is there. irecv returns at once; only wait() says that the
    numbers have arrived.
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


@ring_reduce_scatter.mistake()
def one_buffer_sends_and_receives(x: Tensor, rank: int, world: int) -> slice:
    """One buffer holds the partial sum that leaves and takes the one that comes. Until the isend is waited
    for, the buffer belongs to it: what arrives meanwhile is sent on in place of the own sum. Two buffers, or
    wait first.
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
