"""A right serial loader cut into the pieces in which people go wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)

from helpers.labs.dataloader.serial_loader.exercise import serial_loader


class Serial:
    """A right loader cut into pieces; each mistake replaces one of them."""

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
        if getattr(self.dataset, "__getitems__", None) is not None:
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


# A class of loaders; what is passed to `check` is a function.
loaders = serial_loader.bank(lambda kind: lambda *args, **options: iter(kind(*args, **options)))
