"""What people write for 02.batch_sampler: the sampler is read too far, too early, twice, or not as an iterable."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, islice
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader

from helpers.labs.dataloader.batch_sampler import batch_sampler
from helpers.labs.dataloader.batch_sampler_mistakes import Batches, in_batches


@batch_sampler.mistake()
def sampler_read_whole(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """list(sampler) needs an end, and all indices in memory: a sampler of a stream has none, and one of 10**9
    samples takes minutes before the first batch.
    """
    indices = list(sampler)
    for start in range(0, len(indices), batch_size):
        batch = indices[start : start + batch_size]
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.variant(sampler_read_whole)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> list[list[int]]:
    batches: list[list[int]] = []
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            batches.append(batch)
            batch = []
    if batch and not drop_last:
        batches.append(batch)
    return batches


@batch_sampler.variant(sampler_read_whole)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    return iter(list(in_batches(list(sampler), batch_size, drop_last)))


@batch_sampler.variant(sampler_read_whole)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    indices = list(sampler)
    while len(indices) >= batch_size or (indices and not drop_last):
        yield indices[:batch_size]
        del indices[:batch_size]


@batch_sampler.variant(sampler_read_whole)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    indices = [*sampler]
    return (
        indices[start : start + batch_size]
        for start in range(0, len(indices), batch_size)
        if not drop_last or start + batch_size <= len(indices)
    )


@batch_sampler.mistake()
def several_batches_read_ahead(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Several batches are read before the first one is given away: on a slow sampler training waits for all
    of them.
    """
    indices = iter(sampler)
    while several := list(islice(indices, 8 * batch_size)):
        yield from in_batches(several, batch_size, drop_last)


@batch_sampler.mistake()
def begun_at_the_call(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The first batch is made when the function is called. A generator function runs nothing before the first
    next().
    """
    indices = iter(sampler)
    first = list(islice(indices, batch_size))

    def batches() -> Batches:
        batch = first
        while batch:
            if len(batch) == batch_size or not drop_last:
                yield batch
            batch = list(islice(indices, batch_size))

    return batches()


@batch_sampler.mistake()
def length_needed(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    """len(sampler) exists for lists and for most samplers of torch, not for a generator or a stream."""
    full, rest = divmod(len(sampler), batch_size)
    indices = iter(sampler)
    for _ in range(full):
        yield list(islice(indices, batch_size))
    if rest and not drop_last:
        yield list(indices)


@batch_sampler.mistake()
def sampler_sliced(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    """A sampler can be iterated; sampler[start:stop] works for a list and for little else."""
    for start in count(0, batch_size):
        batch = list(sampler[start : start + batch_size])
        if not batch or (drop_last and len(batch) < batch_size):
            return
        yield batch


@batch_sampler.mistake()
def next_of_an_iterable(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    """next() takes an iterator. A list, a range or a Sampler is an iterable, and needs iter() first."""
    while True:
        batch = []
        for _ in range(batch_size):
            try:
                batch.append(next(sampler))
            except StopIteration:
                if batch and not drop_last:
                    yield batch
                return
        yield batch


@batch_sampler.mistake()
def begun_again_for_each_batch(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Each islice(sampler, ...) begins a new iteration of the list: the first batch comes for ever. Take one
    iter(sampler) before the loop.
    """
    while batch := list(islice(sampler, batch_size)):
        if len(batch) == batch_size or not drop_last:
            yield batch
        else:
            return


@batch_sampler.variant(begun_again_for_each_batch)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    while batch := list(islice(sampler, batch_size)):
        if len(batch) < batch_size and drop_last:
            return
        yield batch


@batch_sampler.mistake()
def gone_through_twice(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The indices were counted first, in an iteration of their own. A generator is then empty, and a
    RandomSampler draws a second order.
    """
    total = sum(1 for _ in sampler)
    most = total - total % batch_size if drop_last else total
    yield from in_batches(islice(sampler, most), batch_size, False)


@batch_sampler.mistake()
def stop_iteration_inside(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """A StopIteration that leaves the body of a generator becomes a RuntimeError since Python 3.7, and the
    indices before it are lost. Catch it, or let a `for` do so.
    """
    indices = iter(sampler)
    while True:
        yield [next(indices) for _ in range(batch_size)]


@batch_sampler.variant(stop_iteration_inside)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    indices = iter(sampler)
    while True:
        batch = []
        for _ in range(batch_size):
            batch.append(next(indices))
        yield batch


@batch_sampler.mistake()
def error_taken_for_the_end(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """`except Exception` takes every error for the end of the sampler, and training goes on with half of the
    data.
    """
    indices = iter(sampler)
    while True:
        batch: list[int] = []
        try:
            while len(batch) < batch_size:
                batch.append(next(indices))
        except Exception:
            if batch and not drop_last:
                yield batch
            return
        yield batch


@batch_sampler.mistake()
def sampler_emptied(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    """pop takes the indices out of the caller's own list: there is nothing left for the second epoch."""
    while sampler:
        batch = [sampler.pop(0) for _ in range(min(batch_size, len(sampler)))]
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.mistake()
def calls_batch_sampler(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """It works, and shows nothing: BatchSampler is what this exercise takes apart. The loop has six lines."""
    return iter(BatchSampler(sampler, batch_size, drop_last))


@batch_sampler.variant(calls_batch_sampler)
def _(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    yield from DataLoader(
        _Indices(),
        sampler=sampler,
        batch_size=batch_size,
        drop_last=drop_last,
        collate_fn=lambda batch: batch,
    )


class _Indices(torch.utils.data.Dataset):
    def __getitem__(self, index: Any) -> Any:
        return index
