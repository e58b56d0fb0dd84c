"""Right answers to 07.shard_indices, in different shapes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch


def by_ceil_and_slices(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> list[int]:
    """The plain answer."""
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    else:
        order = list(range(n))
    each = n // world if drop_last else math.ceil(n / world)
    return (order * math.ceil(each * world / n))[rank : each * world : world]


def by_an_endless_cycle(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> list[int]:
    """Walks round and round the order with itertools."""
    generator = torch.Generator()
    generator.manual_seed(seed + epoch)
    order = torch.randperm(n, generator=generator).tolist() if shuffle else range(n)
    total = n - n % world if drop_last else n + -n % world
    return list(itertools.islice(itertools.cycle(order), rank, total, world))


def by_places(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> list[int]:
    """Computes the places, modulo n, and looks them up in a tensor."""
    rounds = n // world + (not drop_last and n % world > 0)
    places = (torch.arange(rounds) * world + rank) % n
    if not shuffle:
        return places.tolist()
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))[places].tolist()


def with_the_generators_state_kept(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> list[int]:
    """Seeds the global generator inside fork_rng, which puts it back; the order is resized by numpy."""
    order = np.arange(n)
    if shuffle:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + epoch)
            order = torch.randperm(n).numpy()
    total = n // world * world if drop_last else -(-n // world) * world
    return [int(index) for index in np.resize(order, total).reshape(-1, world)[:, rank]]


RIGHT = [
    by_ceil_and_slices,
    by_an_endless_cycle,
    by_places,
    with_the_generators_state_kept,
]
