"""Wrong answers to 08.pipelined_allreduce whose segments overlap, and whose result is wrong all the same."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.pipelined import pipelined_allreduce
from helpers.labs.allreduce.pipelined_mistakes import (
    ring_in_segments,
    segment_length,
    segment_smaller_than_an_element,
)


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
