"""What people write for 02.batch_sampler: batches that are wrong in size, kind or content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from helpers.labs.dataloader.batch_sampler import batch_sampler

Batches = Iterator[list[int]]


def in_batches(sampler: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    """The batches that are right."""
    indices = iter(sampler)
    while batch := list(islice(indices, batch_size)):
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.mistake()
def one_list_for_all(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """batch.clear() empties the list that was given away: whoever kept it now holds another batch, or none."""
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch.clear()
    if batch and not drop_last:
        yield batch


@batch_sampler.variant(one_list_for_all)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch = [0] * batch_size
    filled = 0
    for index in sampler:
        batch[filled] = index
        filled += 1
        if filled == batch_size:
            yield batch
            filled = 0
            if len(batch) != batch_size:
                batch += [0] * batch_size
    if filled and not drop_last:
        yield batch[:filled]


@batch_sampler.mistake()
def last_batch_lost(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """After the loop the list may still hold indices; without a `yield` there they are never seen, whatever
    drop_last says.
    """
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []


@batch_sampler.mistake()
def last_batch_kept(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """drop_last was not looked at: the short batch comes although it was to be dropped."""
    yield from in_batches(sampler, batch_size, False)


@batch_sampler.mistake()
def drop_last_upside_down(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """drop_last is taken the other way round: True keeps the short batch, False drops it."""
    yield from in_batches(sampler, batch_size, not drop_last)


@batch_sampler.mistake()
def empty_batch_at_the_end(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Where batch_size divides the number of indices nothing is left over, and the list that is given after
    the loop is empty: collate then fails on a batch without samples.
    """
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if not drop_last:
        yield batch


@batch_sampler.mistake()
def full_last_batch_dropped(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """drop_last drops a last batch that is short. This drops the last batch always, a full one, too."""
    batch: list[int] = []
    for index in sampler:
        if len(batch) == batch_size:
            yield batch
            batch = []
        batch.append(index)
    if batch and not drop_last:
        yield batch


@batch_sampler.variant(full_last_batch_dropped)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batches = list(in_batches(sampler, batch_size, False))
    yield from batches[:-1] if drop_last else batches


@batch_sampler.mistake()
def index_lost_between_batches(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The index that finds the list full is neither in the batch that goes nor in the next one."""
    batch: list[int] = []
    for index in sampler:
        if len(batch) == batch_size:
            yield batch
            batch = []
        else:
            batch.append(index)
    if len(batch) == batch_size or (batch and not drop_last):
        yield batch


@batch_sampler.variant(index_lost_between_batches)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        if len(batch) < batch_size:
            batch.append(index)
        else:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.mistake()
def one_index_too_many(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The length was tested with > (or at an index that starts from 0): each batch holds one index more than
    batch_size.
    """
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) > batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.mistake()
def first_batch_alone(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The first index alone fills a batch: place 0 leaves no remainder either. Count from 1, or test the
    length of the list.
    """
    batch: list[int] = []
    for place, index in enumerate(sampler):
        batch.append(index)
        if place % batch_size == 0:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.mistake()
def tuples(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """zip gives tuples. Dataset.__getitems__ and many a user's code expect the list that the type promises;
    NumPy and torch take a tuple as an index for several dimensions.
    """
    for batch in in_batches(sampler, batch_size, drop_last):
        yield tuple(batch)


@batch_sampler.variant(tuples)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    indices = iter(sampler)
    while batch := tuple(islice(indices, batch_size)):
        if drop_last and len(batch) < batch_size:
            return
        yield batch
