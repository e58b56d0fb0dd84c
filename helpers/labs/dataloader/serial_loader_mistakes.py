"""What people write for 02.serial_loader: batches, streams, collating, fetching."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader, default_collate

from helpers.labs.dataloader.serial_flawed import Serial, form, wrong
from helpers.labs.dataloader.serial_loader import serial_loader


@serial_loader.wrong_answer(
    "data_loader_inside",
    why="This is the class that the exercise re-creates.",
    seen="lets DataLoader do the work",
)
def _(*args: Any, **options: Any) -> Iterator[Any]:
    yield from DataLoader(*args, **options)


@wrong(
    "last_batch_lost",
    "A batch is yielded when it is full; what is left at the end is a batch, too, unless drop_last says no.",
    "what is left at the end is a batch",
)
class _(Serial):
    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last or (self.batched and self.batch_sampler is None)
        return super().chosen()


@form("last_batch_lost")
class _(Serial):
    """In data sets with indices."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last or (self.batched and self.batch_sampler is None and not self.iterable)
        return super().chosen()


@form("last_batch_lost")
class _(Serial):
    """In streams."""

    def from_stream(self) -> Iterator[Any]:
        self.drop_last = self.batched
        return super().from_stream()


@wrong("drop_last_ignored", "drop_last is accepted and forgotten.", "is accepted and forgotten")
class _(Serial):
    def chosen(self) -> Iterable[Any]:
        self.drop_last = False
        return super().chosen()


@wrong(
    "drop_last_of_a_stream",
    "BatchSampler drops a short batch of indices, but an IterableDataset ends where no sampler sees it: the batch of "
    "samples is short.",
    "ends where no sampler sees it",
)
class _(Serial):
    def from_stream(self) -> Iterator[Any]:
        self.drop_last = False
        return super().from_stream()


@wrong(
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


@wrong(
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


@wrong(
    "single_samples_collated",
    "Without batches the default is default_convert: it turns arrays and numbers of NumPy into tensors and adds no "
    "dimension.",
    "and adds no dimension",
)
class _(Serial):
    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else lambda sample: default_collate([sample])


@form("single_samples_collated")
class _(Serial):
    def collate(self) -> Callable[[Any], Any]:
        return default_collate


@wrong(
    "single_samples_not_converted",
    "Without batches the sample went out as it is; default_convert makes a tensor of a NumPy array first.",
    "the sample went out as it is",
)
class _(Serial):
    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else lambda sample: sample


@wrong(
    "collate_skipped",
    "With batch_size=None, too, collate_fn is called: on the single sample.",
    "on the single sample",
)
class _(Serial):
    def from_table(self) -> Iterator[Any]:
        if not self.batched:
            self.collate_fn = lambda sample: sample
        return super().from_table()


@wrong(
    "getitems_ignored",
    "A data set with __getitems__ reads a whole batch in one query; sample by sample it is asked n times.",
    "which loads a whole batch at once",
)
class _(Serial):
    def fetched(self, indices: Any) -> list[Any]:
        return [self.dataset[index] for index in indices]
