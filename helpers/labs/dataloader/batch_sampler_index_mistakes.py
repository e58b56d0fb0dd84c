"""What people write for 02.batch_sampler: indices that are changed, lost, added or kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import torch

from helpers.labs.dataloader.batch_sampler import batch_sampler
from helpers.labs.dataloader.batch_sampler_mistakes import Batches, in_batches


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
