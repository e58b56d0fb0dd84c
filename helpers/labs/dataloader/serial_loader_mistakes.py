"""What people write for 02.serial_loader: batches, streams, collating, fetching."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader, default_collate

from helpers.labs.dataloader.serial_flawed import Serial, loaders
from helpers.labs.dataloader.serial_loader import serial_loader


@serial_loader.mistake()
def data_loader_inside(*args: Any, **options: Any) -> Iterator[Any]:
    """This is the class that the exercise re-creates."""
    yield from DataLoader(*args, **options)


@loaders.mistake()
class LastBatchLost(Serial):
    """A batch is yielded when it is full; what is left at the end is a batch, too, unless drop_last says no."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last or (self.batched and self.batch_sampler is None)
        return super().chosen()


@loaders.variant(LastBatchLost)
class _(Serial):
    """In data sets with indices."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last or (self.batched and self.batch_sampler is None and not self.iterable)
        return super().chosen()


@loaders.variant(LastBatchLost)
class _(Serial):
    """In streams."""

    def from_stream(self) -> Iterator[Any]:
        self.drop_last = self.batched
        return super().from_stream()


@loaders.mistake()
class DropLastIgnored(Serial):
    """drop_last is accepted and forgotten."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = False
        return super().chosen()


@loaders.mistake()
class DropLastOfAStream(Serial):
    """BatchSampler drops a short batch of indices, but an IterableDataset ends where no sampler sees it: the
    batch of samples is short.
    """

    def from_stream(self) -> Iterator[Any]:
        self.drop_last = False
        return super().from_stream()


@loaders.mistake()
class LengthOfAStream(Serial):
    """len() of an IterableDataset is a promise that few can give: take samples until there are no more."""

    def from_stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        for begin in range(0, len(self.dataset), self.batch_size):
            size = min(self.batch_size, len(self.dataset) - begin)
            yield self.collate_fn([next(samples) for _ in range(size)])


@loaders.mistake()
class StreamBegunAnew(Serial):
    """iter(dataset) begins at the start: call it once an epoch, not once a batch."""

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            yield from map(self.collate_fn, self.dataset)
            return
        for wanted in itertools.islice(self.indices, 50):
            batch = list(itertools.islice(iter(self.dataset), len(wanted)))
            if not batch:
                return
            yield self.collate_fn(batch)


@loaders.mistake()
class SingleSamplesCollated(Serial):
    """Without batches the default is default_convert: it turns arrays and numbers of NumPy into tensors and
    adds no dimension.
    """

    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else lambda sample: default_collate([sample])


@loaders.variant(SingleSamplesCollated)
class _(Serial):
    def collate(self) -> Callable[[Any], Any]:
        return default_collate


@loaders.mistake()
class SingleSamplesNotConverted(Serial):
    """Without batches the sample went out as it is; default_convert makes a tensor of a NumPy array first."""

    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else lambda sample: sample


@loaders.mistake()
class CollateSkipped(Serial):
    """With batch_size=None, too, collate_fn is called: on the single sample."""

    def from_table(self) -> Iterator[Any]:
        if not self.batched:
            self.collate_fn = lambda sample: sample
        return super().from_table()


@loaders.mistake()
class GetitemsIgnored(Serial):
    """A data set with __getitems__ reads a whole batch in one query; sample by sample it is asked n times."""

    def fetched(self, indices: Any) -> list[Any]:
        return [self.dataset[index] for index in indices]
