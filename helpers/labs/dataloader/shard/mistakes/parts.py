"""What people write for 02.shard: how items are dealt out."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from itertools import count, islice, zip_longest
from typing import Any

import torch
from torch.utils.data import get_worker_info

from helpers.labs.dataloader.shard.exercise import shard


@shard.mistake()
def not_sharded(dataset: Any) -> Iterator[Any]:
    """Each worker gets every item of its own copy: with n workers each item comes n times, without a warning."""
    return iter(dataset)


@shard.mistake()
def by_rank_only(dataset: Any) -> Iterator[Any]:
    """All workers get the same items, and the rank decides which. The rank tells machines and GPUs apart, not
    the workers of one loader: all of them have the same rank.
    """
    if get_worker_info() is None:
        return iter(dataset)
    return islice(dataset, int(os.environ.get("RANK", 0)), None, int(os.environ.get("WORLD_SIZE", 1)))


@shard.variant(by_rank_only)
def _(dataset: Any) -> Iterator[Any]:
    if get_worker_info() is None or not torch.distributed.is_initialized():
        return iter(dataset)
    return islice(dataset, torch.distributed.get_rank(), None, torch.distributed.get_world_size())


@shard.mistake(breaks="Ranks are not looked at.")
def dealt_by_rank_too(dataset: Any) -> Iterator[Any]:
    """The part depends on the rank as well: right where each rank is to get its own part, and not what is asked here.
    Where the ranks' streams differ already, items are lost.
    """
    info = get_worker_info()
    id, workers = (info.id, info.num_workers) if info else (0, 1)
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    return islice(dataset, rank * workers + id, None, ranks * workers)


@shard.variant(dealt_by_rank_too)
def _(dataset: Any) -> Iterator[Any]:
    info = get_worker_info()
    id, workers = (info.id, info.num_workers) if info else (0, 1)
    if torch.distributed.is_initialized():
        id += torch.distributed.get_rank() * workers
        workers *= torch.distributed.get_world_size()
    return islice(dataset, id, None, workers)


@shard.mistake()
def worker_zero_takes_all(dataset: Any) -> Iterator[Any]:
    """Worker 0 gets the whole stream. Perhaps `if info and info.id`: that is false for worker 0, whose id is 0."""
    info = get_worker_info()
    if info is None or not info.id:
        return iter(dataset)
    return islice(dataset, info.id, None, info.num_workers)


@shard.mistake()
def start_lost(dataset: Any) -> Iterator[Any]:
    """All workers get the same items, perhaps since their slices begin at one place: the start is the worker's number."""
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, 0, None, info.num_workers)


@shard.mistake()
def counted_from_one(dataset: Any) -> Iterator[Any]:
    """Item 0 is nobody's, as if worker numbers started at 1: they start at 0."""
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.id + 1, None, info.num_workers)


@shard.mistake()
def only_in_workers(dataset: Any) -> Iterator[Any]:
    """In the main process get_worker_info() is None: with num_workers=0 the loader is empty."""
    info = get_worker_info()
    if info is not None:
        yield from islice(dataset, info.id, None, info.num_workers)


@shard.mistake()
def no_info_not_handled(dataset: Any) -> Iterator[Any]:
    """get_worker_info() gives None outside of a worker, and None has no id."""
    info = get_worker_info()
    return islice(dataset, info.id, None, info.num_workers)


@shard.mistake()
def list_of_all(dataset: Any) -> Iterator[Any]:
    """The stream is read on and on before an item comes. Perhaps all of it is put into a list, or counted first, which never
    ends where the stream does not: go through it once, and pass items on as they come.
    """
    info = get_worker_info()
    return iter(dataset) if info is None else iter(list(dataset)[info.id :: info.num_workers])


@shard.mistake()
def length_asked(dataset: Any) -> Iterator[Any]:
    """len() was asked for, which a stream does not have. Perhaps to deal blocks of consecutive items, or to go through it by
    number: deal single items in turn, as they come.
    """
    info = get_worker_info()
    if info is None:
        return iter(dataset)
    size = -(-len(dataset) // info.num_workers)
    return islice(dataset, info.id * size, (info.id + 1) * size)


@shard.mistake()
def blocks_by_counting(dataset: Any) -> Iterator[Any]:
    """Each worker gets a block of neighbours, and the blocks are not of equal size. Perhaps the stream was counted, which
    reads all of it, or dealt in blocks of many items: deal single items in turn.
    """
    info = get_worker_info()
    if info is None:
        return iter(dataset)
    size = -(-sum(1 for _ in dataset) // info.num_workers)
    return islice(dataset, info.id * size, (info.id + 1) * size)


@shard.mistake()
def by_random_choice(dataset: Any) -> Iterator[Any]:
    """Some items come twice or never, and which ones depends on the worker's seed. Perhaps each worker draws for each item
    whether it is its own: each draws for itself.
    """
    info = get_worker_info()
    if info is None:
        yield from dataset
        return
    own = torch.Generator().manual_seed(info.seed)
    for item in dataset:
        if torch.rand((), generator=own).item() < 1 / info.num_workers:
            yield item


@shard.mistake()
def by_the_items_value(dataset: Any) -> Iterator[Any]:
    """One worker, and not the first, gets the whole stream. Perhaps items are dealt by what they hold, as by
    `item % n == id`: that fails for anything but numbers, and deals even numbers to one worker. Their places
    count.
    """
    info = get_worker_info()
    for item in dataset:
        if info is None or item % info.num_workers == info.id:
            yield item


# Spellings, and more that is lost or changed.


def id_and_workers() -> tuple[int, int]:
    """Who this is, and of how many."""
    info = get_worker_info()
    return (info.id, info.num_workers) if info else (0, 1)


@shard.variant(counted_from_one)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return islice(dataset, id + 1, None, workers)


@shard.variant(list_of_all)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return iter(list(dataset)[id::workers])


@shard.variant(list_of_all)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    total = sum(1 for _ in dataset)
    return (item for place, item in enumerate(dataset) if place < total and place % workers == id)


@shard.variant(blocks_by_counting)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    items = list(dataset)
    size = -(-len(items) // workers)
    return iter(items[id * size : (id + 1) * size])


@shard.variant(length_asked)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return (item for place, item in enumerate(dataset) if place < len(dataset) and place % workers == id)


@shard.variant(length_asked)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    size = -(-len(dataset) // workers)
    return islice(dataset, id * size, (id + 1) * size)


@shard.variant(by_the_items_value)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return (item for item in dataset if item % workers == id)


@shard.variant(by_the_items_value)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return (item for item in dataset if hash(item) % workers == id)


@shard.mistake()
def not_a_stream_outside(dataset: Any) -> Any:
    """Outside of a worker shard gives something that is no stream, perhaps None from a bare `return`: with num_workers=0 the
    loader fails.
    """
    info = get_worker_info()
    return info and islice(dataset, info.id, None, info.num_workers)


@shard.mistake()
def the_loaders_dataset(dataset: Any) -> Any:
    """The items of a different stream came, perhaps of info.dataset: that is the loader's dataset, whose __iter__ may be what
    called this function. Read what the function is given.
    """
    info = get_worker_info()
    return iter(dataset) if info is None else islice(info.dataset, info.id, None, info.num_workers)


@shard.mistake()
def step_one_too_small(dataset: Any) -> Any:
    """Items come twice, as if the step were one less than the number of workers. Perhaps it is so, or it is a constant: the
    step is info.num_workers.
    """
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.id, None, max(1, info.num_workers - 1))


@shard.mistake()
def step_one_too_large(dataset: Any) -> Any:
    """Some items are nobody's, as if the step were one more than the number of workers."""
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.id, None, info.num_workers + 1)


@shard.variant(step_one_too_large)
def _(dataset: Any) -> Any:
    """Numbers its items from 1."""
    info = get_worker_info()
    for number, item in enumerate(dataset, 1):
        if info is None or number % (info.num_workers + 1) == info.id:
            yield item


@shard.variant(step_one_too_large)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return islice(dataset, id, None, workers + 1)


@shard.mistake()
def worker_zero_only(dataset: Any) -> Any:
    """Worker 0 gets the whole stream, and the others nothing: each item comes once, and one worker does all the work."""
    id, workers = id_and_workers()
    return iter(dataset) if id == 0 else iter(())


@shard.mistake()
def last_round_lost(dataset: Any) -> Any:
    """The last items are lost where there is not one for each worker."""
    id, workers = id_and_workers()
    items = iter(dataset)
    while len(several := list(islice(items, workers))) == workers:
        yield several[id]


@shard.variant(last_round_lost)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return (several[id] for several in zip(*[iter(dataset)] * workers, strict=False))


@shard.mistake()
def read_far_ahead(dataset: Any) -> Any:
    """Many items are read for the next one: who waits for a slow stream waits for all of them."""
    id, workers = id_and_workers()
    items = iter(dataset)
    while several := list(islice(items, 16 * workers)):
        yield from several[id::workers]


@shard.mistake()
def unequal_parts(dataset: Any) -> Any:
    """Each item comes once, but a worker gets two items more than a different one, or still more: perhaps items are dealt in
    blocks, by chance, or with a step that is too small. A slow worker then waits alone.
    """
    id, workers = id_and_workers()
    items, place = iter(dataset), 0
    while several := list(islice(items, 2)):
        if place % workers == id:
            yield from several
        place += 1


@shard.mistake()
def in_a_different_order(dataset: Any) -> Any:
    """Items come in a different order than in the stream."""
    id, workers = id_and_workers()
    return (
        [item for place, item in enumerate(dataset) if place % workers == id][::-1]
        if get_worker_info()
        else iter(dataset)
    )


@shard.variant(in_a_different_order)
def _(dataset: Any) -> Any:
    """In pairs, the second one first."""
    id, workers = id_and_workers()
    items = islice(dataset, id, None, workers)
    for one in items:
        yield from islice(items, 1)
        yield one


@shard.mistake()
def stop_for_step(dataset: Any) -> Any:
    """Few items come, as if the number of workers were the end of the slice: islice(items, start, stop, step)."""
    id, workers = id_and_workers()
    return islice(dataset, id, workers)


@shard.variant(stop_for_step)
def _(dataset: Any) -> Any:
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.id, info.num_workers)


@shard.mistake()
def start_and_step_swapped(dataset: Any) -> Any:
    """Items come as if the worker's number were the step, and the number of workers the start."""
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.num_workers, None, info.id or 1)


@shard.mistake()
def asked_by_index(dataset: Any) -> Any:
    """dataset[i] asks for an index, and a stream has none: it can only be gone through."""
    id, workers = id_and_workers()
    place = id
    while True:
        try:
            yield dataset[place]
        except IndexError:
            return
        place += workers


@shard.variant(unequal_parts)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return (item for place, item in enumerate(dataset) if place % max(1, workers - 1) == id)


@shard.mistake()
def stop_iteration_inside(dataset: Any) -> Any:
    """A RuntimeError came where the stream ends: since Python 3.7 a StopIteration that leaves the body of a generator
    becomes one. A next() there needs a default or an `except`; a `for` needs neither.
    """
    id, workers = id_and_workers()
    items = iter(dataset)
    for _ in range(id):
        next(items)
    while True:
        yield next(items)
        for _ in range(workers - 1):
            next(items)


@shard.variant(stop_iteration_inside)
def _(dataset: Any) -> Any:
    info = get_worker_info()
    if info is None:
        yield from dataset
        return
    items = iter(dataset)
    while True:
        yield [next(items) for _ in range(info.num_workers)][info.id]


@shard.mistake()
def next_of_an_iterable(dataset: Any) -> Any:
    """next() takes an iterator. A stream is an iterable, and needs iter() first."""
    id, workers = id_and_workers()
    place = 0
    while True:
        try:
            item = next(dataset)
        except StopIteration:
            return
        if place % workers == id:
            yield item
        place += 1


@shard.variant(next_of_an_iterable)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    for _ in range(id):
        next(dataset)
    return islice(dataset, 0, None, workers)


@shard.mistake()
def begun_more_than_once(dataset: Any) -> Any:
    """iter() was called on the stream more than once, perhaps to look whether it has an item, or once for each item: a
    stream that opens a file or a connection opens it again, and one that can be read once has lost an item.
    """
    id, workers = id_and_workers()
    if next(iter(dataset), None) is not None:
        yield from islice(dataset, id, None, workers)


@shard.variant(begun_more_than_once)
def _(dataset: Any) -> Any:
    id, workers = id_and_workers()
    return [islice(iter(dataset), start, None, workers) for start in range(workers)][id]


@shard.variant(begun_more_than_once)
def _(dataset: Any) -> Any:
    """For each item anew."""
    id, workers = id_and_workers()
    end = object()
    for place in count(id, workers):
        if (item := next(islice(dataset, place, None), end)) is end:
            return
        yield item


@shard.mistake()
def worker_zero_gets_nothing(dataset: Any) -> Any:
    """Worker 0 gets nothing, and no worker gets the last item of a full round: perhaps id - 1 is compared, as if workers were
    counted from 1. They are counted from 0.
    """
    info = get_worker_info()
    for place, item in enumerate(dataset):
        if info is None or place % info.num_workers == info.id - 1:
            yield item


@shard.mistake(breaks="Over the workers of one loader each item comes once")
def count_kept_between_calls(dataset: Any) -> Iterator[Any]:
    """The next call gives a worker other items than the first. Perhaps the count of the items is kept outside of the call: each
    call has to count from 0.
    """
    id, workers = id_and_workers()
    if (
        get_worker_info() is None
    ):  # so that what is told of it does not depend on what ran before in this process
        count_kept_between_calls.count = 0
    for item in dataset:
        mine = count_kept_between_calls.count % workers == id
        count_kept_between_calls.count += 1
        if mine:
            yield item


count_kept_between_calls.count = 0


@shard.mistake(breaks="all of it outside of a worker (get_worker_info() is None).")
def opened_once(dataset: Any) -> Iterator[Any]:
    """The next call on the same stream goes on where the call before stopped. Perhaps the iterator is kept between calls, in a
    cache or on the dataset: each epoch needs one of its own, from iter().
    """
    id, workers = id_and_workers()
    return islice(_opened(dataset), id, None, workers)


@functools.lru_cache(maxsize=8)
def _opened(dataset: Any) -> Iterator[Any]:
    return iter(dataset)


@shard.variant(opened_once)
def _(dataset: Any) -> Iterator[Any]:
    id, workers = id_and_workers()
    if not hasattr(dataset, "part"):
        dataset.part = islice(dataset, id, None, workers)
    return dataset.part


@shard.mistake(breaks="Over the workers of one loader each item comes once")
def step_forgotten(dataset: Any) -> Iterator[Any]:
    """Each worker gets all items from a place on, and most come more than once. Perhaps the slice has a start and no step."""
    return islice(dataset, id_and_workers()[0], None)


@shard.mistake(breaks="Over the workers of one loader each item comes once")
def filled_up_with_none(dataset: Any) -> Iterator[Any]:
    """A worker gets a None at the end that the stream does not hold. Perhaps zip_longest fills up the last round."""
    id, workers = id_and_workers()
    for several in zip_longest(*[iter(dataset)] * workers):
        yield several[id]


@shard.variant(length_asked)
def _(dataset: Any) -> Iterator[Any]:
    id, workers = id_and_workers()
    items = iter(dataset)
    for number in range(len(dataset)):
        item = next(items)
        if number % workers == id:
            yield item


@shard.variant(list_of_all)
def _(dataset: Any) -> Iterator[Any]:
    id, workers = id_and_workers()
    count = sum(1 for _ in dataset)
    items = iter(dataset)
    for number in range(count):
        item = next(items)
        if number % workers == id:
            yield item


@shard.variant(step_one_too_small)
def _(dataset: Any) -> Any:
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.id, None, 2)


@shard.mistake(breaks="Over the workers of one loader each item comes once")
def last_worker_gets_nothing(dataset: Any) -> Iterator[Any]:
    """The last worker gets nothing, and the first item of each round is nobody's. Perhaps id + 1 is compared with a
    remainder by the number of workers, which is never so large: both count from 0.
    """
    info = get_worker_info()
    for place, item in enumerate(dataset):
        if info is None or place % info.num_workers == info.id + 1:
            yield item


@shard.mistake(breaks="Over the workers of one loader each item comes once")
def number_for_step(dataset: Any) -> Any:
    """Worker 0 gets all items, and worker 1 every second one from the second on, as if the worker's number decided the step:
    the step is the number of workers.
    """
    info = get_worker_info()
    return iter(dataset) if info is None else islice(dataset, info.id, None, info.id + 1)
