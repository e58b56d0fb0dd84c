"""Mistakes in 08.ring_allreduce that are right on four ranks, and fail by traffic, size, dtype or memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_allreduce.exercise import ring_allreduce
from helpers.labs.allreduce.shared.right import exchanged, first_half, second_half, through_chunks


def both_halves(chunks: Sequence[Tensor], rank: int, world: int) -> None:
    first_half(chunks, rank, world)
    second_half(chunks, rank, world)


@ring_allreduce.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """dist.all_reduce is what you are building here; reduce_scatter and all_gather are its halves. Use
    messages from one rank to the next.
    """
    dist.all_reduce(x)


@ring_allreduce.variant(calls_a_collective)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous()
    dist.reduce(flat, 0)
    dist.broadcast(flat, 0)
    x.copy_(flat)


@ring_allreduce.mistake()
def through_rank_0(x: Tensor, rank: int, world: int) -> None:
    """All goes through rank 0, as in the naive way. The sums are right, but rank 0 moves N - 1 times x in and
    out, and everybody waits for it: in the ring no rank moves more than twice x, however many there are.
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


@ring_allreduce.mistake()
def whole_x_goes_round(x: Tensor, rank: int, world: int) -> None:
    """Each rank's whole x goes round the ring, and everybody adds up what passes. The sums are right, but
    each rank sends N - 1 times x, not 2 (N - 1) / N: cut x into chunks, so that a step moves one of them.
    """
    travelling = x.contiguous().clone()
    total, received = travelling.clone(), torch.empty_like(travelling)
    for _ in range(world - 1):
        exchanged(travelling, received, rank, world)
        total += received
        travelling, received = received, travelling
    x.copy_(total)


@ring_allreduce.mistake()
def one_step_too_many(x: Tensor, rank: int, world: int) -> None:
    """A half has one step too many, `range(world)`. Here it only brings a chunk that is there already, and
    costs its bytes.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        first_half(chunks, rank, world)
        for step in range(world):
            exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)

    through_chunks(x, world, work)


@ring_allreduce.mistake()
def rows_for_chunks(x: Tensor, rank: int, world: int) -> None:
    """x is cut along its first dimension: two rows on four ranks make two chunks far too long and two empty
    ones. The sums are right, the bytes are not. Flatten first.
    """
    flat = x.contiguous() if x.dim() else x.view(1)
    both_halves(flat.tensor_split(world), rank, world)
    if x.dim() and flat is not x:
        x.copy_(flat)


@ring_allreduce.mistake()
def everybody_talks_to_everybody(x: Tensor, rank: int, world: int) -> None:
    """Each chunk goes straight to its owner and from there straight to all. The bytes are the ring's, but
    there is no ring: N (N - 1) connections, on which messages cross.
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


@ring_allreduce.mistake()
def a_message_for_each_number(x: Tensor, rank: int, world: int) -> None:
    """Every number travels in a message of its own: the same bytes, and thousands of start-up times. Send a
    chunk whole, or in a few segments.
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


@ring_allreduce.mistake()
def chunk_in_place_of_tensor_split(x: Tensor, rank: int, world: int) -> None:
    """`x.chunk(world)` may give fewer pieces than ranks: six numbers on four ranks make three of two.
    `tensor_split` gives as many as you ask for.
    """
    flat = x.contiguous().view(-1)
    both_halves(flat.chunk(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_allreduce.variant(chunk_in_place_of_tensor_split)
def _(x: Tensor, rank: int, world: int) -> None:
    both_halves(list(x.contiguous().view(-1).chunk(world)), rank, world)


@ring_allreduce.mistake()
def rest_forgotten(x: Tensor, rank: int, world: int) -> None:
    """Chunks of `numel() // world` elements: the rest at the end is never reduced, and every rank keeps its
    own.
    """
    flat = x.contiguous().view(-1)
    both_halves(flat[: x.numel() // world * world].tensor_split(world), rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@ring_allreduce.mistake()
def only_sizes_that_divide(x: Tensor, rank: int, world: int) -> None:
    """x is viewed as `world` rows of equal length, which works only for sizes that the ranks divide. Let the
    chunks differ by one, or pad.
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


@ring_allreduce.mistake()
def one_length_for_all_chunks(x: Tensor, rank: int, world: int) -> None:
    """One receive buffer is made for all steps, as long as the rank's own chunk. Chunks differ in length
    where the ranks do not divide the elements: take the part that the incoming chunk needs.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        buffer = torch.empty_like(chunks[rank])
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            exchanged(chunks[(rank - step) % world], buffer, rank, world)
            mine += buffer
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@ring_allreduce.mistake()
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """The receive buffer is float32 whatever x is. A message carries bytes, and the other side reads them as
    it likes: give the buffer the dtype of x.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.zeros(len(mine))
            exchanged(chunks[(rank - step) % world], buffer, rank, world)
            mine += buffer
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@ring_allreduce.variant(buffer_of_the_default_dtype)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.float().contiguous().view(-1)
    both_halves(flat.tensor_split(world), rank, world)
    x.copy_(flat.view(x.shape))


@ring_allreduce.mistake()
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> None:
    """A contiguous copy is reduced, and x stays as it was: `x.contiguous()`, `x.flatten()` and
    `x.reshape(-1)` copy when x is a column or a transpose. Copy the result back.
    """
    both_halves(x.contiguous().view(-1).tensor_split(world), rank, world)


@ring_allreduce.mistake()
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """A column is a view with gaps. send and recv refuse it, and view(-1) cannot flatten it; `x.reshape(-1)`
    of a one-dimensional x is the same view again. Reduce a contiguous copy and copy it back.
    """
    both_halves(x.reshape(-1).tensor_split(world), rank, world)


@ring_allreduce.variant(sends_a_strided_view)
def _(x: Tensor, rank: int, world: int) -> None:
    both_halves(x.view(-1).tensor_split(world), rank, world)


@ring_allreduce.mistake()
def whole_memory_reduced(x: Tensor, rank: int, world: int) -> None:
    """The memory behind x is reduced as if x lay in it without gaps: the numbers between its elements belong
    to somebody else.
    """
    both_halves(torch.as_strided(x, (x.numel(),), (1,)).tensor_split(world), rank, world)


@ring_allreduce.variant(whole_memory_reduced)
def _(x: Tensor, rank: int, world: int) -> None:
    base = x if x._base is None else x._base
    both_halves(base.view(-1).tensor_split(world), rank, world)


@ring_allreduce.mistake()
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but the isends are not waited for. When the function returns, a message may still
    be reading x, and the caller is free to change it.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(2 * (world - 1)):
            mine = chunks[(rank - step - 1) % world]
            buffer = torch.empty_like(mine)
            dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
            dist.recv(buffer, (rank - 1) % world)
            mine.copy_(mine + buffer if step < world - 1 else buffer)

    through_chunks(x, world, work)
