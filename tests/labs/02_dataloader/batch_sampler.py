"""Right answers to 02.batch_sampler, in different shapes."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import Sampler


def batches_by_a_loop(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """The plain answer."""
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def batches_by_islice(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """Slices of one iterator."""
    indices = iter(sampler)
    while batch := list(itertools.islice(indices, batch_size)):
        if drop_last and len(batch) < batch_size:
            return
        yield batch


class BatchesByAClass:
    """An iterator written by hand."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self._indices = iter(sampler)
        self._batch_size, self._least = batch_size, batch_size if drop_last else 1

    def __iter__(self) -> BatchesByAClass:
        return self

    def __next__(self) -> list[int]:
        batch = [index for _, index in zip(range(self._batch_size), self._indices, strict=False)]
        if len(batch) < self._least:
            raise StopIteration
        return batch


def batches_given_late(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """A full batch goes when the next index has come: one index ahead."""
    batch: list[int] = []
    for index in sampler:
        if len(batch) == batch_size:
            yield batch
            batch = []
        batch.append(index)
    if len(batch) == batch_size or (batch and not drop_last):
        yield batch


def batches_a_batch_ahead(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """The next batch is made before this one goes, to see whether this is the last: a batch ahead."""
    indices = iter(sampler)
    batch = list(itertools.islice(indices, batch_size))
    while batch:
        following = list(itertools.islice(indices, batch_size))
        if following or len(batch) == batch_size or not drop_last:
            yield batch
        batch = following


def batches_without_none(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """zip_longest fills up with None, which no index is."""
    for group in itertools.zip_longest(*[iter(sampler)] * batch_size):
        batch = [index for index in group if index is not None]
        if len(batch) == batch_size or not drop_last:
            yield batch


def batches_by_zip(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """One iterator many times over, as torch does it; a private object marks the empty places."""
    groups, empty = [iter(sampler)] * batch_size, object()
    if drop_last:
        return map(list, zip(*groups, strict=False))
    filled = itertools.zip_longest(*groups, fillvalue=empty)
    return ([index for index in group if index is not empty] for group in filled)


def batches_until_empty(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """`iter` with a function and an end mark."""
    indices = iter(sampler)
    batches = iter(lambda: [*itertools.islice(indices, batch_size)], [])
    return filter(lambda batch: len(batch) == batch_size, batches) if drop_last else batches


class BatchesAsAnIterable(Sampler):
    """A class like torch's own, which can be gone through again."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        stop = False
        indices = iter(self.sampler)
        while not stop:
            batch: list[Any] = []
            while len(batch) < self.batch_size:
                try:
                    batch += [next(indices)]
                except StopIteration:
                    stop = True
                    break
            if batch and not (stop and self.drop_last):
                yield batch


def batches_by_groups(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """Neighbours whose places give the same quotient."""
    for _, group in itertools.groupby(enumerate(sampler), lambda numbered: numbered[0] // batch_size):
        batch = [index for _, index in group]
        if len(batch) == batch_size or not drop_last:
            yield batch


def batches_by_a_queue(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """Indices go in on the one side of a deque and out on the other one."""
    waiting: deque[int] = deque()
    for index in sampler:
        waiting.append(index)
        if len(waiting) == batch_size:
            yield [waiting.popleft() for _ in range(batch_size)]
    if waiting and not drop_last:
        yield [*waiting]


RIGHT = [
    batches_by_a_loop,
    batches_by_islice,
    BatchesByAClass,
    batches_by_zip,
    batches_given_late,
    batches_a_batch_ahead,
    batches_without_none,
    batches_until_empty,
    BatchesAsAnIterable,
    batches_by_groups,
    batches_by_a_queue,
]
