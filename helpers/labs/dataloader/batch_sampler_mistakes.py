"""What people write for 02.batch_sampler: batches that are wrong in size, kind or content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from typing import Any

import torch

from helpers.labs.dataloader.batch_sampler import batch_sampler

Batches = Iterator[list[int]]


def in_batches(sampler: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    """The batches that are right."""
    indices = iter(sampler)
    while batch := list(islice(indices, batch_size)):
        if len(batch) == batch_size or not drop_last:
            yield batch


@batch_sampler.wrong_answer(
    "one_list_for_all",
    why="batch.clear() empties the list that was given away: whoever kept it now holds another batch, or none.",
    seen="empties the list that was given away",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch.clear()
    if batch and not drop_last:
        yield batch


@batch_sampler.another_form("one_list_for_all")
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


@batch_sampler.wrong_answer(
    "last_batch_lost",
    why="After the loop the list may still hold indices; without a `yield` there they are never seen, whatever drop_last says.",
    seen="without a `yield` there",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []


@batch_sampler.wrong_answer(
    "last_batch_kept",
    why="drop_last was not looked at: the short batch comes although it was to be dropped.",
    seen="drop_last was not looked at",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    yield from in_batches(sampler, batch_size, False)


@batch_sampler.wrong_answer(
    "drop_last_upside_down",
    why="drop_last is taken the other way round: True keeps the short batch, False drops it.",
    seen="taken the other way round",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    yield from in_batches(sampler, batch_size, not drop_last)


@batch_sampler.wrong_answer(
    "empty_batch_at_the_end",
    why="Where batch_size divides the number of indices nothing is left over, and the list that is given after the loop is "
    "empty: collate then fails on a batch without samples.",
    seen="A batch is empty",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if not drop_last:
        yield batch


@batch_sampler.wrong_answer(
    "full_last_batch_dropped",
    why="drop_last drops a last batch that is short. This drops the last batch always, a full one, too.",
    seen="This drops the last batch always",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        if len(batch) == batch_size:
            yield batch
            batch = []
        batch.append(index)
    if batch and not drop_last:
        yield batch


@batch_sampler.another_form("full_last_batch_dropped")
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batches = list(in_batches(sampler, batch_size, False))
    yield from batches[:-1] if drop_last else batches


@batch_sampler.wrong_answer(
    "index_lost_between_batches",
    why="The index that finds the list full is neither in the batch that goes nor in the next one.",
    seen="The index that finds the list full",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        if len(batch) == batch_size:
            yield batch
            batch = []
        else:
            batch.append(index)
    if len(batch) == batch_size or (batch and not drop_last):
        yield batch


@batch_sampler.another_form("index_lost_between_batches")
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


@batch_sampler.wrong_answer(
    "one_index_too_many",
    why="The length was tested with > (or at an index that starts from 0): each batch holds one index more than batch_size.",
    seen="each batch holds one index more",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) > batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.wrong_answer(
    "first_batch_alone",
    why="The first index alone fills a batch: place 0 leaves no remainder either. Count from 1, or test the length of the list.",
    seen="place 0 leaves no remainder",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    batch: list[int] = []
    for place, index in enumerate(sampler):
        batch.append(index)
        if place % batch_size == 0:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.wrong_answer(
    "tuples",
    why="zip gives tuples. Dataset.__getitems__ and many a user's code expect the list that the type promises; NumPy and "
    "torch take a tuple as an index for several dimensions.",
    seen="zip gives tuples",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    for batch in in_batches(sampler, batch_size, drop_last):
        yield tuple(batch)


@batch_sampler.another_form("tuples")
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    indices = iter(sampler)
    while batch := tuple(islice(indices, batch_size)):
        if drop_last and len(batch) < batch_size:
            return
        yield batch


@batch_sampler.wrong_answer(
    "tensors",
    why="A tensor of indices is no list: its items are tensors, not ints, which a dict does not find and a list takes "
    "slowly; and keys that are text do not fit into it.",
    seen="A tensor of indices is no list",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    for batch in in_batches(sampler, batch_size, drop_last):
        yield torch.tensor(batch)


@batch_sampler.wrong_answer(
    "indices_made_ints",
    why="int(index) refuses keys such as 'cat', and cuts off what an index of another type knows.",
    seen="int(index) refuses keys",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    yield from in_batches(map(int, sampler), batch_size, drop_last)


@batch_sampler.wrong_answer(
    "index_zero_lost",
    why="`if index` is false for index 0 (and for the key ''): sample 0 is never trained on.",
    seen="sample 0 is never trained on",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    yield from in_batches(filter(None, sampler), batch_size, drop_last)


@batch_sampler.another_form("index_zero_lost")
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for group in zip_longest(*[iter(sampler)] * batch_size):
        batch = [index for index in group if index]
        if batch and (len(batch) == batch_size or not drop_last):
            yield batch


@batch_sampler.another_form("index_zero_lost")
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for group in zip_longest(*[iter(sampler)] * batch_size):
        if all(group) or not drop_last:
            yield [index for index in group if index]


@batch_sampler.wrong_answer(
    "none_taken_for_the_end",
    why="None marks an empty place here, but it can be an index, too: the sampler that DataLoader makes for an IterableDataset gives "
    "nothing else. A private object() marks a place safely.",
    seen="None marks an empty place here",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for group in zip_longest(*[iter(sampler)] * batch_size):
        batch = [index for index in group if index is not None]
        if len(batch) == batch_size or (batch and not drop_last):
            yield batch


@batch_sampler.another_form("none_taken_for_the_end")
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    indices, batch = iter(sampler), []
    while (index := next(indices, None)) is not None:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


@batch_sampler.another_form("none_taken_for_the_end")
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for group in zip_longest(*[iter(sampler)] * batch_size):
        if group[-1] is None and drop_last:
            return
        yield [index for index in group if index is not None]


@batch_sampler.wrong_answer(
    "padded_with_none",
    why="zip_longest fills the last group up with None, and dataset[None] is an error.",
    seen="zip_longest fills the last group up",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    indices = iter(sampler)
    groups = zip(*[indices] * batch_size, strict=False) if drop_last else zip_longest(*[indices] * batch_size)
    for group in groups:
        yield list(group)


@batch_sampler.wrong_answer(
    "list_kept_between_calls",
    why="A default value `batch=[]` is made once, with the function: what drop_last left in it begins the next epoch.",
    seen="begins the next epoch",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool, batch: list[int] = []) -> Batches:  # noqa: B006
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch[:]
            del batch[:]
    if batch and not drop_last:
        yield batch[:]
        del batch[:]


_KEPT: list[int] = []


@batch_sampler.another_form("list_kept_between_calls")
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    for index in sampler:
        _KEPT.append(index)
        if len(_KEPT) == batch_size:
            yield list(_KEPT)
            _KEPT.clear()
    if _KEPT and not drop_last:
        yield list(_KEPT)
    _KEPT.clear()


@batch_sampler.wrong_answer(
    "return_for_yield",
    why="`return` ends the function with its first batch; `yield` gives it away and goes on when the next one is asked for.",
    seen="ends the function with its first batch",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> list[int]:
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            return batch
    return [] if drop_last else batch


@batch_sampler.wrong_answer(
    "indices_one_by_one",
    why="`yield from batch` gives the items of the list one by one; `yield batch` gives the list.",
    seen="gives the items of the list one by one",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[Any]:
    for batch in in_batches(sampler, batch_size, drop_last):
        yield from batch


@batch_sampler.wrong_answer(
    "last_batch_filled_up",
    why="The last batch was filled up with indices from the beginning: those samples count twice. (DistributedSampler does "
    "so, to give each rank as many batches.)",
    seen="those samples count twice",
)
def _(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Batches:
    first: list[int] = []
    for batch in in_batches(sampler, batch_size, drop_last):
        first = first or batch[:]
        yield (batch + first * batch_size)[:batch_size]
