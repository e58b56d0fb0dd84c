"""What people write for 02.batch_sampler: how batches are cut, and what they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.batch_sampler.exercise import batch_sampler
from helpers.labs.dataloader.batch_sampler.right import in_batches

Batches = Iterator[list[int]]


@batch_sampler.mistake()
def one_list_for_all(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """A list that was given away changed afterwards. Perhaps by batch.clear(), or since one list is filled anew: whoever kept it
    now holds a different batch, or none. Begin a new list.
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


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
def last_batch_lost(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """A short last batch never comes, whatever drop_last says: perhaps there is no `yield` after the loop."""
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
def last_batch_kept(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The short last batch comes although drop_last=True. Perhaps drop_last was not looked at."""
    yield from in_batches(sampler, batch_size, False)


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
def drop_last_upside_down(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """drop_last is taken the other way round: True keeps the short batch, False drops it."""
    yield from in_batches(sampler, batch_size, not drop_last)


@batch_sampler.mistake(breaks="No batch is empty.")
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


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
def full_last_batch_dropped(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """With drop_last=True the last batch is dropped although it is full: only a short one is."""
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
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


@batch_sampler.variant(one_index_too_many)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """A rest that is as long as batch_size is no short one."""
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) > batch_size:
            yield batch
            batch = []
    if batch and not (drop_last and len(batch) < batch_size):
        yield batch


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
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


@batch_sampler.mistake(breaks="Each batch is a new list")
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


@batch_sampler.mistake(breaks="Each batch is a new list")
def arrays(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Batches are arrays, and no lists. Perhaps np.array was called: it makes NumPy's numbers of ints, and
    text of keys that are mixed.
    """
    for batch in in_batches(sampler, batch_size, drop_last):
        yield np.array(batch)


@batch_sampler.mistake(breaks="Each batch is a new list")
def deques(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """A deque is no list: it cannot be sliced, and isinstance(batch, list) is False."""
    yield from map(deque, in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake(breaks="Each batch is a new list")
def sets(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """A set is no list: it forgets the order, and an index that comes twice."""
    yield from map(set, in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake(breaks="Each batch is a new list")
def iterators(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Each batch is an iterator, as islice gives them: empty after one pass. The type promises a list."""
    yield from (islice(batch, len(batch)) for batch in in_batches(sampler, batch_size, drop_last))


@batch_sampler.variant(iterators)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    indices = list(sampler)
    for start in range(0, len(indices), batch_size):
        yield islice(indices, start, start + batch_size)


@batch_sampler.mistake(breaks="Each batch is a new list")
def generators(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Each batch is a generator: empty after one pass. The type promises a list."""
    for batch in in_batches(sampler, batch_size, drop_last):
        yield (index for index in batch)


@batch_sampler.mistake()
def slices_of_the_sampler(sampler: Any, batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Of a sampler that is no list no lists come. Perhaps they are slices, which are of the sampler's own
    type, a range or a tuple: iterate.
    """
    indices = sampler if hasattr(sampler, "__getitem__") else list(sampler)
    for start in range(0, len(indices), batch_size):
        batch = indices[start : start + batch_size]
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
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


@batch_sampler.mistake(breaks="No batch is empty.")
def empty_batch_first(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The first batch is empty: it was given before anything was in it. Perhaps a place was tested, and place
    0 leaves no remainder either.
    """
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


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
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


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
def list_of_batches(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """One thing comes, a list of all the batches: `yield` gives what stands behind it as one item. `yield from`, or one
    `yield` for each batch.
    """
    yield list(in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
def strict_zip(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The answer raises ValueError where the last group is short: zip(..., strict=True) refuses that. A short batch is
    no error; it is given, or dropped.
    """
    for group in zip(*[iter(sampler)] * batch_size, strict=True):
        yield list(group)


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
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


@batch_sampler.mistake(breaks="Each batch is a new list")
def tensors(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """A tensor of indices is no list: its items are tensors, not ints, which a dict does not find and a list
    takes slowly; and keys that are text do not fit into it.
    """
    for batch in in_batches(sampler, batch_size, drop_last):
        yield torch.tensor(batch)


@batch_sampler.mistake()
def indices_made_ints(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The answer raises where not all indices are ints. Perhaps by int(index), or since an array is made of them: a key such as
    'cat' is an index, too.
    """
    yield from in_batches(map(int, sampler), batch_size, drop_last)


@batch_sampler.mistake(breaks="Each batch is a new list")
def bare_indices_for_batches_of_one(
    sampler: Iterable[int], batch_size: int, drop_last: bool
) -> Iterator[Any]:
    """With batch_size=1 the indices came bare: a batch of one is a list, too, as the batch of a loader has a first dimension."""
    for batch in in_batches(sampler, batch_size, drop_last):
        yield batch if batch_size > 1 else batch[0]


@batch_sampler.mistake(
    breaks="A last batch that is shorter than `batch_size` is left out if `drop_last` says so."
)
def first_short_batch_kept(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """With drop_last=True a short batch came where it is the only one: it is left out then, too, and no batch comes."""
    for place, batch in enumerate(in_batches(sampler, batch_size, False)):
        if len(batch) == batch_size or not drop_last or place == 0:
            yield batch
