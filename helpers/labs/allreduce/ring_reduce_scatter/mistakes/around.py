"""Mistakes in 08.ring_reduce_scatter that can be made around any right one: memory, dtype, worlds, variables, time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_reduce_scatter.exercise import ring_reduce_scatter
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces import wrong
from helpers.labs.allreduce.shared.pieces.right import first_half, place, through_chunks


def right(x: Tensor, rank: int, world: int) -> slice:
    """All of it."""
    through_chunks(x, world, lambda chunks: first_half(chunks, rank, world))
    return place(x, rank, world)


def own_chunk_summed(xs: dict[int, Tensor], x: Tensor, rank: int) -> None:
    flat, own = x.flatten(), place(x, rank, len(xs))
    flat[own] = sum(its.flatten()[own] for its in xs.values())
    x.copy_(flat.view(x.shape))


wrong.around(ring_reduce_scatter, right, own_chunk_summed)


@ring_reduce_scatter.mistake(breaks=contract.HALF_A_RING)
def sent_as_float64(x: Tensor, rank: int, world: int) -> slice:
    """Twice the bytes travel: a number of x has four bytes, and its messages have eight for each. Perhaps x was
    converted with `x.double()`. Send in the dtype of x.
    """
    flat = x.double().contiguous()
    result = right(flat, rank, world)
    x.copy_(flat)
    return result


@ring_reduce_scatter.mistake(breaks=contract.IN_A_ROW)
def next_receive_too_early(x: Tensor, rank: int, world: int) -> slice:
    """Right while messages come as late as they can, wrong when they come early: a buffer is written before its
    numbers were used. Perhaps the next irecv is posted into the buffer that is still to be added. Use it first, or
    take two buffers in turn.
    """

    def work(chunks: Sequence[Tensor]) -> None:
        buffer, steps = torch.empty_like(chunks[0]), world - 1
        leaving: list[dist.Work] = []

        def posted(step: int) -> tuple[Tensor, dist.Work]:
            into = buffer[: len(chunks[(rank - step - 1) % world])]
            return into, dist.irecv(into, (rank - 1) % world)

        following = posted(0) if steps else None
        for step in range(steps):
            into, arrives = following
            leaving.append(dist.isend(chunks[(rank - step) % world], (rank + 1) % world))
            arrives.wait()
            following = posted(step + 1) if step + 1 < steps else None
            chunks[(rank - step - 1) % world].add_(into)
        for request in leaving:
            request.wait()

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(breaks=contract.ANY_DTYPE)
def integers_through_float64(x: Tensor, rank: int, world: int) -> slice:
    """Very large int64 come back rounded, as float64 holds them: whole numbers above 2 ** 53 have no place in it.
    Perhaps integers were converted with `x.double()`. Send and add in the dtype of x.
    """
    return wrong.integers_in_float64(right, x, rank, world)


SLICE = "Returns slice(start, stop) of that chunk in x.flatten()."


@ring_reduce_scatter.mistake(breaks=SLICE)
def a_tuple_of_two(x: Tensor, rank: int, world: int) -> tuple[int, int]:
    """A tuple comes back, where a slice is asked for: x.flatten()[(2, 4)] is an IndexError. Perhaps it holds start
    and stop: slice(start, stop) is what indexes a chunk.
    """
    own = right(x, rank, world)
    return own.start, own.stop


@ring_reduce_scatter.mistake(breaks=SLICE)
def last_element_left_out(x: Tensor, rank: int, world: int) -> slice:
    """The sums are where they belong, and each slice ends one element early. Perhaps stop is the number of the last
    element. A slice ends before its stop.
    """
    own = right(x, rank, world)
    return slice(own.start, own.stop - 1)


@ring_reduce_scatter.mistake(breaks=SLICE)
def slice_from_zero(x: Tensor, rank: int, world: int) -> slice:
    """The sums are where they belong, and all slices begin at 0. Perhaps they count within the own chunk. The caller
    looks into the whole x.
    """
    own = right(x, rank, world)
    return slice(0, own.stop - own.start)


def added_before_wait(x: Tensor, rank: int, world: int, buffer: Tensor) -> slice:
    """buffer: in which every chunk arrives, one after the other."""

    def work(chunks: Sequence[Tensor]) -> None:
        for step in range(world - 1):
            mine = chunks[(rank - step - 1) % world]
            arrives = dist.irecv(buffer[: len(mine)], (rank - 1) % world)
            leaves = dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
            leaves.wait()
            mine += buffer[: len(mine)]
            arrives.wait()

    through_chunks(x, world, work)
    return place(x, rank, world)


@ring_reduce_scatter.mistake(
    breaks="First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks."
)
def used_before_the_wait(x: Tensor, rank: int, world: int) -> slice:
    """Sums lack numbers that have come: what is in them comes from an earlier step. Perhaps the buffer is added
    before its request is waited for. Until wait() returns it holds the chunk of the step before.
    """
    return added_before_wait(x, rank, world, torch.zeros(x.numel(), dtype=x.dtype))


@ring_reduce_scatter.variant(used_before_the_wait)
def _(x: Tensor, rank: int, world: int) -> slice:
    return added_before_wait(x, rank, world, torch.empty(x.numel(), dtype=x.dtype))
