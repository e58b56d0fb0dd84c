"""Mistakes in 08.ring_allreduce that are right on four ranks, and fail by traffic, size, dtype or memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_allreduce.exercise import ring_allreduce
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces.right import exchanged, first_half, second_half, through_chunks


def both_halves(chunks: Sequence[Tensor], rank: int, world: int) -> None:
    first_half(chunks, rank, world)
    second_half(chunks, rank, world)


@ring_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """A collective of torch was called. dist.all_reduce is what you are building here; reduce_scatter and
    all_gather are its halves. Use messages from one rank to the next.
    """
    dist.all_reduce(x)


@ring_allreduce.variant(calls_a_collective)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous()
    dist.reduce(flat, 0)
    dist.broadcast(flat, 0)
    x.copy_(flat)


@ring_allreduce.mistake(breaks=contract.WHOLE_RING)
def through_rank_0(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but rank 0 moves N - 1 times x in and out, and everybody waits for it. In the
    ring no rank moves more than twice x, however many there are. Perhaps all goes through rank 0, as in
    the naive way.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        received = torch.empty_like(flat)
        for source in range(1, world):
            dist.recv(received, source)
            flat += received
        for target in range(1, world):
            dist.send(flat, target)
    if flat is not x:
        x.copy_(flat)


@ring_allreduce.mistake(breaks=contract.WHOLE_RING)
def whole_x_goes_round(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but each rank sends N - 1 times x, not 2 (N - 1) / N. Perhaps each rank's whole
    x goes round, and everybody adds up what passes: cut x into chunks, so that a step moves one of them.
    """
    travelling = x.contiguous().clone()
    total, received = travelling.clone(), torch.empty_like(travelling)
    for _ in range(world - 1):
        exchanged(travelling, received, rank, world)
        total += received
        travelling, received = received, travelling
    x.copy_(total)


@ring_allreduce.mistake(breaks=contract.WHOLE_RING)
def one_step_too_many(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, and each rank sends one chunk more than it should. Perhaps a half has one step
    too many, `range(world)`: it brings a chunk that is there already, and costs its bytes.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        first_half(chunks, rank, world)
        for step in range(world):
            exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)

    through_chunks(x, world, work)


@ring_allreduce.mistake(breaks=contract.WHOLE_RING)
def rows_for_chunks(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, and with two rows on four ranks some ranks move more than others. Perhaps x is
    cut along its first dimension: two chunks are far too long, and two empty. Flatten first.
    """
    flat = x.contiguous() if x.dim() else x.view(1)
    both_halves(flat.tensor_split(world), rank, world)
    if x.dim() and flat is not x:
        x.copy_(flat)


@ring_allreduce.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def everybody_talks_to_everybody(x: Tensor, rank: int, world: int) -> None:
    """The bytes are the ring's, but each rank sends to every other: N (N - 1) connections, on which
    messages cross. Perhaps each chunk goes straight to its owner, and from there straight to all.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        own = chunks[rank]
        for step in range(1, world):
            buffer = torch.empty_like(own)
            arrives = dist.irecv(buffer, (rank - step) % world)
            dist.send(chunks[(rank + step) % world], (rank + step) % world)
            arrives.wait()
            own += buffer
        for step in range(1, world):
            arrives = dist.irecv(chunks[(rank - step) % world], (rank - step) % world)
            dist.send(own, (rank + step) % world)
            arrives.wait()

    through_chunks(x, world, work)


@ring_allreduce.mistake(breaks=f"{contract.NEIGHBOURS}, a few for a chunk.")
def a_message_for_each_number(x: Tensor, rank: int, world: int) -> None:
    """A rank sends a message for each number, in one half of the ring or in both. Every message pays its start-up time: send
    a chunk whole, or in a few pieces.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine, outgoing = chunks[(rank - step - 1) % world], chunks[(rank - step) % world]
            buffer = torch.empty_like(mine)
            arrive = [dist.irecv(one, (rank - 1) % world) for one in buffer.split(1)]
            leave = [dist.isend(one, (rank + 1) % world) for one in outgoing.split(1)]
            for request in arrive + leave:
                request.wait()
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)


@ring_allreduce.variant(a_message_for_each_number)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine, outgoing = chunks[(rank - step - 1) % world], chunks[(rank - step) % world]
            buffer = torch.empty_like(mine)
            arrive = [dist.irecv(one, (rank - 1) % world) for one in buffer.split(1)]
            for one in outgoing.split(1):
                dist.send(one, (rank + 1) % world)
            for request in arrive:
                request.wait()
            mine += buffer
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@ring_allreduce.mistake(breaks=contract.ANY_SHAPE)
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int) -> None:
    """With six numbers on four ranks there are fewer chunks than ranks, and an index lies beyond the
    last. Perhaps `x.chunk(4)` was asked, which gives three chunks of two: equal chunks, not so many.
    `tensor_split` gives as many as you ask for, empty ones too.
    """
    flat = x.contiguous().view(-1)
    both_halves(flat.chunk(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_allreduce.variant(chunk_in_place_of_tensor_split)
def _(x: Tensor, rank: int, world: int) -> None:
    both_halves(list(x.contiguous().view(-1).chunk(world)), rank, world)


@ring_allreduce.mistake(breaks=contract.UNEVEN_RING)
def rest_forgotten(x: Tensor, rank: int, world: int) -> None:
    """Where the ranks do not divide the elements every rank keeps its own at the end of x. Perhaps chunks
    of `numel() // world` elements leave a rest that is never reduced.
    """
    flat = x.contiguous().view(-1)
    both_halves(flat[: x.numel() // world * world].tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_allreduce.mistake(breaks=contract.ANY_SHAPE)
def only_sizes_that_divide(x: Tensor, rank: int, world: int) -> None:
    """The answer fails where the ranks do not divide the elements. Perhaps x is viewed as `world` rows of
    equal length. Let the chunks differ by one, or pad.
    """
    flat = x.contiguous()
    both_halves(flat.view(world, -1).unbind(), rank, world)
    if flat is not x:
        x.copy_(flat)


@ring_allreduce.variant(only_sizes_that_divide)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous().view(-1)
    assert flat.numel() % world == 0
    both_halves(flat.tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_allreduce.mistake(breaks=contract.ANY_SHAPE)
def one_length_for_all_chunks(x: Tensor, rank: int, world: int) -> None:
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
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@ring_allreduce.mistake(breaks=contract.ANY_DTYPE)
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """With some shape or dtype a chunk comes into a buffer of a different size. Perhaps the buffer is `torch.empty(length)`,
    which is float32, or kept from an earlier call. A message carries bytes, no types: torch.empty_like gives a buffer of
    the chunk's dtype.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.zeros(len(mine))
            exchanged(chunks[(rank - step) % world], buffer, rank, world)
            mine += buffer
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@ring_allreduce.mistake(breaks=contract.GAPS)
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> None:
    """A contiguous x gets the sum, and an x with gaps stays as it was, though messages travel.
    `x.contiguous()`, `x.flatten()` and `x.reshape(-1)` copy when x is a column or a transpose. Perhaps
    the copy was reduced: copy the result back.
    """
    both_halves(x.contiguous().view(-1).tensor_split(world), rank, world)


@ring_allreduce.mistake(breaks=contract.GAPS)
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """A message is refused, since its tensor is not contiguous: a piece of a column has gaps. Perhaps
    `x.reshape(-1)` of a column was cut, which is the column itself. Work on a contiguous copy, and copy
    that back.
    """
    both_halves(x.reshape(-1).tensor_split(world), rank, world)


@ring_allreduce.variant(sends_a_strided_view)
def _(x: Tensor, rank: int, world: int) -> None:
    both_halves(x.view(-1).tensor_split(world), rank, world)


@ring_allreduce.mistake(breaks=contract.GAPS)
def whole_memory_reduced(x: Tensor, rank: int, world: int) -> None:
    """Of a column other elements were summed than those of x, or more than those. Perhaps the memory was
    reduced as if x lay in it without gaps: the numbers between its elements belong to somebody else.
    """
    both_halves(torch.as_strided(x, (x.numel(),), (1,)).tensor_split(world), rank, world)


@ring_allreduce.variant(whole_memory_reduced)
def _(x: Tensor, rank: int, world: int) -> None:
    base = x if x._base is None else x._base
    both_halves(base.view(-1).tensor_split(world), rank, world)


@ring_allreduce.mistake(breaks=contract.WAITED)
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The numbers are right, and an isend was not waited for: when the function returns, a message may
    still be reading x, and the caller is free to change it. Keep the request, and wait for it.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
            dist.recv(buffer, (rank - 1) % world)
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)
