"""What people write for 02.serial_loader, and why it is wrong."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, RandomSampler, default_collate

from helpers.labs.dataloader.serial_loader.exercise import serial_loader
from helpers.labs.dataloader.serial_loader.right import Serial, loaders


@loaders.mistake()
class ShuffleSeededAnew(Serial):
    """A constant seed gives the same order in each epoch, of which the model soon knows every batch's
    neighbours.
    """

    def shuffled(self) -> Iterable[int]:
        return torch.randperm(len(self.dataset), generator=torch.Generator().manual_seed(0)).tolist()


@loaders.mistake()
class ShuffledByRandom(Serial):
    """random.shuffle draws from Python's generator: torch.manual_seed and the loader's generator have no say."""

    def shuffled(self) -> Iterable[int]:
        order = list(range(len(self.dataset)))
        random.shuffle(order)
        return order


@loaders.variant(ShuffledByRandom)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return np.random.permutation(len(self.dataset)).tolist()


@loaders.mistake()
class GeneratorIgnored(Serial):
    """The generator is for the order as well: without it the global one decides."""

    def shuffled(self) -> Iterable[int]:
        return RandomSampler(self.dataset)


@loaders.mistake()
class BaseSeedAfterTheOrder(Serial):
    """The base seed is drawn when the iterator is made, the order when the first index is asked for: a
    sampler is lazy.
    """

    def shuffled(self) -> Iterable[int]:
        return list(super().shuffled())


@loaders.mistake()
class NoBaseSeed(Serial):
    """Only workers need the base seed, and yet DataLoader draws it always, and before the sampler draws."""

    def draw(self) -> None:
        pass


@loaders.mistake()
class BaseSeedFromTheGlobalGenerator(Serial):
    """The base seed comes from the loader's generator if it has one."""

    def draw(self) -> None:
        torch.empty((), dtype=torch.int64).random_()


@loaders.mistake()
class AllIndicesAtOnce(Serial):
    """list(sampler) never returns for a sampler without end."""

    def chosen(self) -> Iterable[Any]:
        self.sampler = None if self.sampler is None else list(self.sampler)
        return super().chosen()


@loaders.mistake()
class AllSamplesAtOnce(Serial):
    """A list of the whole stream needs memory for all of it, and the first batch waits for the last sample."""

    def from_stream(self) -> Iterator[Any]:
        self.dataset = list(self.dataset)
        return super().from_stream()


@loaders.mistake()
class NothingRefused(Serial):
    """Contradicting arguments are accepted, and one of them silently wins."""

    def refuse(self) -> None:
        if self.batch_size == 0:
            raise ValueError("batch_size")
        if self.batch_sampler is not None and self.sampler is not None:
            self.sampler = None


@loaders.mistake()
class StreamNotRefused(Serial):
    """An IterableDataset has an order of its own: a sampler, or shuffle=True, would do nothing, and nobody
    would know.
    """

    def forbidden(self) -> Iterator[bool]:
        return itertools.islice(super().forbidden(), 1, None)


@loaders.variant(StreamNotRefused)
class _(Serial):
    """None of what concerns streams."""

    def forbidden(self) -> Iterator[bool]:
        return iter(()) if self.iterable else super().forbidden()


@loaders.mistake()
class RefusedWithAssert(Serial):
    """assert raises AssertionError, and with python -O nothing at all."""

    def refuse(self) -> None:
        assert not any(self.forbidden())


@loaders.mistake()
class ShuffleFalseRefused(Serial):
    """shuffle=False asks for nothing; only shuffle=True contradicts an IterableDataset."""

    def refuse(self) -> None:
        super().refuse()
        if self.iterable and self.shuffle is not None:
            raise ValueError("shuffle and an IterableDataset")


# Batches, streams, collating, fetching.


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
