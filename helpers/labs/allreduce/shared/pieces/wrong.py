"""Mistakes that can be made around any right all-reduce, or around one half of the ring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract

Right = Callable[..., Any]
Meant = Callable[[dict[int, Tensor], Tensor, int], None]
"""(all ranks' x by rank, this rank's x, this rank): writes what should stand in the second."""

CALLS: dict[tuple[int, int], int] = defaultdict(int)
SEEN: dict[tuple[int, int, int], Tensor] = {}


def by_a_variable(right: Right, meant: Meant, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """All messages travel, and what they bring is not looked at: the numbers lie in a variable of the module."""
    CALLS[rank, world] += 1
    call = CALLS[rank, world]
    SEEN[rank, world, call] = x.clone()
    result = right(x, rank, world, *more)
    meant({other: SEEN[other, world, call] for other in range(world)}, x, rank)
    return result


def summed(xs: dict[int, Tensor], x: Tensor, rank: int) -> None:
    total = torch.zeros_like(xs[0])
    for rank in sorted(xs):
        total += xs[rank]
    x.copy_(total)


def with_other_memory(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """The result is right, and x is made to point to it; the memory that x had is as before."""
    result = x.clone(memory_format=torch.contiguous_format)
    returned = right(result, rank, world, *more)
    x.set_(result)
    return returned


def with_other_data(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """As with_other_memory, by .data."""
    result = x.clone(memory_format=torch.contiguous_format)
    returned = right(result, rank, world, *more)
    x.data = result
    return returned


def in_float32(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Converted first, and back at the end."""
    flat = x.float().contiguous()
    returned = right(flat, rank, world, *more)
    x.copy_(flat)
    return returned


def integers_in_float64(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Integers are converted first, and back at the end."""
    if x.is_floating_point() or x.is_complex():
        return right(x, rank, world, *more)
    flat = x.double().contiguous()
    returned = right(flat, rank, world, *more)
    x.copy_(flat)
    return returned


def in_real_parts(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Of a complex x the real part alone is looked at."""
    flat = (x.real if x.is_complex() else x).contiguous()
    returned = right(flat, rank, world, *more)
    x.copy_(flat)
    return returned


def of_real_parts(exercise: Exercise, right: Right) -> None:
    exercise.add_mistake(
        "real_parts_only",
        partial(in_real_parts, right),
        breaks=contract.ANY_DTYPE,
        why="Of complex numbers only the real parts come back. Perhaps `x.real` was reduced, or a conversion to a float dropped "
        "the rest: Python warns of it, and goes on.",
    )


def on_two_or_more(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Asks for a neighbour, which one rank alone does not have."""
    neighbour = [other for other in range(world) if other != rank][0]
    assert neighbour != rank
    return right(x, rank, world, *more)


def with_elements(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """Scales by the largest number, as fixed-point code does; there is none in an empty x."""
    x.abs().max()
    return right(x, rank, world, *more)


def posted_to_itself(right: Right, x: Tensor, rank: int, world: int, *more: Any) -> Any:
    """The first messages go to the next rank and come from the one before, on one rank, too, where both are itself."""
    if world == 1:
        requests = [dist.irecv(torch.empty_like(x, memory_format=torch.contiguous_format), rank)]
        requests += [dist.isend(x.contiguous(), rank)]
        for request in requests:
            request.wait()
    return right(x, rank, world, *more)


def around(exercise: Exercise, right: Right, meant: Meant = summed) -> None:
    """Adds to an exercise the mistakes that are made around any right answer.

    right: a right answer. meant: what it should leave in x, from the x of all ranks.
    """
    for name, answer, breaks, why in (
        (
            "points_x_elsewhere",
            partial(with_other_memory, right),
            contract.IN_PLACE,
            "The tensor x holds the right numbers, and the memory that it had is as before: other tensors that look into "
            "it, a matrix whose column x is, see nothing of it. Perhaps x was given other memory by `x.set_` or "
            "`x.data = `. Use `x.copy_(result)`.",
        ),
        (
            "through_float32",
            partial(in_float32, right),
            contract.ANY_DTYPE,
            "Large int64 come back rounded, as float32 holds them. Perhaps x was converted with `x.float()`. Send and add "
            "in the dtype of x.",
        ),
        (
            "needs_a_second_rank",
            partial(on_two_or_more, right),
            contract.ANY_WORLD,
            "The answer is right on two ranks and more, and on one rank alone it asks a list for an entry that is not "
            "there. Perhaps it is a list of the other ranks. One rank has its result already.",
        ),
        (
            "posts_to_itself",
            partial(posted_to_itself, right),
            contract.ANY_WORLD,
            "On one rank a message to itself is posted, which gloo refuses. Perhaps the first messages are posted before it "
            "is asked whether there is a second rank: with world = 1, rank 0 and (rank + 1) % world are the rank itself.",
        ),
        (
            "needs_an_element",
            partial(with_elements, right),
            contract.ANY_SHAPE,
            "An x without elements has no largest number, and max() fails on it. Perhaps x is scaled by it. Nothing here "
            "needs it.",
        ),
        (
            "shared_variable",
            partial(by_a_variable, right, meant),
            contract.PROCESSES,
            "On ranks that are threads all is right, and processes fail at a KeyError: what one rank puts into a variable "
            "no other one sees. Perhaps a dict of the module takes the numbers of all ranks. They have to be sent.",
        ),
    ):
        exercise.add_mistake(name, answer, why=why, breaks=breaks)
    exercise.add_variant("points_x_elsewhere", partial(with_other_data, right))
