"""Right answers to 02.shard, in different shapes."""

from __future__ import annotations

import itertools

from torch.utils.data import (
    get_worker_info,
)


def shard_by_slice(dataset):
    info = get_worker_info()
    return iter(dataset) if info is None else itertools.islice(dataset, info.id, None, info.num_workers)


def shard_by_remainder(dataset):
    info = get_worker_info()
    id, num_workers = (info.id, info.num_workers) if info else (0, 1)
    for place, item in enumerate(dataset):
        if place % num_workers == id:
            yield item


def shard_by_rounds(dataset):
    """A round of one item a worker at a time."""
    info = get_worker_info()
    id, num_workers = (info.id, info.num_workers) if info else (0, 1)
    items = iter(dataset)
    while batch := list(itertools.islice(items, num_workers)):
        yield from batch[id : id + 1]


def shard_by_compress(dataset):
    info = get_worker_info()
    if not info:
        return (item for item in dataset)
    return itertools.compress(dataset, itertools.cycle([id == info.id for id in range(info.num_workers)]))


def shard_by_skipping(dataset):
    """The others' items are stepped over."""
    info = get_worker_info()
    id, num_workers = (info.id, info.num_workers) if info else (0, 1)
    items, end = iter(dataset), object()
    steps = id
    while True:
        for _ in range(steps):
            if next(items, end) is end:
                return
        for item in items:
            yield item
            break
        else:
            return
        steps = num_workers - 1


class ShardAsAnObject:
    """An iterator by hand."""

    def __init__(self, dataset):
        info = get_worker_info()
        self.id, self.num_workers = (info.id, info.num_workers) if info else (0, 1)
        self.items = enumerate(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            place, item = next(self.items)
            if place % self.num_workers == self.id:
                return item


RIGHT = [
    shard_by_slice,
    shard_by_remainder,
    shard_by_rounds,
    shard_by_compress,
    shard_by_skipping,
    ShardAsAnObject,
]
