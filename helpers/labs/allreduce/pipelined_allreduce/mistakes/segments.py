"""What people write for 08.pipelined_allreduce, and why it is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.pipelined_allreduce.exercise import LARGEST, MANY, OVERLAP, pipelined_allreduce
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces import wrong
from helpers.labs.allreduce.shared.pieces.right import exchanged, first_half, second_half, through_chunks


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


@pipelined_allreduce.mistake(breaks=OVERLAP)
def segments_in_sequence(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and at most one send and one receive of a rank are on their way: that is the
    ring with more start-up times. Perhaps each segment is sent, received and added before the next one
    starts. The gain comes only when the next segment travels while this one is added.
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


@pipelined_allreduce.mistake(breaks=LARGEST)
def segment_of_elements(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and messages have segment_bytes elements, not bytes, in both halves. A float32
    has four bytes, a float64 eight. Perhaps x.element_size() is left out.
    """
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, segment_bytes))


@pipelined_allreduce.mistake(breaks=LARGEST)
def four_bytes_assumed(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """In float32 all is right, and in float64 messages are twice as long as they may be. Perhaps four
    bytes an element are assumed: ask x.element_size().
    """
    length = max(1, segment_bytes // 4)
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, length))


@pipelined_allreduce.mistake(breaks=LARGEST)
def chunks_sent_whole(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and each chunk travels whole, in both halves. Perhaps segment_bytes is not
    used, or the length of a segment has a floor that lies above it.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        first_half(chunks, rank, world)
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake(breaks=MANY)
def last_segment_lost(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Where the last segment of a chunk is shorter, it is not summed. Perhaps `length // segment`
    segments are made, which leave it out. Round up, or use split, which keeps it.
    """
    length = segment_length(x, segment_bytes)

    def whole(chunk: Tensor) -> Tensor:
        return chunk[: len(chunk) // length * length] if len(chunk) > length else chunk

    through_chunks(x, world, lambda chunks: ring_in_segments(tuple(map(whole, chunks)), rank, world, length))


@pipelined_allreduce.mistake(breaks=LARGEST)
def segment_smaller_than_an_element(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """With a segment smaller than one element the answer fails: segment_bytes // element_size is 0, and
    nothing can be cut into pieces of 0. A message holds at least one element: max(1, ...).
    """
    length = segment_bytes // x.element_size()
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, length))


@pipelined_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def one_buffer_for_all_segments(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """One segment's numbers stand where those of others should be. Perhaps all irecvs of a step are
    posted into one buffer of a segment's length, so a later segment overwrites an earlier one. Each
    message under way needs memory of its own.
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


@pipelined_allreduce.mistake(breaks=contract.WAITED)
def waits_for_the_last_only(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Some irecvs were not waited for, and what was used had not come. That the last message has come
    does not say that the others have. Perhaps only the last request of a step is waited for. Each has a
    wait() of its own.
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


@pipelined_allreduce.mistake(breaks=contract.WAITED)
def isend_without_wait(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and isends are not waited for: x may still be read when the function returns.
    Keep the requests, and wait for each.
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


@pipelined_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def added_before_it_has_come(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """What stands in x at the end was in the buffers before their messages came. Perhaps the buffer is
    added while its segments are still on their way, and they are waited for afterwards. Wait first,
    segment by segment.
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


@pipelined_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def all_send_first(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """All ranks stand in a send, and nobody receives: the ring is stuck. A blocking send returns only when
    the other side receives. Post the irecvs first.
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


@pipelined_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def second_half_adds(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Some ranks are counted twice and more. Perhaps what arrives is added in the second half, too. There
    the segments are complete and replace what stands there.
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


@pipelined_allreduce.mistake(breaks=contract.WHOLE_RING)
def a_ring_for_each_segment(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, but some ranks move more bytes than others. Perhaps x is cut into segments, and each goes
    through a ring of its own: then a segment that the ranks do not divide has longer and shorter chunks, all of them
    small, and none overlaps with another. Cut x into chunks first, and each chunk into segments.
    """
    flat = x.contiguous().view(-1)
    for segment in flat.split(segment_length(x, segment_bytes)):
        chunks = segment.tensor_split(world)
        first_half(chunks, rank, world)
        second_half(chunks, rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@pipelined_allreduce.mistake(breaks=contract.WHOLE_RING)
def segments_through_rank_0(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, but rank 0 moves N - 1 times x in and out. The bytes have to be the ring's.
    Perhaps the segments overlap, but all go through rank 0.
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


@pipelined_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def calls_a_collective(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """A collective of torch was called. dist.all_reduce cuts into segments by itself, in C++. Here you do
    it, with messages.
    """
    dist.all_reduce(x)


@pipelined_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def mean(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The result is divided by the number of ranks; what is asked is the sum."""
    chunks = x.contiguous().view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))
    x /= world


@pipelined_allreduce.mistake(breaks=contract.IN_PLACE)
def works_on_a_copy(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Messages travel, and x is as before on every rank. Perhaps the segments travel between copies of x,
    or they are added before they have come, from buffers of zeros.
    """
    chunks = x.clone().view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.mistake(breaks=contract.IN_PLACE)
def returns_a_new_tensor(x: Tensor, rank: int, world: int, segment_bytes: int) -> Tensor:
    """Messages travel, a tensor is returned, and x is as before. The caller's x has to change. Perhaps
    the sum was made in a copy.
    """
    result = x.clone()
    chunks = result.view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))
    return result


@pipelined_allreduce.mistake(breaks=contract.WAITED)
def irecv_without_wait(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """No irecv was waited for: what is added is what stood in the buffer before."""
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


@pipelined_allreduce.mistake(breaks=contract.ANY_SHAPE)
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """With six numbers on four ranks there are fewer chunks than ranks, and an index lies beyond the
    last. Perhaps `x.chunk(world)` was asked; `tensor_split` gives as many chunks as you ask for.
    """
    chunks = x.contiguous().view(-1).chunk(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.variant(chunk_in_place_of_tensor_split)
def _(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    chunks = list(x.contiguous().view(-1).chunk(world))
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.mistake(breaks=contract.UNEVEN_RING)
def rest_forgotten(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Where the ranks do not divide the elements every rank keeps its own at the end of x. Perhaps chunks
    of `numel() // world` elements leave some that no chunk holds.
    """
    chunks = x.contiguous().view(-1)[: x.numel() // world * world].tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


@pipelined_allreduce.variant(segment_smaller_than_an_element)
def _(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    flat = x.contiguous().view(-1)
    range(0, len(flat), segment_bytes // x.element_size())
    ring_in_segments(flat.tensor_split(world), rank, world, segment_length(x, segment_bytes))
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@pipelined_allreduce.mistake(breaks=contract.GAPS)
def contiguous_copy_reduced(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """A contiguous x gets the sum, and an x with gaps stays as it was, though messages travel. Perhaps
    `x.contiguous()` of a column was reduced, which is a copy. Copy the sums back into x.
    """
    chunks = x.contiguous().view(-1).tensor_split(world)
    ring_in_segments(chunks, rank, world, segment_length(x, segment_bytes))


def right(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """All of it."""
    length = segment_length(x, segment_bytes)
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, length))


wrong.around(pipelined_allreduce, right)


@pipelined_allreduce.mistake(breaks=contract.WHOLE_RING)
def sent_as_float64(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Twice the bytes travel that a ring needs. Perhaps x was converted with `x.double()`, whose numbers have eight
    bytes, or everything is sent both ways round. Send each segment once, in the dtype of x.
    """
    flat = x.double().contiguous()
    right(flat, rank, world, segment_bytes)
    x.copy_(flat)


@pipelined_allreduce.mistake(breaks=contract.IN_A_ROW)
def next_receive_too_early(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Right while messages come as late as they can, wrong when they come early: a buffer is written before its
    numbers were used. Perhaps the next irecv is posted into the buffer that is still to be used. Use it first, or
    take two buffers in turn.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: Sequence[Tensor]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            leave = [dist.isend(p, (rank + 1) % world) for p in chunks[(rank - step) % world].split(length)]
            targets, buffer = mine.split(length), torch.empty_like(mine[:length])
            arrives = dist.irecv(buffer[: len(targets[0])], (rank - 1) % world)
            for at, target in enumerate(targets):
                arrives.wait()
                if at + 1 < len(targets):
                    arrives = dist.irecv(buffer[: len(targets[at + 1])], (rank - 1) % world)
                came = buffer[: len(target)]
                target.copy_(target + came if step < world - 1 else came)
            for request in leave:
                request.wait()

    through_chunks(x, world, work)


@pipelined_allreduce.mistake(breaks=LARGEST)
def second_half_in_whole_chunks(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, the first half sends segments, and the second one whole chunks. Perhaps only the half that adds
    is cut. A complete segment can go on while the next one is on its way, too.
    """
    length = segment_length(x, segment_bytes)

    def work(chunks: Sequence[Tensor]) -> None:
        for step in range(2 * (world - 1)):
            mine, gone = chunks[(rank - step - 1) % world], chunks[(rank - step) % world]
            buffer = torch.empty_like(mine)
            if step < world - 1:
                came, goes = buffer.split(length), gone.split(length)
            else:
                came, goes = [buffer], [gone]
            requests = [dist.irecv(piece, (rank - 1) % world) for piece in came]
            requests += [dist.isend(piece, (rank + 1) % world) for piece in goes]
            for request in requests:
                request.wait()
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake(breaks=LARGEST)
def always_two_segments(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and in both halves a chunk travels in two pieces, whatever segment_bytes is. Perhaps it is cut
    by `tensor_split(2)`. How many segments there are follows from segment_bytes and the size of an element.
    """

    def work(chunks: Sequence[Tensor]) -> None:
        for step in range(2 * (world - 1)):
            mine, gone = chunks[(rank - step - 1) % world], chunks[(rank - step) % world]
            buffer = torch.empty_like(mine)
            requests = [dist.irecv(piece, (rank - 1) % world) for piece in buffer.tensor_split(2)]
            requests += [dist.isend(piece, (rank + 1) % world) for piece in gone.tensor_split(2)]
            for request in requests:
                request.wait()
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake(breaks=MANY)
def a_message_for_each_number(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and a rank sends one message for each number, where a segment has room for several. Every
    message pays its start-up time. Perhaps the length of a segment was always 1, was divided by something more, or is
    kept from an earlier call: it is segment_bytes // x.element_size().
    """
    through_chunks(x, world, lambda chunks: ring_in_segments(chunks, rank, world, 1))


@pipelined_allreduce.mistake(breaks=contract.ANY_DTYPE)
def integers_through_float64(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Very large int64 come back rounded, as float64 holds them: whole numbers above 2 ** 53 have no place in it.
    Perhaps integers were converted with `x.double()`. Send and add in the dtype of x.
    """
    wrong.integers_in_float64(right, x, rank, world, segment_bytes)
