"""What people write for 08.pipelined_allreduce, and why it is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.pipelined_allreduce.exercise import pipelined_allreduce
from helpers.labs.allreduce.shared.right import exchanged, first_half, second_half, through_chunks


def segment_length(x: Tensor, segment_bytes: int) -> int:
    return max(1, segment_bytes // x.element_size())


def ring_in_segments(chunks: Sequence[Tensor], rank: int, world: int, length: int) -> None:
    """Right: all segments of a step on their way at once."""
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        arrive = [dist.irecv(piece, (rank - 1) % world) for piece in buffer.split(length)]
        leave = [
            dist.isend(piece, (rank + 1) % world) for piece in chunks[(rank - step) % world].split(length)
        ]
        for request, piece, target in zip(arrive, buffer.split(length), mine.split(length), strict=True):
            request.wait()
            target.copy_(target + piece if step < world - 1 else piece)
        for request in leave:
            request.wait()


@pipelined_allreduce.mistake()
def segments_in_sequence(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Each segment is sent, received and added before the next one starts. That is the ring with more
    start-up times: the gain comes only when the next segment travels while this one is added.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine, outgoing = chunks[(rank - step - 1) % world], chunks[(rank - step) % world]
            buffer = torch.empty_like(mine)
            leaving, arriving = outgoing.split(length), buffer.split(length)
            for at in range(max(len(leaving), len(arriving))):
                requests = [dist.irecv(arriving[at], (rank - 1) % world)] if at < len(arriving) else []
                requests += [dist.isend(leaving[at], (rank + 1) % world)] if at < len(leaving) else []
                for request in requests:
                    request.wait()
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake()
def segment_of_elements(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """segment_bytes is used as a number of elements. A float32 has four bytes, a float64 eight: divide by
    x.element_size().
    """
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, segment_bytes))


@pipelined_allreduce.mistake()
def four_bytes_assumed(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Four bytes an element are assumed. That holds for float32; ask x.element_size()."""
    length = max(1, segment_bytes // 4)
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, length))


@pipelined_allreduce.mistake()
def chunks_sent_whole(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """segment_bytes is not used: each chunk travels whole, and is added when all of it is there."""

    def work(chunks: tuple[Tensor, ...]) -> None:
        first_half(chunks, rank, world)
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake()
def last_segment_lost(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """`length // segment` segments leave out the last one, which is shorter. Round up, or use split, which
    keeps it.
    """
    length = segment_length(x, segment_bytes)

    def whole(chunk: Tensor) -> Tensor:
        return chunk[: len(chunk) // length * length] if len(chunk) > length else chunk

    through_chunks(x, world, lambda chunks: ring_in_segments(tuple(map(whole, chunks)), rank, world, length))


@pipelined_allreduce.mistake()
def segment_smaller_than_an_element(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """segment_bytes // element_size is 0 when a segment is smaller than one element, and nothing can be cut
    into pieces of 0. A message holds at least one element: max(1, ...).
    """
    length = segment_bytes // x.element_size()
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, length))


@pipelined_allreduce.mistake()
def one_buffer_for_all_segments(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """All irecvs of a step are posted into one buffer of a segment's length, so a later segment overwrites an
    earlier one. Each message under way needs memory of its own.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer, targets = torch.empty_like(mine[:length]), mine.split(length)
            arrive = [dist.irecv(buffer[: len(target)], (rank - 1) % world) for target in targets]
            leave = [dist.isend(p, (rank + 1) % world) for p in chunks[(rank - step) % world].split(length)]
            for request in arrive + leave:
                request.wait()
            for target in targets:
                target.copy_(target + buffer[: len(target)] if step < world - 1 else buffer[: len(target)])

    through_chunks(x, world, work)


@pipelined_allreduce.mistake()
def waits_for_the_last_only(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Only the last request of a step is waited for. That the last message has come does not say that the
    others have: their segments are added too early. Each request has a wait() of its own.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            arrive = [dist.irecv(piece, (rank - 1) % world) for piece in buffer.split(length)]
            leave = [dist.isend(p, (rank + 1) % world) for p in chunks[(rank - step) % world].split(length)]
            leave[-1].wait()
            arrive[-1].wait()
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake()
def isend_without_wait(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, but the isends are never waited for, and x may still be read when the function
    returns.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            arrive = [dist.irecv(piece, (rank - 1) % world) for piece in buffer.split(length)]
            for piece in chunks[(rank - step) % world].split(length):
                dist.isend(piece, (rank + 1) % world)
            for request in arrive:
                request.wait()
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake()
def added_before_it_has_come(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The buffer is added while its segments are still on their way; they are waited for afterwards. Wait
    first, segment by segment.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            arrive = [dist.irecv(piece, (rank - 1) % world) for piece in buffer.split(length)]
            leave = [dist.isend(p, (rank + 1) % world) for p in chunks[(rank - step) % world].split(length)]
            mine.copy_(mine + buffer if step < world - 1 else buffer)
            for request in arrive + leave:
                request.wait()

    through_chunks(x, world, work)


@pipelined_allreduce.mistake()
def all_send_first(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The segments are sent by blocking sends before anybody receives: the ring is stuck at the first
    segment. Post the irecvs first.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            for piece in chunks[(rank - step) % world].split(length):
                dist.send(piece, (rank + 1) % world)
            for piece in buffer.split(length):
                dist.recv(piece, (rank - 1) % world)
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake()
def second_half_adds(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """What arrives is added in the second half, too. There the segments are complete and replace what stands
    there.
    """
    length = segment_length(x, segment_bytes)
    chunks = x.contiguous().view(-1).tensor_split(world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        for leaving, arriving in zip(
            chunks[(rank - step) % world].split(length), buffer.split(length), strict=True
        ):
            exchanged(leaving, arriving, rank, world)
        mine += buffer


@pipelined_allreduce.mistake()
def a_ring_for_each_segment(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """x is cut into segments, and each goes through a ring of its own, one after the other. Its messages are
    a segment divided by the ranks: many small ones, and none overlaps with another.
    """
    flat = x.contiguous().view(-1)
    for segment in flat.split(segment_length(x, segment_bytes)):
        chunks = segment.tensor_split(world)
        first_half(chunks, rank, world)
        second_half(chunks, rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@pipelined_allreduce.mistake()
def segments_through_rank_0(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The segments overlap, but all go through rank 0, which moves N - 1 times x. The bytes have to be the
    ring's.
    """
    flat = x.contiguous().view(-1)
    pieces = flat.split(segment_length(x, segment_bytes))
    if rank:
        for requests in ([dist.isend(p, 0) for p in pieces], [dist.irecv(p, 0) for p in pieces]):
            for request in requests:
                request.wait()
    else:
        for source in range(1, world):
            buffer = torch.empty_like(flat)
            for request in [dist.irecv(p, source) for p in buffer.split(len(pieces[0]) or 1)]:
                request.wait()
            flat += buffer
        for request in [dist.isend(p, target) for target in range(1, world) for p in pieces]:
            request.wait()
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@pipelined_allreduce.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """dist.all_reduce cuts into segments by itself, in C++. Here you do it, with messages."""
    dist.all_reduce(x)


@pipelined_allreduce.mistake()
def mean(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The result is divided by the number of ranks; what is asked is the sum."""
    chunks = x.contiguous().view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))
    x /= world


@pipelined_allreduce.mistake()
def works_on_a_copy(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The segments travel between copies of x, and x itself is as before on every rank."""
    chunks = x.clone().view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.mistake()
def returns_a_new_tensor(x: Tensor, rank: int, world: int, segment_bytes: int) -> Tensor:
    """The sum stands in the tensor that is returned. The caller's x has to change."""
    result = x.clone()
    chunks = result.view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))
    return result


@pipelined_allreduce.mistake()
def irecv_without_wait(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """No irecv is waited for: what is added is what stood in the buffer before."""
    length = segment_length(x, segment_bytes)
    chunks = x.contiguous().view(-1).tensor_split(world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        for piece in buffer.split(length):
            dist.irecv(piece, (rank - 1) % world)
        for piece in chunks[(rank - step) % world].split(length):
            dist.send(piece, (rank + 1) % world)
        mine.copy_(mine + buffer if step < world - 1 else buffer)


@pipelined_allreduce.mistake()
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """`x.chunk(world)` may give fewer chunks than there are ranks; `tensor_split` gives as many as you ask
    for.
    """
    chunks = x.contiguous().view(-1).chunk(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.variant(chunk_in_place_of_tensor_split)
def _(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    chunks = list(x.contiguous().view(-1).chunk(world))
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.mistake()
def rest_forgotten(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Chunks of `numel() // world` elements leave some at the end of x that no chunk holds."""
    chunks = x.contiguous().view(-1)[: x.numel() // world * world].tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.variant(segment_smaller_than_an_element)
def _(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    flat = x.contiguous().view(-1)
    range(0, len(flat), segment_bytes // x.element_size())
    ring_in_segments(flat.tensor_split(world), rank, world, segment_length(x, segment_bytes))
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@pipelined_allreduce.mistake()
def contiguous_copy_reduced(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """`x.contiguous()` of a column is a copy, and the sums stay in it. Copy them back into x."""
    chunks = x.contiguous().view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))
