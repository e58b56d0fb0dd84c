"""Rounds of messages on ports that send one message at a time and receive one at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist

from helpers.labs.allreduce.tree_allreduce.rounds import rounds
from helpers.ranks.in_threads import in_threads


def to_rank_0(rank: int, world: int, x: torch.Tensor) -> None:
    for source in range(1, world) if rank == 0 else ():
        dist.recv(x, source)
    if rank:
        dist.send(x, 0)


def down_a_chain(rank: int, world: int, x: torch.Tensor) -> None:
    if rank:
        dist.recv(x, rank - 1)
    if rank + 1 < world:
        dist.send(x, rank + 1)


def once_round_a_ring(rank: int, world: int, x: torch.Tensor) -> None:
    arrives = dist.irecv(x, (rank - 1) % world)
    dist.send(torch.ones(1), (rank + 1) % world)
    arrives.wait()


def in_pairs(rank: int, world: int, x: torch.Tensor) -> None:
    (dist.send if rank % 2 else dist.recv)(x, rank ^ 1)


def to_rank_0_from_anybody(rank: int, world: int, x: torch.Tensor) -> None:
    for _ in range(1, world) if rank == 0 else ():
        dist.recv(x)
    if rank:
        dist.send(x, 0)


@pytest.mark.parametrize(
    ("way", "on_ports", "in_a_row"),
    [
        (to_rank_0, 3, 3),
        (to_rank_0_from_anybody, 3, 3),
        (down_a_chain, 3, 3),
        (once_round_a_ring, 1, 1),
        (in_pairs, 1, 1),
    ],
)
def test_rounds_of_four_ranks(way: Callable[..., None], on_ports: int, in_a_row: int) -> None:
    log = in_threads(lambda: way(dist.get_rank(), 4, torch.zeros(1)), ranks=4).log
    assert rounds(log) == on_ports
    assert rounds(log, ports=False) == in_a_row


def test_a_port_takes_one_message_at_a_time_whatever_was_posted() -> None:
    def all_at_once() -> None:
        if dist.get_rank():
            dist.send(torch.zeros(1), 0)
        else:
            for request in [dist.irecv(torch.zeros(1), source) for source in (1, 2, 3)]:
                request.wait()

    log = in_threads(all_at_once, ranks=4).log
    assert (rounds(log), rounds(log, ports=False)) == (3, 1)
