"""What people write for 02.shard: what becomes of an item, and of an error."""

from __future__ import annotations

import contextlib
import copy
from itertools import islice, zip_longest
from typing import Any

import torch
from torch.utils.data import get_worker_info

from helpers.labs.dataloader.shard.exercise import shard
from helpers.labs.dataloader.shard.mistakes.parts import id_and_workers


@shard.mistake()
def numbered(dataset: Any) -> Any:
    """Tuples came where items are wanted, perhaps an item with its number, as enumerate gives it: the item
    alone is wanted.
    """
    id, workers = id_and_workers()
    return (pair for pair in enumerate(dataset) if pair[0] % workers == id)


@shard.mistake()
def lists(dataset: Any) -> Any:
    """Lists came where items are wanted, perhaps by `yield [item]`, or a slice of a round."""
    id, workers = id_and_workers()
    return ([item] for place, item in enumerate(dataset) if place % workers == id)


@shard.mistake()
def none_for_the_others(dataset: Any) -> Any:
    """For the items of the other workers None came: they are to be left out."""
    info = get_worker_info()
    for place, item in enumerate(dataset):
        yield item if info is None or place % info.num_workers == info.id else None


@shard.mistake()
def false_items_lost(dataset: Any) -> Any:
    """Items that are false (0, None, an empty list) are lost: the place decides, not the item."""
    id, workers = id_and_workers()
    return (item for place, item in enumerate(dataset) if place % workers == id and item)


@shard.mistake(breaks="An item may be anything")
def none_lost(dataset: Any) -> Any:
    """An item that is None is lost, perhaps left out as one that could not be read: the place decides, not the item."""
    id, workers = id_and_workers()
    return (item for place, item in enumerate(dataset) if place % workers == id and item is not None)


@shard.mistake()
def equal_items_once(dataset: Any) -> Any:
    """Items that equal an earlier one are lost, all of them or some: each is an item of its own, and its place decides."""
    id, workers = id_and_workers()
    seen: list[Any] = []
    for item in dataset:
        if item not in seen:
            seen.append(item)
            if (len(seen) - 1) % workers == id:
                yield item


@shard.mistake(breaks="An item may be anything")
def items_compared(dataset: Any) -> Any:
    """An array or tensor of several elements raised. Perhaps an item was compared with something by `==`, to find the end of the
    stream: what `==` gives for arrays has no truth value. `is` compares objects, and looks into none.
    """
    id, workers = id_and_workers()
    end, items = object(), iter(dataset)
    for _ in range(id):
        next(items, end)
    while not (item := next(items, end)) == end:
        yield item
        for _ in range(workers - 1):
            next(items, end)


@shard.variant(items_compared)
def _(dataset: Any) -> Any:
    """In rounds, the last one filled up."""
    id, workers = id_and_workers()
    for items in zip_longest(*[iter(dataset)] * workers, fillvalue="__end__"):
        if items[id] != "__end__":
            yield items[id]


@shard.mistake()
def error_taken_for_the_end(dataset: Any) -> Any:
    """An error of the stream was taken for its end: the epoch looks finished, and is not."""
    id, workers = id_and_workers()
    with contextlib.suppress(Exception):
        yield from islice(dataset, id, None, workers)


@shard.mistake()
def different_error(dataset: Any) -> Any:
    """The stream's error was replaced by a different one: who catches the stream's never sees it."""
    id, workers = id_and_workers()
    try:
        yield from islice(dataset, id, None, workers)
    except Exception as error:
        raise RuntimeError("the stream failed") from error


@shard.mistake(breaks="An item may be anything")
def items_must_be_hashable(dataset: Any) -> Any:
    """Items that cannot be hashed raise, perhaps since they are put into a set: an item may be a list or a dict."""
    id, workers = id_and_workers()
    seen: set[Any] = set()
    for item in dataset:
        if item not in seen:
            seen.add(item)
            if (len(seen) - 1) % workers == id:
                yield item


@shard.mistake()
def none_taken_for_the_end(dataset: Any) -> Any:
    """An item that is None ended the stream, and what follows it is lost: perhaps next(items, None) is compared with None.
    A default of its own, object(), is no item.
    """
    id, workers = id_and_workers()
    items, place = iter(dataset), 0
    while (item := next(items, None)) is not None:
        if place % workers == id:
            yield item
        place += 1


@shard.variant(none_taken_for_the_end)
def _(dataset: Any) -> Any:
    info = get_worker_info()
    if info is None:
        yield from dataset
        return
    items, place = iter(dataset), 0
    while (item := next(items, None)) is not None:
        if place % info.num_workers == info.id:
            yield item
        place += 1


@shard.mistake()
def false_item_taken_for_the_end(dataset: Any) -> Any:
    """An item that is false (0, None, an empty list) ended the stream, and what follows it is lost: perhaps
    `while item := next(...)`.
    """
    id, workers = id_and_workers()
    items, place = iter(dataset), 0
    while item := next(items, None):
        if place % workers == id:
            yield item
        place += 1


@shard.mistake()
def items_copied(dataset: Any) -> Any:
    """Copies of items came: that takes time and memory, and whoever knows an item by its identity does not find it."""
    id, workers = id_and_workers()
    return map(copy.deepcopy, islice(dataset, id, None, workers))


@shard.variant(equal_items_once)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    last = object()
    for place, item in enumerate(dataset):
        if place % workers == id:
            if item is not last:
                yield item
            last = item


@shard.mistake(breaks="and is passed on as it is")
def made_tensors(dataset: Any) -> Any:
    """Numbers, truth values and lists came as tensors. Perhaps by torch.as_tensor: that is for collate, later."""
    id, workers = id_and_workers()
    for item in islice(dataset, id, None, workers):
        yield torch.as_tensor(item) if isinstance(item, int | float | list) else item
