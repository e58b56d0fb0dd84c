"""What people write for 02.batch_sampler, and why it is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice, zip_longest
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader

from helpers.labs.dataloader.batch_sampler.exercise import batch_sampler

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


# Indices that are changed, lost, added or kept.


@batch_sampler.mistake()
def tensors(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """A tensor of indices is no list: its items are tensors, not ints, which a dict does not find and a list
    takes slowly; and keys that are text do not fit into it.
    """
    for batch in in_batches(sampler, batch_size, drop_last):
        yield torch.tensor(batch)


@batch_sampler.mistake()
def indices_made_ints(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """int(index) refuses keys such as 'cat', and cuts off what an index of another type knows."""
    yield from in_batches(map(int, sampler), batch_size, drop_last)


@batch_sampler.mistake()
def index_zero_lost(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """`if index` is false for index 0 (and for the key ''): sample 0 is never trained on."""
    yield from in_batches(filter(None, sampler), batch_size, drop_last)


@batch_sampler.variant(index_zero_lost)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for group in zip_longest(*[iter(sampler)] * batch_size):
        batch = [index for index in group if index]
        if batch and (len(batch) == batch_size or not drop_last):
            yield batch


@batch_sampler.variant(index_zero_lost)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for group in zip_longest(*[iter(sampler)] * batch_size):
        if all(group) or not drop_last:
            yield [index for index in group if index]


@batch_sampler.mistake()
def padded_with_none(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """zip_longest fills the last group up with None, and dataset[None] is an error."""
    indices = iter(sampler)
    groups = zip(*[indices] * batch_size, strict=False) if drop_last else zip_longest(*[indices] * batch_size)
    for group in groups:
        yield list(group)


@batch_sampler.mistake()
def list_kept_between_calls(
    sampler: Iterable[int],
    batch_size: int,
    drop_last: bool,
    batch: list[int] = [],  # noqa: B006
) -> Batches:
    """A default value `batch=[]` is made once, with the function: what drop_last left in it begins the next
    epoch.
    """
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch[:]
            del batch[:]
    if batch and not drop_last:
        yield batch[:]
        del batch[:]


_KEPT: list[int] = []


@batch_sampler.variant(list_kept_between_calls)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for index in sampler:
        _KEPT.append(index)
        if len(_KEPT) == batch_size:
            yield list(_KEPT)
            _KEPT.clear()
    if _KEPT and not drop_last:
        yield list(_KEPT)
    _KEPT.clear()


@batch_sampler.mistake()
def return_for_yield(sampler: Iterable[int], batch_size: int, drop_last: bool) -> list[int]:
    """`return` ends the function with its first batch; `yield` gives it away and goes on when the next one is
    asked for.
    """
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            return batch
    return [] if drop_last else batch


@batch_sampler.variant(return_for_yield)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> list[int] | None:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            return batch
    return batch if batch and not drop_last else None


@batch_sampler.variant(return_for_yield)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> list[int] | None:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            return batch
    return None if drop_last else batch


@batch_sampler.mistake()
def indices_one_by_one(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """`yield from batch` gives the items of the list one by one; `yield batch` gives the list."""
    for batch in in_batches(sampler, batch_size, drop_last):
        yield from batch


@batch_sampler.mistake()
def last_batch_filled_up(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The last batch was filled up with indices from the beginning: those samples count twice.
    (DistributedSampler does so, to give each rank as many batches.)
    """
    first: list[int] = []
    for batch in in_batches(sampler, batch_size, drop_last):
        first = first or batch[:]
        yield (batch + first * batch_size)[:batch_size]


# The sampler is read too far, too early, twice, or not as an iterable.


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
