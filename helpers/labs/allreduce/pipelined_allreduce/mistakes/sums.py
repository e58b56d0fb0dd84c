"""What people write for 08.pipelined_allreduce, and why it is wrong: other sums, buffers, bytes and neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.pipelined_allreduce.exercise import LARGEST, pipelined_allreduce
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces.right import through_chunks

SUM = "each x becomes the sum over all ranks"


def length_of(x: Tensor, segment_bytes: int) -> int:
    return max(1, segment_bytes // x.element_size())


def step_in_segments(
    outgoing: Tensor, incoming: Tensor, rank: int, world: int, length: int, source: int | None = None
) -> None:
    """Sends a chunk to the right and receives one from the left, or from `source`: all segments at once."""
    left = (rank - 1) % world if source is None else source
    requests = [dist.irecv(piece, left) for piece in incoming.split(length)]
    requests += [dist.isend(piece, (rank + 1) % world) for piece in outgoing.split(length)]
    for request in requests:
        request.wait()


def ring(
    chunks: Sequence[Tensor],
    rank: int,
    world: int,
    length: int,
    *,
    steps: int | None = None,
    buffer_like: Callable[[Tensor], Tensor] = torch.empty_like,
) -> None:
    """Right but for what is asked otherwise."""
    for step in range(2 * (world - 1) if steps is None else steps):
        mine = chunks[(rank - step - 1) % world]
        buffer = buffer_like(mine)
        step_in_segments(chunks[(rank - step) % world], buffer, rank, world, length)
        mine.copy_(mine + buffer if step < world - 1 else buffer)


@pipelined_allreduce.mistake(breaks=contract.WHOLE_RING)
def padded_to_whole_segments(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and more bytes travel than the ring needs, where a chunk is no multiple of a segment. Perhaps x
    is padded with zeros to whole segments, and they are sent, too. The last segment of a chunk may be shorter.
    """
    length, count = length_of(x, segment_bytes), x.numel()
    more = -count % (world * length)
    flat = torch.cat([x.reshape(-1), x.new_zeros(more)])
    ring(flat.tensor_split(world), rank, world, length)
    x.copy_(flat[:count].view(x.shape))


@pipelined_allreduce.variant(padded_to_whole_segments)
def _(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    length, count = length_of(x, segment_bytes), x.numel()
    room = math.ceil(count / world / length) * length  # of each chunk
    flat = torch.zeros(world * room, dtype=x.dtype)
    flat[:count] = x.reshape(-1)
    ring(flat.split(room) if room else [flat] * world, rank, world, length)
    x.copy_(flat[:count].view(x.shape))


@pipelined_allreduce.mistake(breaks=LARGEST)
def rounded_up(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """A segment of 12 bytes has room for one float64, and two of them travel in a message. Perhaps
    segment_bytes / x.element_size() was rounded up: that message is longer than segment_bytes. Round down, to 1 at least.
    """
    length = math.ceil(segment_bytes / x.element_size())
    through_chunks(x, world, lambda chunks: ring(chunks, rank, world, length))


@pipelined_allreduce.mistake(breaks=SUM)
def first_half_only(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """On each rank one chunk is the sum, and the others are sums of some ranks only. Perhaps the second half of the ring
    is missing, which hands on what is complete.
    """
    length = length_of(x, segment_bytes)
    through_chunks(x, world, lambda chunks: ring(chunks, rank, world, length, steps=world - 1))


@pipelined_allreduce.mistake(breaks=SUM)
def numbers_of_one_rank(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """In each place stand the numbers of one rank, nowhere a sum. Perhaps what arrives in the first half replaces what
    stands there, or the second half begins with chunk `rank`, which is not complete on this rank: that is rank + 1.
    """
    length = length_of(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            step_in_segments(
                chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world, length
            )

    through_chunks(x, world, work)


@pipelined_allreduce.variant(numbers_of_one_rank)
def _(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    length = length_of(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        ring(chunks, rank, world, length, steps=world - 1)
        for step in range(world - 1):
            step_in_segments(
                chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world, length
            )

    through_chunks(x, world, work)


@pipelined_allreduce.mistake(breaks=SUM)
def sent_as_given(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """In each place stand the numbers of two ranks: what a rank has added up goes no further. Perhaps a copy of the
    chunks is sent, made at the start. What has just been added is what leaves next.
    """
    length = length_of(x, segment_bytes)

    def work(chunks: tuple[Tensor, ...]) -> None:
        given = [chunk.clone() for chunk in chunks]
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            source = given if step < world - 1 else chunks
            step_in_segments(source[(rank - step) % world], buffer, rank, world, length)
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.mistake(breaks=contract.ANY_DTYPE)
def buffer_of_a_different_size(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """A segment comes into a buffer of a different size. Perhaps the buffer has a dtype of its own: `torch.empty(length)`
    is float32. Or it has the length of a whole segment, where the last one of a chunk is shorter.
    """
    length = length_of(x, segment_bytes)
    through_chunks(
        x,
        world,
        lambda chunks: ring(chunks, rank, world, length, buffer_like=lambda own: torch.empty(len(own))),
    )


@pipelined_allreduce.mistake(breaks=contract.WHOLE_RING)
def whole_vectors_travel(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """The sums are right, and N - 1 times x leaves each rank, as if the whole x went at every step. Perhaps each rank's x
    goes round the ring whole. A step moves one chunk.
    """
    length, total = length_of(x, segment_bytes), x.contiguous().view(-1).clone()
    travelling = total.clone()
    for _ in range(world - 1):
        received = torch.empty_like(total)
        step_in_segments(travelling, received, rank, world, length)
        total += received
        travelling = received
    x.copy_(total.view(x.shape))


@pipelined_allreduce.mistake(breaks=contract.GAPS)
def sends_a_strided_view(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """A message is refused, since its tensor is not contiguous: a piece of a column has gaps. Perhaps
    `x.reshape(-1)` of a column was cut, which is the column itself. Work on a contiguous copy, and copy
    that back.
    """
    ring(x.reshape(-1).tensor_split(world), rank, world, length_of(x, segment_bytes))


@pipelined_allreduce.mistake(breaks=f"{contract.NEIGHBOURS}.")
def receives_from_the_wrong_side(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Sends and receives do not meet: what one rank has posted the other one does not answer. Perhaps a rank receives
    from the neighbour to which it sends. What leaves to rank + 1 comes from rank - 1.
    """
    length, right = length_of(x, segment_bytes), (rank + 1) % world

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            step_in_segments(chunks[(rank - step) % world], buffer, rank, world, length, right)
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@pipelined_allreduce.variant(receives_from_the_wrong_side)
def _(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    length, right = length_of(x, segment_bytes), (rank + 1) % world

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine, leaving = chunks[(rank - step - 1) % world], chunks[(rank - step) % world]
            buffer = torch.empty_like(mine)
            arrive = [dist.irecv(piece, right) for piece in buffer.split(length)]
            leave = [dist.isend(piece, right) for piece in leaving.split(length)]
            for request in leave + arrive:
                request.wait()
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)
