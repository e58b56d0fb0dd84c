"""What people write for 02.shard, and why it is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch.utils.data import get_worker_info

from helpers.labs.dataloader.shard.exercise import shard


@shard.mistake()
def not_sharded(dataset: Any) -> Iterator[Any]:
    """Each worker runs the whole __iter__ of its own copy: with n workers every item comes n times, without a
    warning.
    """
    return iter(dataset)


@shard.mistake()
def by_rank_only(dataset: Any) -> Iterator[Any]:
    """The rank tells machines and GPUs apart, not the workers of one loader: all of them have the same rank."""
    if get_worker_info() is None:
        return iter(dataset)
    return islice(dataset, int(os.environ.get("RANK", 0)), None, int(os.environ.get("WORLD_SIZE", 1)))


@shard.variant(by_rank_only)
def _(dataset: Any) -> Iterator[Any]:
    if get_worker_info() is None or not torch.distributed.is_initialized():
        return iter(dataset)
    return islice(dataset, torch.distributed.get_rank(), None, torch.distributed.get_world_size())


@shard.mistake(breaks="Ranks are not looked at.")
def dealt_by_rank_too(dataset: Any) -> Iterator[Any]:
    """The part depends on the rank as well: right where each rank is to get its own part, and not what is asked
    here. Where the ranks' streams differ already, items are lost.
    """
    info = get_worker_info()
    id, workers = (info.id, info.num_workers) if info else (0, 1)
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    return islice(dataset, rank * workers + id, None, ranks * workers)


@shard.variant(dealt_by_rank_too)
def _(dataset: Any) -> Iterator[Any]:
    info = get_worker_info()
    id, workers = (info.id, info.num_workers) if info else (0, 1)
    if torch.distributed.is_initialized():
        id += torch.distributed.get_rank() * workers
        workers *= torch.distributed.get_world_size()
    return islice(dataset, id, None, workers)


@shard.mistake()
def worker_zero_takes_all(dataset: Any) -> Iterator[Any]:
    """`if info and info.id` is false for worker 0, whose id is 0: it takes the whole stream."""
    info = get_worker_info()
    if info is None or not info.id:
        return iter(dataset)
    return islice(dataset, info.id, None, info.num_workers)


@shard.mistake()
def start_lost(dataset: Any) -> Iterator[Any]:
    """Every worker takes items 0, n, 2n, ...: the start of the slice is the worker's number."""
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, 0, None, info.num_workers)


@shard.mistake()
def counted_from_one(dataset: Any) -> Iterator[Any]:
    """Worker numbers start at 0; counted from 1, item 0 is nobody's."""
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.id + 1, None, info.num_workers)


@shard.mistake()
def only_in_workers(dataset: Any) -> Iterator[Any]:
    """In the main process get_worker_info() is None: with num_workers=0 the loader is empty."""
    info = get_worker_info()
    if info is not None:
        yield from islice(dataset, info.id, None, info.num_workers)


@shard.mistake()
def no_info_not_handled(dataset: Any) -> Iterator[Any]:
    """get_worker_info() gives None outside of a worker, and None has no id."""
    info = get_worker_info()
    return islice(dataset, info.id, None, info.num_workers)


@shard.mistake()
def list_of_all(dataset: Any) -> Iterator[Any]:
    """list(dataset) reads the whole stream into each worker's memory, before the first item; an endless one
    never ends.
    """
    info = get_worker_info()
    return iter(dataset) if info is None else iter(list(dataset)[info.id :: info.num_workers])


@shard.mistake()
def blocks_by_length(dataset: Any) -> Iterator[Any]:
    """Blocks of consecutive items need len(), which a stream does not have."""
    info = get_worker_info()
    if info is None:
        return iter(dataset)
    size = -(-len(dataset) // info.num_workers)
    return islice(dataset, info.id * size, (info.id + 1) * size)


@shard.mistake()
def blocks_by_counting(dataset: Any) -> Iterator[Any]:
    """To count a stream is to read it: once for the length, once more for the items."""
    info = get_worker_info()
    if info is None:
        return iter(dataset)
    size = -(-sum(1 for _ in dataset) // info.num_workers)
    return islice(dataset, info.id * size, (info.id + 1) * size)


@shard.mistake()
def by_random_choice(dataset: Any) -> Iterator[Any]:
    """Drawing for each item whether it is one's own gives each worker other draws: some items come twice,
    some never.
    """
    info = get_worker_info()
    if info is None:
        yield from dataset
        return
    own = torch.Generator().manual_seed(info.seed)
    for item in dataset:
        if torch.rand((), generator=own).item() < 1 / info.num_workers:
            yield item


@shard.mistake()
def by_the_items_value(dataset: Any) -> Iterator[Any]:
    """`item % n == id` deals by what an item holds: it fails for anything but numbers, and deals even numbers
    to one worker.
    """
    info = get_worker_info()
    for item in dataset:
        if info is None or item % info.num_workers == info.id:
            yield item
