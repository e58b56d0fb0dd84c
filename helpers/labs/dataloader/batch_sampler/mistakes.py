"""What people write for 02.batch_sampler, and why it is wrong."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count, islice, zip_longest
from typing import Any

import numpy as np
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
    """A list that was given away changed afterwards, perhaps by batch.clear(): whoever kept it now holds a different
    batch, or none. Begin a new list.
    """
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
    """A short last batch never comes, whatever drop_last says: perhaps there is no `yield` after the loop."""
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
    """Where batch_size divides the number of indices nothing is left over, and an empty list is given at the end:
    collate then fails on a batch without samples.
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
    """An index is lost between two batches: perhaps the one that finds the list full, which is neither in the batch
    that goes nor in the next one.
    """
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
    """Each batch holds one index more than batch_size. Perhaps the length was tested with >, or counted from 0."""
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
    """The first index alone fills a batch. Perhaps its place was tested, and place 0 leaves no remainder either:
    count from 1, or test the length of the list.
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
    """A batch is a tuple, as zip gives them. Dataset.__getitems__ and many a user's code expect the list that the
    type promises; NumPy and torch take a tuple as an index for several dimensions.
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


@batch_sampler.mistake()
def arrays(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """An array of indices is no list: its items are NumPy's numbers, and keys that are text change their type in it."""
    for batch in in_batches(sampler, batch_size, drop_last):
        yield np.array(batch)


@batch_sampler.mistake()
def deques(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """A deque is no list: it cannot be sliced, and isinstance(batch, list) is False."""
    yield from map(deque, in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake()
def sets(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """A set is no list: it forgets the order, and an index that comes twice."""
    yield from map(set, in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake()
def iterators(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Each batch is an iterator, as islice gives them: empty after one pass. The type promises a list."""
    yield from (islice(batch, len(batch)) for batch in in_batches(sampler, batch_size, drop_last))


@batch_sampler.variant(iterators)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    indices = list(sampler)
    for start in range(0, len(indices), batch_size):
        yield islice(indices, start, start + batch_size)


@batch_sampler.mistake()
def generators(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Each batch is a generator: empty after one pass. The type promises a list."""
    for batch in in_batches(sampler, batch_size, drop_last):
        yield (index for index in batch)


@batch_sampler.mistake()
def slices_of_the_sampler(sampler: Any, batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Of a sampler that is no list no lists come: a slice is of the sampler's own type, a range or a tuple. Iterate."""
    indices = sampler if hasattr(sampler, "__getitem__") else list(sampler)
    for start in range(0, len(indices), batch_size):
        batch = indices[start : start + batch_size]
        if len(batch) == batch_size or not drop_last:
            yield batch


# When a batch is given, and what becomes of the list.


@batch_sampler.mistake()
def never_emptied(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The second batch still holds the indices of the first. After `yield batch` a new list must begin."""
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
    if batch and not drop_last:
        yield batch


@batch_sampler.variant(never_emptied)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) >= batch_size:
            yield list(batch)
    if batch and not drop_last:
        yield list(batch)


@batch_sampler.variant(never_emptied)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for place, index in enumerate(sampler, 1):
        batch.append(index)
        if place % batch_size == 0:
            yield list(batch)
    if len(batch) % batch_size and not drop_last:
        yield list(batch)


@batch_sampler.variant(never_emptied)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for place, index in enumerate(sampler, 1):
        batch.append(index)
        if place % batch_size == 0:
            yield list(batch)
    if batch and not drop_last:
        yield list(batch)


@batch_sampler.mistake()
def each_index_alone(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Each index became a batch of its own. Perhaps `yield` does not wait for the list to be full, since it stands
    outside of the `if`, or `not drop_last` stands in it.
    """
    for index in sampler:
        yield [index]


@batch_sampler.variant(each_index_alone)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size or not drop_last:
            yield batch
            batch = []


@batch_sampler.variant(each_index_alone)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size or drop_last:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.mistake()
def one_index_too_few(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Batches hold one index less than batch_size, and with batch_size = 1 it goes wrong altogether. Perhaps the length
    is tested before the index is appended, or against batch_size - 1.
    """
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size - 1:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.variant(one_index_too_few)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) >= batch_size - 1:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.mistake()
def empty_batch_first(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The first batch is empty: the list was given before anything was in it. Place 0 leaves no remainder either."""
    batch: list[int] = []
    for place, index in enumerate(sampler):
        if place % batch_size == 0:
            yield batch
            batch = []
        batch.append(index)
    if batch and not drop_last:
        yield batch


@batch_sampler.variant(empty_batch_first)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for place, index in enumerate(sampler):
        if place % batch_size == 0:
            yield batch
            batch = []
        batch.append(index)
    if len(batch) == batch_size or (batch and not drop_last):
        yield batch


@batch_sampler.mistake()
def either_condition_gives_the_rest(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The short batch comes although drop_last=True, and without drop_last an empty one: as if either condition were
    enough. Both must hold: `batch and not drop_last`.
    """
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch or not drop_last:
        yield batch


@batch_sampler.mistake()
def rest_given_always(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """What is left at the end is given whatever it is: short although drop_last=True, and empty where batch_size
    divides the number of indices.
    """
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    yield batch


@batch_sampler.mistake()
def overlapping(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """A window slides over the indices, one place further each time: each index comes in several batches."""
    batch: deque[int] = deque(maxlen=batch_size)
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield list(batch)
    if 0 < len(batch) < batch_size and not drop_last:
        yield list(batch)


@batch_sampler.variant(overlapping)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    indices = list(sampler)
    for start in range(len(indices)):
        batch = indices[start : start + batch_size]
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.mistake()
def list_of_batches(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """One thing comes, a list of all the batches: `yield` gives what stands behind it as one item. `yield from`, or one
    `yield` for each batch.
    """
    yield list(in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake()
def strict_zip(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The answer raises ValueError where the last group is short: zip(..., strict=True) refuses that. A short batch is
    no error; it is given, or dropped.
    """
    for group in zip(*[iter(sampler)] * batch_size, strict=True):
        yield list(group)


@batch_sampler.mistake()
def short_batch_joined(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The short rest was put into the batch before it, which is now too long: it is a batch of its own."""
    before: list[int] = []
    for batch in in_batches(sampler, batch_size, drop_last):
        if len(batch) < batch_size:
            before += batch
        else:
            if before:
                yield before
            before = batch
    if before:
        yield before


# The order, and indices that are changed, lost, added or kept.


@batch_sampler.mistake()
def tensors(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """A tensor of indices is no list: its items are tensors, not ints, which a dict does not find and a list
    takes slowly; and keys that are text do not fit into it.
    """
    for batch in in_batches(sampler, batch_size, drop_last):
        yield torch.tensor(batch)


@batch_sampler.mistake()
def indices_made_ints(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The answer raises for indices that are not ints, perhaps by int(index): a key such as 'cat' is an index, too."""
    yield from in_batches(map(int, sampler), batch_size, drop_last)


@batch_sampler.mistake()
def index_zero_lost(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Index 0 is lost, perhaps by `if index`, which is false for 0 (and for the key ''): sample 0 is never trained on."""
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
    """The last group is filled up with None, as zip_longest does it, and dataset[None] is an error."""
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
    """Indices of an earlier call come again: a list outlives the call. A default value `batch=[]` is made once, with
    the function, and what drop_last left in it begins the next epoch.
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
    """Not batches came but the indices of the first one. `return` ends the function with its first batch; `yield`
    gives it away and goes on when the next one is asked for.
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
    """Indices came, and no lists of them: `yield from batch` gives the items of the list one by one; `yield batch`
    gives the list.
    """
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
    """The sampler is read to its end before a batch is given, perhaps by list(sampler): a sampler of a stream has no end,
    and one of 10**9 samples takes minutes before the first batch.
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
    """More than one batch is read ahead of the one that is given away: on a slow sampler training waits for all of
    them.
    """
    indices = iter(sampler)
    while several := list(islice(indices, 8 * batch_size)):
        yield from in_batches(several, batch_size, drop_last)


@batch_sampler.mistake()
def begun_at_the_call(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Indices are read when the function is called, before a batch is asked for. A generator function runs nothing
    before the first next().
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
    """The answer asks for len(sampler), which exists for lists and for most samplers of torch, not for a generator or a
    stream.
    """
    full, rest = divmod(len(sampler), batch_size)
    indices = iter(sampler)
    for _ in range(full):
        yield list(islice(indices, batch_size))
    if rest and not drop_last:
        yield list(indices)


@batch_sampler.mistake()
def sampler_sliced(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    """The answer slices the sampler: sampler[start:stop] works for a list and for little else. It can be iterated."""
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
    """The first batch comes again and again: each islice(sampler, ...) begins a new iteration of the list. Take one
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
    """The sampler was gone through more than once, perhaps to count the indices. A generator is empty the second
    time, and a RandomSampler draws a second order.
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
    """An error of the sampler was taken for its end, perhaps by an `except` that is too wide: training goes on with
    half of the data.
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
    """The caller's own list was changed, perhaps by pop: there is nothing left for the second epoch."""
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


# Order, copies, errors.


@batch_sampler.mistake()
def mixed_in_the_batch(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Inside a batch the indices come in a different order, perhaps sorted, or out of a set: the sampler decides the order."""
    yield from map(sorted, in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake()
def batch_backwards(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Each batch comes backwards, perhaps by pop() or insert(0, ...): the sampler decides the order."""
    yield from (batch[::-1] for batch in in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake()
def sampler_in_a_different_order(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """All indices come, but not in the sampler's order: perhaps sorted, backwards, or dealt out in turns."""
    yield from in_batches(sorted(sampler), batch_size, drop_last)


@batch_sampler.variant(sampler_in_a_different_order)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batches = list(in_batches(sampler, batch_size, False))
    for batch in batches[::-1]:
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.mistake()
def zero_taken_for_the_end(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Index 0 ends the epoch, as if nothing came after it: it is false, as None is. Perhaps `while index := next(...)`."""
    indices, batch = iter(sampler), []
    while index := next(indices, None):
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.mistake()
def twice_is_once(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """An index that the sampler gives twice comes once: sampling with replacement, and weights, give an index again."""
    batch: list[int] = []
    for index in sampler:
        if index not in batch:
            batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.variant(twice_is_once)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    yield from in_batches(dict.fromkeys(sampler), batch_size, drop_last)


@batch_sampler.mistake()
def indices_copied(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """A copy of an index came: who looks it up by identity, or knows it by its memory, does not find it."""
    yield from in_batches(map(copy.deepcopy, sampler), batch_size, drop_last)


@batch_sampler.mistake()
def numpys_ints_made_pythons(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """An index of NumPy's type came as Python's int: an index is passed on as it is."""
    items = (index.item() if hasattr(index, "item") else index for index in sampler)
    yield from in_batches(items, batch_size, drop_last)


@batch_sampler.variant(numpys_ints_made_pythons)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    items = (int(index) if isinstance(index, np.integer) else index for index in sampler)
    yield from in_batches(items, batch_size, drop_last)


@batch_sampler.mistake()
def different_error(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The sampler's error was replaced by a different one: who catches the sampler's never sees it. Let it through."""
    indices = iter(sampler)
    while True:
        try:
            batch = list(islice(indices, batch_size))
        except Exception as error:
            raise RuntimeError("the sampler failed") from error
        if not batch or (drop_last and len(batch) < batch_size):
            return
        yield batch


@batch_sampler.mistake()
def short_batch_before_the_error(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """A short batch comes before the sampler's error, perhaps by `finally`: it looks like the last of a whole epoch."""
    batch: list[int] = []
    try:
        for index in sampler:
            batch.append(index)
            if len(batch) == batch_size:
                yield batch
                batch = []
    finally:
        if batch and not drop_last:
            yield batch
