"""Mistakes in 08.ring_allreduce that can be made around any right one: memory, dtype, worlds, variables, time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_allreduce.exercise import ring_allreduce
from helpers.labs.allreduce.ring_allreduce.mistakes.traffic import both_halves
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces import wrong
from helpers.labs.allreduce.shared.pieces.right import through_chunks


def right(x: Tensor, rank: int, world: int) -> None:
    """All of it."""
    through_chunks(x, world, lambda chunks: both_halves(chunks, rank, world))


wrong.around(ring_allreduce, right)
wrong.of_real_parts(ring_allreduce, right)


@ring_allreduce.mistake(breaks=contract.WHOLE_RING)
def sent_as_float64(x: Tensor, rank: int, world: int) -> None:
    """Twice the bytes travel: a number of x has four bytes, and its messages have eight for each. Perhaps x was
    converted with `x.double()`. Send in the dtype of x.
    """
    flat = x.double().contiguous()
    right(flat, rank, world)
    x.copy_(flat)


@ring_allreduce.mistake(breaks=contract.IN_A_ROW)
def next_receive_too_early(x: Tensor, rank: int, world: int) -> None:
    """Right while messages come as late as they can, wrong when they come early. Perhaps the next irecv is posted into the
    buffer that is still to be added, and writes it before its numbers are used. Use it first, or take two buffers in turn.
    """

    def work(chunks: Sequence[Tensor]) -> None:
        buffer, steps = torch.empty_like(chunks[0]), 2 * (world - 1)
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
            target = chunks[(rank - step - 1) % world]
            target.copy_(target + into if step < world - 1 else into)
        for request in leaving:
            request.wait()

    through_chunks(x, world, work)


@ring_allreduce.mistake(breaks=contract.ANY_DTYPE)
def integers_through_float64(x: Tensor, rank: int, world: int) -> None:
    """Very large int64 come back rounded, as float64 holds them: whole numbers above 2 ** 53 have no place in it.
    Perhaps integers were converted with `x.double()`. Send and add in the dtype of x.
    """
    wrong.integers_in_float64(right, x, rank, world)
