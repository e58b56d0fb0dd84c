"""A ring all-reduce watched at work: what each rank sent, and what each held, round by round.

The vectors hold codes instead of numbers. Chunk c of rank r is (c + 1) * PLACES + 16 ** r: whatever is added up, the low
digits tell whose parts are in it, and the rest tells which chunk it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.ranks.group_calls import Method, exchanged

PLACES = 16**10  # room for ten ranks

Parts = tuple[int, ...]  # the ranks whose parts are in a sum, rising; one that is in it twice stands twice


@dataclass(frozen=True)
class Watched:
    """One rank's run. sent: (receiver, code) of each number that it sent, in order; last: the codes in the end."""

    sent: tuple[tuple[int, int], ...]
    last: tuple[int, ...]


@dataclass(frozen=True)
class Moment:
    """The ranks between two rounds. held: by rank and chunk; arrows: (sender, receiver, chunk) of the last round.

    added: whether what came in the last round was added to what was there, and not put in its place.
    """

    held: tuple[tuple[Parts, ...], ...]
    arrows: tuple[tuple[int, int, int], ...] = ()
    added: bool = False


def watched(allreduce: Callable[[Tensor, int, int], object]) -> Watched:
    """This rank's part in an all-reduce of one number a rank, to be run by `helpers.ranks.run`."""
    rank, world = dist.get_rank(), dist.get_world_size()
    x = torch.arange(1, world + 1) * PLACES + 16**rank
    sent: list[tuple[int, int]] = []

    def wrap(name: str, method: Method) -> Method:
        def call(group: Any, tensors: list[Tensor], *rest: Any) -> Any:
            if name == "send":
                sent.extend((rest[0], code) for code in tensors[0].flatten().tolist())
            return method(group, tensors, *rest)

        return call

    with exchanged(wrap):
        allreduce(x, rank, world)
    return Watched(tuple(sent), tuple(x.tolist()))


def moments(run: Sequence[Watched]) -> list[Moment]:
    """The start, and what is there after each round; a round is one number sent by each rank.

    A message is read while others may already change the receiver's vector. So what a rank held after a round is
    taken from what it sent of that chunk later, or from its vector in the end.
    """
    world = len(run)
    held = [[(rank,) for _ in range(world)] for rank in range(world)]
    found = [Moment(_frozen(held))]
    for number in range(min(len(rank.sent) for rank in run)):
        arrows, added = [], False
        for sender, rank in enumerate(run):
            receiver, code = rank.sent[number]
            chunk, parts = decoded(code)
            arrows.append((sender, receiver, chunk))
            held[receiver][chunk] = _later(run[receiver], number + 1, chunk)
            added = added or held[receiver][chunk] != parts
        found.append(Moment(_frozen(held), tuple(arrows), added))
    return found


def decoded(code: int) -> tuple[int, Parts]:
    """The chunk that a code is of, and the ranks whose parts are in it."""
    high, low = divmod(code, PLACES)
    parts = tuple(rank for rank in range(10) for _ in range(low // 16**rank % 16))
    return (high // len(parts) - 1 if parts else 0), parts


def _later(rank: Watched, number: int, chunk: int) -> Parts:
    codes = [*(code for _, code in rank.sent[number:]), rank.last[chunk]]
    return next(parts for at, parts in map(decoded, codes) if at == chunk)


def _frozen(held: list[list[Parts]]) -> tuple[tuple[Parts, ...], ...]:
    return tuple(map(tuple, held))
