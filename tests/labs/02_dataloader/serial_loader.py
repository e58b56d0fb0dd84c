"""Right answers to 02.serial_loader, in different shapes."""

from __future__ import annotations

import itertools

import torch
from torch.utils.data import (
    BatchSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)


def serial_in_one(dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                  drop_last=False, timeout=0, generator=None, *, prefetch_factor=None, persistent_workers=False):  # fmt: skip
    """One generator: errors come with the first batch."""
    streamed = isinstance(dataset, IterableDataset)
    contradictions = [
        timeout < 0, num_workers, prefetch_factor is not None, persistent_workers,
        streamed and (shuffle or sampler is not None or batch_sampler is not None),
        shuffle and sampler is not None,
        batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last),
        batch_size is None and drop_last,
    ]  # fmt: skip
    if any(contradictions):
        raise ValueError(contradictions)
    if streamed and batch_size is not None and batch_size < 1:
        raise ValueError(batch_size)
    torch.empty((), dtype=torch.int64).random_(generator=generator)
    if streamed and batch_size is None:
        yield from map(collate_fn or default_convert, dataset)
        return
    if streamed:
        samples = iter(dataset)
        while batch := list(itertools.islice(samples, batch_size)):
            if len(batch) == batch_size or not drop_last:
                yield (collate_fn or default_collate)(batch)
            if len(batch) < batch_size:
                return
        return
    if sampler is None:
        sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
    if batch_sampler is None and batch_size is None:
        yield from ((collate_fn or default_convert)(dataset[i]) for i in sampler)
        return
    getitems = getattr(dataset, "__getitems__", None) or (lambda indices: [dataset[i] for i in indices])
    for indices in (
        batch_sampler if batch_sampler is not None else BatchSampler(sampler, batch_size, drop_last)
    ):
        yield (collate_fn or default_collate)(getitems(indices))


def serial_by_hand(dataset, batch_size=1, **options):
    """Everything by hand: numbers for samplers, torch.randperm for RandomSampler (one draw less at the end)."""
    given = {name for name, value in options.items() if value is not None and value is not False}
    given -= {
        "collate_fn",
        "generator",
        *(name for name in ("num_workers", "timeout") if not options.get(name)),
    }
    streamed, whole = isinstance(dataset, IterableDataset), "batch_sampler" in given
    if given & {"num_workers", "timeout", "prefetch_factor", "persistent_workers"}:
        raise ValueError("no workers")
    if streamed and given - {"drop_last"} or len(given & {"shuffle", "sampler"}) == 2:
        raise ValueError("two orders")
    if whole and (batch_size != 1 or given & {"shuffle", "sampler", "drop_last"}):
        raise ValueError("batch_sampler alone")
    if "drop_last" in given and batch_size is None or batch_size is not None and batch_size < 1:
        raise ValueError("batch_size")
    generator, one = options.get("generator"), batch_size is None and not whole
    collate = options.get("collate_fn") or (default_convert if one else default_collate)
    torch.empty((), dtype=torch.int64).random_(generator=generator)
    if streamed:
        items = iter(dataset)
    elif "sampler" in given:
        items = iter(options["sampler"])
    elif "shuffle" in given:
        seed = torch.empty((), dtype=torch.int64).random_().item() if generator is None else None
        own = generator or torch.Generator().manual_seed(seed)
        items = iter(torch.randperm(len(dataset), generator=own).tolist())
    else:
        items = iter(() if whole else range(len(dataset)))
    groups = iter(lambda: list(itertools.islice(items, batch_size)), [])
    for group in items if one else options["batch_sampler"] if whole else groups:
        if "drop_last" in given and len(group) < batch_size:
            return
        if streamed:
            yield collate(group)
        elif one:
            yield collate(dataset[group])
        elif getattr(dataset, "__getitems__", None):
            yield collate(dataset.__getitems__(group))
        else:
            yield collate([dataset[index] for index in group])


def serial_checked_first(dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, **options):
    """Checks at once, and returns a generator; own batches, own shuffling."""
    streamed = isinstance(dataset, IterableDataset)
    drop_last, generator = options.get("drop_last", False), options.get("generator")
    if options.get("timeout", 0) < 0 or options.get("prefetch_factor") is not None:
        raise ValueError("timeout or prefetch_factor")
    if options.get("persistent_workers") or options.get("num_workers"):
        raise ValueError("no workers")
    if streamed and (shuffle, sampler, batch_sampler) not in [(None, None, None), (False, None, None)]:
        raise ValueError("an IterableDataset")
    if [shuffle or None, sampler, batch_sampler].count(None) < 2:
        raise ValueError("two orders")
    if batch_sampler is not None and (batch_size != 1 or drop_last):
        raise ValueError("two sizes")
    if batch_size is None and drop_last:
        raise ValueError("no batches to drop")
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size <= 0):
        raise ValueError("batch_size")

    def cut(items):
        batch = []
        for item in items:
            batch.append(item)
            if len(batch) == batch_size:
                yield batch
                batch = []
        if batch and not drop_last:
            yield batch

    def epoch():
        torch.empty((), dtype=torch.int64).random_(generator=generator)
        one_by_one = batch_size is None and batch_sampler is None
        collate = options.get("collate_fn") or (default_convert if one_by_one else default_collate)
        if streamed:
            groups = iter(dataset) if one_by_one else cut(dataset)
            for group in groups:
                yield collate(group)
            return
        order = sampler
        if order is None:
            order = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if one_by_one:
            for index in order:
                yield collate(dataset[index])
            return
        for indices in cut(order) if batch_sampler is None else batch_sampler:
            if callable(getattr(dataset, "__getitems__", None)):
                yield collate(dataset.__getitems__(indices))
            else:
                yield collate([dataset[index] for index in indices])

    return epoch()


class Epoch:
    """An iterator that draws when it is made, and asks for what is next each time."""

    def __init__(self, dataset, collate_fn, groups, generator):
        self.dataset, self.collate_fn = dataset, collate_fn
        self.streamed = isinstance(dataset, IterableDataset)
        torch.empty((), dtype=torch.int64).random_(generator=generator)
        self.groups = iter(groups)

    def __iter__(self):
        return self

    def __next__(self):
        group = next(self.groups)
        return self.collate_fn(fetch(self.dataset, group) if not self.streamed else group)


def fetch(dataset, group):
    """Samples by a list of indices, or one by an index that says so."""
    if isinstance(group, One):
        return dataset[group.index]
    whole = getattr(dataset, "__getitems__", None)
    return [dataset[index] for index in group] if whole is None else whole(group)


class One:
    def __init__(self, index):
        self.index = index


def pieces(items, size, drop_last):
    items = iter(items)
    for first in items:
        piece = [first, *itertools.islice(items, size - 1)]
        if len(piece) == size or not drop_last:
            yield piece


def serial_as_a_class(dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                      drop_last=False, timeout=0, generator=None, *, prefetch_factor=None, persistent_workers=False):  # fmt: skip
    """An object with __next__; checks at the call; cuts streams and orders by one function."""
    if num_workers or timeout < 0 or prefetch_factor is not None or persistent_workers:
        raise ValueError("workers")
    if isinstance(dataset, IterableDataset):
        if shuffle or not (sampler is batch_sampler is None):
            raise ValueError("order of a stream")
    elif shuffle and sampler is not None:
        raise ValueError("shuffle and sampler")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError("batch_sampler is exclusive")
    elif batch_size is None and drop_last:
        raise ValueError("nothing to drop")
    elif batch_size is not None and batch_size <= 0:
        raise ValueError("no batch")
    single = batch_sampler is None and batch_size is None
    if isinstance(dataset, IterableDataset):
        groups = dataset if single else pieces(dataset, batch_size, drop_last)
    elif batch_sampler is not None:
        groups = batch_sampler
    else:
        if sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        groups = map(One, sampler) if single else pieces(sampler, batch_size, drop_last)
    if collate_fn is None:
        collate_fn = default_convert if single else default_collate
    return Epoch(dataset, collate_fn, groups, generator)


RIGHT = [serial_in_one, serial_by_hand, serial_checked_first, serial_as_a_class]
