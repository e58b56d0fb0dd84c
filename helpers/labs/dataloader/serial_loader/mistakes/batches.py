"""What people get wrong about samples and batches in 02.serial_loader."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch.utils.data import default_collate, default_convert

from helpers.labs.dataloader.serial_loader.right import Serial, loaders


@loaders.mistake(
    breaks="One epoch of `DataLoader(dataset, ...)` with the same arguments and no workers, batch for batch."
)
class LastBatchLost(Serial):
    """A batch is yielded when it is full; what is left at the end is a batch, too, unless drop_last says no."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last or (self.batched and self.batch_sampler is None)
        return super().chosen()


@loaders.variant(LastBatchLost)
class _(Serial):
    """In datasets with indices."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last or (self.batched and self.batch_sampler is None and not self.iterable)
        return super().chosen()


@loaders.variant(LastBatchLost)
class _(Serial):
    """In streams."""

    def from_stream(self) -> Iterator[Any]:
        self.drop_last = self.batched
        return super().from_stream()


@loaders.mistake(
    breaks="One epoch of `DataLoader(dataset, ...)` with the same arguments and no workers, batch for batch."
)
class DropLastIgnored(Serial):
    """drop_last is accepted, and a short last batch comes all the same."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = False
        return super().chosen()


@loaders.variant(DropLastIgnored)
class _(Serial):
    """Beside a sampler of the caller."""

    def chosen(self) -> Iterable[Any]:
        self.drop_last = self.drop_last and self.sampler is None
        return super().chosen()


@loaders.mistake(
    breaks="One epoch of `DataLoader(dataset, ...)` with the same arguments and no workers, batch for batch."
)
class DropsTheLastFullBatch(Serial):
    """drop_last drops a batch that is shorter than batch_size. Here the last batch was dropped though it was full."""

    def from_table(self) -> Iterator[Any]:
        batches = list(super().from_table())
        return iter(batches[:-1] if self.drop_last else batches)


@loaders.variant(DropsTheLastFullBatch)
class _(Serial):
    """Of a stream."""

    def from_stream(self) -> Iterator[Any]:
        drop, self.drop_last = self.drop_last, False
        batches = list(super().from_stream()) if self.batched else super().from_stream()
        return iter(batches[:-1]) if drop else iter(batches)


@loaders.mistake(breaks="The last batch may be shorter, and drop_last drops it.")
class DropLastOfAStream(Serial):
    """drop_last does not drop the short last batch of an IterableDataset. A BatchSampler over endless
    indices cannot do it: the stream ends where no sampler sees it.
    """

    def from_stream(self) -> Iterator[Any]:
        self.drop_last = False
        return super().from_stream()


@loaders.mistake(breaks="With batch_size=None single samples come, no batches.")
class ListTakenForABatch(Serial):
    """With batch_size=None a list that the sampler gave was taken for a batch of indices. Perhaps the type of the index decides: a
    dataset may read many rows at once, by a list as index. batch_size says whether there are batches.
    """

    def from_table(self) -> Iterator[Any]:
        for index in self.indices:
            yield self.collate_fn(self.fetched(index) if isinstance(index, list) else self.dataset[index])


@loaders.mistake(breaks="map-style, or of the class IterableDataset")
class TakenForAStream(Serial):
    """A map-style dataset that can be iterated over was read as a stream. Only the class IterableDataset makes one: a
    list, too, has __iter__.
    """

    def from_table(self) -> Iterator[Any]:
        if not hasattr(type(self.dataset), "__iter__"):
            return super().from_table()
        self.iterable, self.indices = True, self.chosen()
        return self.from_stream()


@loaders.mistake(breaks="The len() of an IterableDataset is never asked.")
class LengthOfAStream(Serial):
    """len() of an IterableDataset is asked. It is a promise that few can give, and often untrue: take samples until there
    are no more.
    """

    def from_stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if not self.batched:
            yield from (self.collate_fn(next(samples)) for _ in range(len(self.dataset)))
            return
        for begin in range(0, len(self.dataset), self.batch_size):
            size = min(self.batch_size, len(self.dataset) - begin)
            yield self.collate_fn([next(samples) for _ in range(size)])


@loaders.variant(LengthOfAStream)
class _(Serial):
    """Where it has one."""

    def from_stream(self) -> Iterator[Any]:
        try:
            most = len(self.dataset)
        except TypeError:
            most = 10**9
        self.dataset = itertools.islice(self.dataset, most)
        return super().from_stream()


@loaders.mistake(breaks="The len() of an IterableDataset is never asked.")
class LengthOfAStreamAsked(Serial):
    """The batches are right, and the stream was asked for its length. Nobody needs it to take samples until there are no
    more. list() asks, too, and reads the whole stream.
    """

    def from_stream(self) -> Iterator[Any]:
        try:
            len(self.dataset)
        except TypeError:
            pass
        return super().from_stream()


@loaders.mistake(breaks="An IterableDataset gives batches of batch_size samples of one iterator.")
class EmptyLastBatchOfAStream(Serial):
    """A stream whose last batch is full gave one batch more, an empty one. Perhaps what is left at the end is yielded without
    a look whether anything is left.
    """

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            yield from super().from_stream()
            return
        batch: list[Any] = []
        for sample in self.dataset:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if not self.drop_last:
            yield self.collate_fn(batch)


@loaders.mistake(breaks="An IterableDataset gives batches of batch_size samples of one iterator.")
class BatchListUsedAgain(Serial):
    """A batch changed after it was handed over. Perhaps one list serves all batches of a stream, and is cleared after each:
    collate_fn may keep it, so give it a new list each time.
    """

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            yield from super().from_stream()
            return
        batch: list[Any] = []
        for sample in self.dataset:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch.clear()
        if batch and not self.drop_last:
            yield self.collate_fn(batch)


@loaders.mistake(breaks="collate_fn is called on the list of samples of each batch, or on the single sample.")
class ListOfOneSample(Serial):
    """With batch_size=None collate_fn was called on a list of one sample: it is called on the sample itself."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        collate_fn = self.collate_fn
        if not self.batched and options.get("collate_fn"):
            self.collate_fn = lambda sample: collate_fn([sample])


@loaders.mistake(breaks="Without collate_fn: default_collate for batches")
class BatchesNotCollated(Serial):
    """Batches of a batch_sampler came as lists: without a collate_fn they go through default_collate. Perhaps default_convert
    was taken because batch_size is None, as torch sets it beside a batch_sampler.
    """

    def collate(self) -> Callable[[Any], Any]:
        return super().collate() if self.batch_sampler is None else default_convert


@loaders.mistake(breaks="An IterableDataset gives batches of batch_size samples of one iterator.")
class StreamBegunAnew(Serial):
    """iter(dataset) begins at the start: call it once an epoch, not once a batch. The first samples came again and again."""

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
class FalsySampleEndsTheStream(Serial):
    """A sample of a stream that is None, 0 or empty was taken for the end of the stream, or left out. Perhaps it
    was compared with None, as after `next(samples, None)`, or asked whether it is true. Only StopIteration is the end.
    """

    def from_stream(self) -> Iterator[Any]:
        self.dataset = itertools.takewhile(lambda sample: sample is not None, self.dataset)
        return super().from_stream()


@loaders.variant(FalsySampleEndsTheStream)
class _(Serial):
    def from_stream(self) -> Iterator[Any]:
        self.dataset = (sample for sample in self.dataset if sample is not None)
        return super().from_stream()


@loaders.variant(FalsySampleEndsTheStream)
class _(Serial):
    """Single samples only."""

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            self.dataset = itertools.takewhile(lambda sample: sample is not None, self.dataset)
        return super().from_stream()


@loaders.mistake(breaks="With batch_size=None single samples come, no batches.")
class SingleSamplesCollated(Serial):
    """With batch_size=None a sample was collated, or came as a batch of one. There are no batches then: the default is
    default_convert on the sample itself, which turns arrays and numbers of NumPy into tensors and adds no dimension.
    """

    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else lambda sample: default_collate([sample])


@loaders.variant(SingleSamplesCollated)
class _(Serial):
    def collate(self) -> Callable[[Any], Any]:
        return default_collate


@loaders.mistake(breaks="default_convert for single samples.")
class SingleSamplesNotConverted(Serial):
    """With batch_size=None the sample came as it is; default_convert makes a tensor of a NumPy array first."""

    def collate(self) -> Callable[[Any], Any]:
        return default_collate if self.batched else lambda sample: sample


@loaders.variant(SingleSamplesNotConverted)
class _(Serial):
    """Those of streams."""

    def collate(self) -> Callable[[Any], Any]:
        return super().collate() if self.batched or not self.iterable else lambda sample: sample


@loaders.mistake(breaks="collate_fn is called on the list of samples of each batch, or on the single sample.")
class CollateSkipped(Serial):
    """With batch_size=None, too, collate_fn is called: on the single sample. Here it was not."""

    def from_table(self) -> Iterator[Any]:
        if not self.batched:
            self.collate_fn = self.collate()
        return super().from_table()


@loaders.variant(CollateSkipped)
class _(Serial):
    """For streams."""

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            self.collate_fn = self.collate()
        return super().from_stream()


@loaders.mistake(breaks="collate_fn is called on the list of samples of each batch, or on the single sample.")
class CollateFnIgnored(Serial):
    """collate_fn is accepted, and batches are made by default_collate all the same."""

    def from_table(self) -> Iterator[Any]:
        self.collate_fn = self.collate()
        return super().from_table()


@loaders.variant(CollateFnIgnored)
class _(Serial):
    """For batches of a stream."""

    def from_stream(self) -> Iterator[Any]:
        if self.batched:
            self.collate_fn = self.collate()
        return super().from_stream()


@loaders.mistake(breaks="collate_fn is called on the list of samples of each batch")
class TupleOfSamples(Serial):
    """collate_fn was called on a tuple. DataLoader calls it on a list of the samples, and a collate_fn may tell the two
    apart.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        made = self.collate_fn
        if self.batched:
            self.collate_fn = lambda samples: made(tuple(samples))


@loaders.variant(TupleOfSamples)
class _(TupleOfSamples):
    """Of a stream."""

    def from_table(self) -> Iterator[Any]:
        if self.batched:
            made = self.collate_fn
            self.collate_fn = lambda samples: made(list(samples))
        return super().from_table()

    def collate(self) -> Callable[[Any], Any]:
        return super().collate()


@loaders.variant(TupleOfSamples)
class _(Serial):
    """Of a map-style dataset."""

    def fetched(self, indices: Any) -> Any:
        samples = super().fetched(indices)
        paged = getattr(self.dataset, "__getitems__", None) is not None
        return samples if paged else tuple(samples)


@loaders.mistake(breaks="What collate_fn gives is the batch, None and 0 too.")
class FalsyBatchLeftOut(Serial):
    """A batch that is None or 0 was left out, or ended the epoch. What collate_fn gives is the batch, whatever it is."""

    def __iter__(self) -> Iterator[Any]:
        return (batch for batch in super().__iter__() if batch is not None)


@loaders.variant(FalsyBatchLeftOut)
class _(Serial):
    def __iter__(self) -> Iterator[Any]:
        return itertools.takewhile(lambda batch: batch is not None, super().__iter__())


@loaders.mistake()
class GetitemsIgnored(Serial):
    """A dataset with __getitems__ reads a whole batch in one query, also a batch of one. Here it was asked by __getitem__."""

    def fetched(self, indices: Any) -> list[Any]:
        return [self.dataset[index] for index in indices]


@loaders.variant(GetitemsIgnored)
class _(Serial):
    """For lists of a batch sampler."""

    def fetched(self, indices: Any) -> list[Any]:
        if self.batch_sampler is not None:
            return [self.dataset[index] for index in indices]
        return super().fetched(indices)


@loaders.variant(GetitemsIgnored)
class _(Serial):
    """For batches of one."""

    def fetched(self, indices: Any) -> list[Any]:
        return super().fetched(indices) if len(indices) > 1 else [self.dataset[index] for index in indices]


@loaders.variant(GetitemsIgnored)
class _(Serial):
    """Looked for in the class."""

    def fetched(self, indices: Any) -> list[Any]:
        if getattr(type(self.dataset), "__getitems__", None) is not None:
            return super().fetched(indices)
        return [self.dataset[index] for index in indices]


@loaders.mistake()
class GetitemsForSingleSamples(Serial):
    """With batch_size=None there is no batch, and the dataset is asked for a single sample: dataset[index]. Here
    __getitems__ was asked.
    """

    def from_table(self) -> Iterator[Any]:
        if self.batched or not getattr(self.dataset, "__getitems__", None):
            return super().from_table()
        return (self.collate_fn(self.dataset.__getitems__([index])[0]) for index in self.indices)


@loaders.mistake()
class NoneIsCalled(Serial):
    """A dataset may take `__getitems__` back by `__getitems__ = None`: then it has the name, and hasattr() is true. It
    was called.
    """

    def fetched(self, indices: Any) -> list[Any]:
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(indices)
        return super().fetched(indices)


@loaders.mistake(breaks="An IterableDataset gives batches of batch_size samples of one iterator.")
class IteratorForEachBatch(Serial):
    """The batches are right, and iter(dataset) was called several times: a stream that can be read only once then gives other
    batches. Perhaps once for each batch, and what was read before is read again: call it once an epoch.
    """

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            yield from map(self.collate_fn, self.dataset)
            return
        done = 0
        for wanted in self.indices:
            batch = list(itertools.islice(iter(self.dataset), done, done + len(wanted)))
            if not batch or (self.drop_last and len(batch) < len(wanted)):
                return
            done += len(batch)
            yield self.collate_fn(batch)
            if len(batch) < len(wanted):
                return
