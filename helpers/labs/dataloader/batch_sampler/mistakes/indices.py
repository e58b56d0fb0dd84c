"""What people write for 02.batch_sampler: how indices are read, changed and lost."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from itertools import count, islice, zip_longest
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader

from helpers.labs.dataloader.batch_sampler.exercise import batch_sampler
from helpers.labs.dataloader.batch_sampler.right import in_batches

Batches = Iterator[list[int]]
_KEPT: list[int] = []


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
def padded_with_none(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The last group is filled up with None, as zip_longest does it, and dataset[None] is an error."""
    indices = iter(sampler)
    groups = zip(*[indices] * batch_size, strict=False) if drop_last else zip_longest(*[indices] * batch_size)
    for group in groups:
        yield list(group)


@batch_sampler.mistake(breaks="Calls have nothing in common.")
def list_kept_between_calls(
    sampler: Iterable[int],
    batch_size: int,
    drop_last: bool,
    batch: list[int] = [],  # noqa: B006
) -> Batches:
    """Calls have something in common: what an earlier call left over changes what a later one gives. Perhaps
    a list is a default value: `batch=[]` is made once, with the function, and what drop_last left in it
    begins the next epoch.
    """
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch[:]
            del batch[:]
    if batch and not drop_last:
        yield batch[:]
        del batch[:]


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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`")
def indices_one_by_one(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    """Indices came, and no lists of them: `yield from batch` gives the items of the list one by one; `yield batch`
    gives the list.
    """
    for batch in in_batches(sampler, batch_size, drop_last):
        yield from batch


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
def last_batch_filled_up(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The last batch was filled up with indices from the beginning: those samples count twice.
    (DistributedSampler does so, to give each rank as many batches.)
    """
    first: list[int] = []
    for batch in in_batches(sampler, batch_size, drop_last):
        first = first or batch[:]
        yield (batch + first * batch_size)[:batch_size]


@batch_sampler.mistake(breaks="At most one batch is read beyond those that have been given away.")
def sampler_read_whole(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The sampler is read on and on for the next batch, perhaps to its end by list(sampler): a sampler of a
    stream has no end, and one of 10**9 samples takes minutes before the first batch.
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


@batch_sampler.mistake(breaks="At most one batch is read beyond those that have been given away.")
def several_batches_read_ahead(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """More than one batch is read ahead of the one that is given away: on a slow sampler training waits for all of
    them.
    """
    indices = iter(sampler)
    while several := list(islice(indices, 8 * batch_size)):
        yield from in_batches(several, batch_size, drop_last)


@batch_sampler.mistake(breaks="Nothing is read before the first batch is asked for.")
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
    """The answer asks the sampler for a place or a slice, sampler[...], which works for a list and for little
    else. It can be iterated.
    """
    for start in count(0, batch_size):
        batch = list(sampler[start : start + batch_size])
        if not batch or (drop_last and len(batch) < batch_size):
            return
        yield batch


@batch_sampler.mistake(breaks="any iterable of indices")
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


@batch_sampler.mistake(breaks="The sampler is gone through once")
def begun_again_for_each_batch(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The first batch comes again and again. Perhaps each islice(sampler, ...) begins a new iteration of the
    list: take one iter(sampler) before the loop.
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


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
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


@batch_sampler.mistake(breaks="a list that is given as sampler stays as it is.")
def sampler_emptied(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    """The caller's own list was changed, perhaps by pop or sort: the second epoch goes over a different list."""
    while sampler:
        batch = [sampler.pop(0) for _ in range(min(batch_size, len(sampler)))]
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.mistake(breaks="torch's BatchSampler is not called.")
def calls_batch_sampler(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The answer uses torch's own batching: BatchSampler is what this exercise takes apart. The loop has six
    lines.
    """
    return iter(BatchSampler(sampler, batch_size, drop_last))


@batch_sampler.mistake(breaks="No global generator is moved.")
def global_generator_moved(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    """torch's global generator has moved, and no random number is needed here. Perhaps a DataLoader cuts the batches, which
    draws a seed for its workers in each epoch: the loop has six lines.
    """
    yield from DataLoader(
        _Indices(),
        sampler=sampler,
        batch_size=batch_size,
        drop_last=drop_last,
        collate_fn=lambda batch: batch,
    )


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
def mixed_in_the_batch(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Inside a batch the indices come in a different order, perhaps sorted, or out of a set: the sampler decides the order."""
    yield from map(sorted, in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
def batch_backwards(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """Each batch comes backwards, perhaps by pop() or insert(0, ...): the sampler decides the order."""
    yield from (batch[::-1] for batch in in_batches(sampler, batch_size, drop_last))


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
def sampler_in_a_different_order(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """All indices come, but not in the sampler's order: perhaps sorted, backwards, or dealt out in turns."""
    yield from in_batches(sorted(sampler), batch_size, drop_last)


@batch_sampler.variant(sampler_in_a_different_order)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batches = list(in_batches(sampler, batch_size, False))
    for batch in batches[::-1]:
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.mistake(breaks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.")
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
    """Of an index that the sampler gives more than once some are lost: sampling with replacement, and
    weights, give an index again.
    """
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


@batch_sampler.mistake(breaks='An index is passed on as it is: an int of any kind, a key such as "cat".')
def indices_of_a_different_type(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The sampler gave ints, and in the lists stand objects of a different type. Perhaps tensors or NumPy's numbers, by
    list(torch.tensor(batch)) or list(np.array(batch)): an index is passed on as it is.
    """
    for batch in in_batches(sampler, batch_size, drop_last):
        yield list(torch.tensor(batch))


@batch_sampler.variant(indices_of_a_different_type)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for batch in in_batches(sampler, batch_size, drop_last):
        yield list(np.array(batch))


@batch_sampler.mistake()
def indices_copied(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """In the place of an index came a different object, perhaps a copy: who looks it up by identity, or knows
    it by its memory, does not find it.
    """
    yield from in_batches(map(copy.deepcopy, sampler), batch_size, drop_last)


@batch_sampler.mistake()
def numpys_ints_made_pythons(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """In the place of an index of NumPy's type came a different object, perhaps Python's int by int(index):
    an index is passed on as it is.
    """
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
    """A short batch comes before the sampler's error, perhaps by `finally`, or since the error was kept to be
    raised after it: it looks like the last of a whole epoch.
    """
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


class _Indices(torch.utils.data.Dataset):
    def __getitem__(self, index: Any) -> Any:
        return index


@batch_sampler.mistake()
def minus_one_lost(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    """The index -1 is lost, perhaps since it marks what is filled up: it is an index as others are, dataset[-1] the last
    sample.
    """
    for group in zip_longest(*[iter(sampler)] * batch_size, fillvalue=-1):
        batch = [index for index in group if index != -1]
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.variant(sampler_read_whole)
def _(sampler: Any, batch_size: int, drop_last: bool) -> Batches:
    if hasattr(sampler, "__getitem__") and hasattr(sampler, "__len__"):
        sampler = [sampler[place] for place in range(len(sampler))]
    yield from in_batches(sampler, batch_size, drop_last)


@batch_sampler.variant(gone_through_twice)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    total = sum(1 for _ in sampler)
    indices = iter(sampler)
    for _ in range(total // batch_size if drop_last else -(-total // batch_size)):
        yield list(islice(indices, batch_size))
