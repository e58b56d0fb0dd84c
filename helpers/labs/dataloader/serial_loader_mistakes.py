"""What people write for 02.serial_loader."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)

from helpers.labs.dataloader.serial_loader import serial_loader


class Serial:
    """A right loader cut into pieces; each wrong answer replaces one of them."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        drop_last: bool = False,
        timeout: float = 0,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.iterable = isinstance(dataset, IterableDataset)
        self.other = timeout < 0 or prefetch_factor is not None or persistent_workers or num_workers != 0
        self.refuse()
        self.batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or self.collate()
        self.indices = self.chosen()

    def __iter__(self) -> Iterator[Any]:
        self.draw()
        return iter(self.from_stream() if self.iterable else self.from_table())

    def refuse(self) -> None:
        if any(self.forbidden()):
            raise ValueError("these arguments exclude each other")

    def forbidden(self) -> Iterator[bool]:
        chosen = self.sampler is not None
        batches = self.batch_sampler is not None
        yield bool(self.iterable and (self.shuffle or chosen or batches))
        yield bool(chosen and self.shuffle)
        yield bool(batches and (self.batch_size != 1 or self.shuffle or chosen or self.drop_last))
        yield bool(self.batch_size is None and not batches and self.drop_last)
        yield bool(self.other)

    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else default_convert

    def chosen(self) -> Iterable[Any]:
        """Indices, in batches if there are batches."""
        if self.batch_sampler is not None:
            return self.batch_sampler
        sampler = self.sampler
        if sampler is None:
            sampler = itertools.repeat(None) if self.iterable else self.order()
        return BatchSampler(sampler, self.batch_size, self.drop_last) if self.batched else sampler

    def order(self) -> Iterable[int]:
        return self.shuffled() if self.shuffle else SequentialSampler(self.dataset)

    def shuffled(self) -> Iterable[int]:
        return RandomSampler(self.dataset, generator=self.generator)

    def draw(self) -> None:
        torch.empty((), dtype=torch.int64).random_(generator=self.generator)

    def from_table(self) -> Iterator[Any]:
        for index in self.indices:
            yield self.collate_fn(self.fetched(index) if self.batched else self.dataset[index])

    def fetched(self, indices: Any) -> list[Any]:
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(indices)
        return [self.dataset[index] for index in indices]

    def from_stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if not self.batched:
            yield from map(self.collate_fn, samples)
            return
        for wanted in self.indices:
            batch = list(itertools.islice(samples, len(wanted)))
            if not batch or (self.drop_last and len(batch) < len(wanted)):
                return
            yield self.collate_fn(batch)
            if len(batch) < len(wanted):
                return


def _wrong(name: str, why: str, seen: str) -> Callable[[type[Serial]], type[Serial]]:
    """Adds a flawed loader to the exercise's wrong answers, as a function."""

    def add(kind: type[Serial]) -> type[Serial]:
        serial_loader.wrong_answer(
            name, why=why, seen=seen, answer=lambda *args, **options: iter(kind(*args, **options))
        )
        return kind

    return add


@serial_loader.wrong_answer(
    "data_loader_inside",
    why="This is the class that the exercise re-creates.",
    seen="lets DataLoader do the work",
)
def _(*args: Any, **options: Any) -> Iterator[Any]:
    yield from DataLoader(*args, **options)


@_wrong(
    "last_batch_lost",
    "A batch is yielded when it is full; what is left at the end is a batch, too, unless drop_last says no.",
    "what is left at the end is a batch",
)
class _(Serial):
    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last or (self.batched and self.batch_sampler is None)
        return super().chosen()


@_wrong("drop_last_ignored", "drop_last is accepted and forgotten.", "is accepted and forgotten")
class _(Serial):
    def chosen(self) -> Iterable[Any]:
        self.drop_last = False
        return super().chosen()


@_wrong(
    "drop_last_of_a_stream",
    "BatchSampler drops a short batch of indices, but an IterableDataset ends where no sampler sees it: the batch of "
    "samples is short.",
    "ends where no sampler sees it",
)
class _(Serial):
    def from_stream(self) -> Iterator[Any]:
        self.drop_last = False
        return super().from_stream()


@_wrong(
    "length_of_a_stream",
    "len() of an IterableDataset is a promise that few can give: take samples until there are no more.",
    "is a promise that few can give",
)
class _(Serial):
    def from_stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        for begin in range(0, len(self.dataset), self.batch_size):
            size = min(self.batch_size, len(self.dataset) - begin)
            yield self.collate_fn([next(samples) for _ in range(size)])


@_wrong(
    "stream_begun_anew",
    "iter(dataset) begins at the start: call it once an epoch, not once a batch.",
    "not once a batch",
)
class _(Serial):
    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            yield from map(self.collate_fn, self.dataset)
            return
        for wanted in itertools.islice(self.indices, 50):
            batch = list(itertools.islice(iter(self.dataset), len(wanted)))
            if not batch:
                return
            yield self.collate_fn(batch)


@_wrong(
    "single_samples_collated",
    "Without batches the default is default_convert: it turns arrays and numbers of NumPy into tensors and adds no "
    "dimension.",
    "and adds no dimension",
)
class _(Serial):
    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else lambda sample: default_collate([sample])


@_wrong(
    "collate_skipped",
    "With batch_size=None, too, collate_fn is called: on the single sample.",
    "on the single sample",
)
class _(Serial):
    def from_table(self) -> Iterator[Any]:
        if not self.batched:
            self.collate_fn = lambda sample: sample
        return super().from_table()


@_wrong(
    "getitems_ignored",
    "A data set with __getitems__ reads a whole batch in one query; sample by sample it is asked n times.",
    "which loads a whole batch at once",
)
class _(Serial):
    def fetched(self, indices: Any) -> list[Any]:
        return [self.dataset[index] for index in indices]


@_wrong(
    "shuffle_seeded_anew",
    "A constant seed gives the same order in each epoch, of which the model soon knows every batch's neighbours.",
    "the same order in each epoch",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return torch.randperm(len(self.dataset), generator=torch.Generator().manual_seed(0)).tolist()


@_wrong(
    "shuffled_by_random",
    "random.shuffle draws from Python's generator: torch.manual_seed and the loader's generator have no say.",
    "draws from Python's generator",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        order = list(range(len(self.dataset)))
        random.Random(len(order)).shuffle(order)
        return order


@_wrong(
    "generator_ignored",
    "The generator is for the order as well: without it the global one decides.",
    "without it the global one decides",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return RandomSampler(self.dataset)


@_wrong(
    "base_seed_after_the_order",
    "The base seed is drawn when the iterator is made, the order when the first index is asked for: a sampler is lazy.",
    "a sampler is lazy",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return list(super().shuffled())


@_wrong(
    "no_base_seed",
    "Only workers need the base seed, and yet DataLoader draws it always.",
    "and yet DataLoader draws it always",
)
class _(Serial):
    def draw(self) -> None:
        pass


@_wrong(
    "base_seed_from_the_global_generator",
    "The base seed comes from the loader's generator if it has one.",
    "from the loader's generator if it has one",
)
class _(Serial):
    def draw(self) -> None:
        torch.empty((), dtype=torch.int64).random_()


@_wrong(
    "all_indices_at_once",
    "list(sampler) never returns for a sampler without end.",
    "All indices had been asked",
)
class _(Serial):
    def chosen(self) -> Iterable[Any]:
        self.sampler = None if self.sampler is None else list(self.sampler)
        return super().chosen()


@_wrong(
    "all_samples_at_once",
    "A list of the whole stream needs memory for all of it, and the first batch waits for the last sample.",
    "All samples of the stream had been read",
)
class _(Serial):
    def from_stream(self) -> Iterator[Any]:
        self.dataset = list(self.dataset)
        return super().from_stream()


@_wrong(
    "nothing_refused",
    "Contradicting arguments are accepted, and one of them silently wins.",
    "one of them silently wins",
)
class _(Serial):
    def refuse(self) -> None:
        if self.batch_size == 0:
            raise ValueError("batch_size")
        if self.batch_sampler is not None and self.sampler is not None:
            self.sampler = None


@_wrong(
    "stream_not_refused",
    "An IterableDataset has an order of its own: a sampler, or shuffle=True, would do nothing, and nobody would know.",
    "would do nothing, and nobody would know",
)
class _(Serial):
    def forbidden(self) -> Iterator[bool]:
        return itertools.islice(super().forbidden(), 1, None)


@_wrong(
    "refused_with_assert",
    "assert raises AssertionError, and with python -O nothing at all.",
    "with python -O nothing at all",
)
class _(Serial):
    def refuse(self) -> None:
        assert not any(self.forbidden())


@_wrong(
    "shuffle_false_refused",
    "shuffle=False asks for nothing; only shuffle=True contradicts an IterableDataset.",
    "shuffle=False asks for nothing",
)
class _(Serial):
    def refuse(self) -> None:
        super().refuse()
        if self.iterable and self.shuffle is not None:
            raise ValueError("shuffle and an IterableDataset")
