"""Wrong answers to 08.ring_reduce_scatter whose sums or slices are wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_reduce_scatter import ring_reduce_scatter
from helpers.labs.allreduce.wrong_parts import exchanged, first_half, place

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
