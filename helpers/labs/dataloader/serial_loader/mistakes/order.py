"""What people get wrong about samplers, seeds and reading ahead in 02.serial_loader."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import RandomSampler

from helpers.labs.dataloader.serial_loader.right import Serial, loaders


@loaders.mistake(breaks="An empty sampler is a sampler, too: nothing is read.")
class EmptySamplerIsNone(Serial):
    """An empty sampler was taken for none, and everything was read. Perhaps by `if sampler:`, or `sampler or
    ...`, which asks whether it is empty: ask `is None`.
    """

    def __init__(self, *args: Any, sampler: Any = None, batch_sampler: Any = None, **options: Any) -> None:
        super().__init__(*args, sampler=sampler or None, batch_sampler=batch_sampler or None, **options)


@loaders.variant(EmptySamplerIsNone)
class _(Serial):
    def __init__(self, *args: Any, batch_sampler: Any = None, **options: Any) -> None:
        super().__init__(*args, batch_sampler=batch_sampler or None, **options)


@loaders.variant(EmptySamplerIsNone)
class _(Serial):
    def __init__(self, *args: Any, sampler: Any = None, **options: Any) -> None:
        super().__init__(*args, sampler=sampler or None, **options)


@loaders.mistake(breaks='An index is whatever the dataset takes: 0, "" or a key.')
class FalsyIndex(Serial):
    """An index that is 0 or empty was left out, or taken for the end of the sampler: an index is whatever the dataset
    takes.
    """

    def chosen(self) -> Iterable[Any]:
        if self.sampler is not None:
            self.sampler = filter(None, self.sampler)
        return super().chosen()


@loaders.variant(FalsyIndex)
class _(Serial):
    def chosen(self) -> Iterable[Any]:
        if self.sampler is not None:
            self.sampler = itertools.takewhile(bool, self.sampler)
        return super().chosen()


@loaders.mistake(breaks="collate_fn is called on the list of samples of each batch")
class EmptyBatchLeftOut(Serial):
    """An empty list of the batch sampler was left out. It is a batch without samples, and collate_fn decides about it."""

    def from_table(self) -> Iterator[Any]:
        self.indices = filter(None, self.indices) if self.batched else self.indices
        return super().from_table()


@loaders.mistake(breaks="it has a length only if indices are made from it.")
class LengthOfTheDataSet(Serial):
    """len(dataset) was asked, though a sampler or a batch_sampler gives the indices: a dataset need not have a length
    then.
    """

    def __iter__(self) -> Iterator[Any]:
        if not self.iterable:
            len(self.dataset)
        return super().__iter__()


@loaders.mistake(breaks="Indices come from batch_sampler, or from sampler in batches of batch_size")
class SamplerIgnored(Serial):
    """The samples did not come in the sampler's order, but in the dataset's."""

    def chosen(self) -> Iterable[Any]:
        if not self.iterable:
            self.sampler = None
        return super().chosen()


@loaders.mistake(
    breaks="At the start of the epoch, before the sampler draws, one number is drawn as DataLoader does"
)
class NoBaseSeed(Serial):
    """No base seed was drawn, or not with all arguments. Only workers need it, and yet DataLoader draws it always, from
    the loader's generator if it has one.
    """

    def draw(self) -> None:
        pass


@loaders.variant(NoBaseSeed)
class _(Serial):
    """To shuffle only."""

    def draw(self) -> None:
        if self.shuffle:
            super().draw()


@loaders.variant(NoBaseSeed)
class _(Serial):
    """Not for streams."""

    def draw(self) -> None:
        if not self.iterable:
            super().draw()


@loaders.variant(NoBaseSeed)
class _(Serial):
    """Where a generator is given."""

    def draw(self) -> None:
        if self.generator is not None:
            super().draw()


@loaders.variant(NoBaseSeed)
class _(Serial):
    """Not beside a sampler."""

    def draw(self) -> None:
        if self.sampler is None and self.batch_sampler is None:
            super().draw()


@loaders.mistake(breaks="what is drawn from; torch's global generator if it is None.")
class BaseSeedFromTheGlobalGenerator(Serial):
    """The base seed was drawn from torch's global generator, though the loader has a generator of its own."""

    def draw(self) -> None:
        torch.empty((), dtype=torch.int64).random_()


@loaders.mistake(
    breaks="one number is drawn as DataLoader does: `torch.empty((), "
    "dtype=torch.int64).random_(generator=generator)`."
)
class BaseSeedDrawnInADifferentWay(Serial):
    """More or less was drawn than one number an epoch, a whole int64: the generator stands elsewhere afterwards. Perhaps a
    number is drawn for each batch, or one of a different dtype.
    """

    def draw(self) -> None:
        torch.rand(1, generator=self.generator)


@loaders.variant(BaseSeedDrawnInADifferentWay)
class _(Serial):
    """For each batch."""

    def fetched(self, indices: Any) -> list[Any]:
        self.draw()
        return super().fetched(indices)


@loaders.variant(BaseSeedDrawnInADifferentWay)
class _(Serial):
    """Twice."""

    def draw(self) -> None:
        super().draw()
        super().draw()


@loaders.mistake()
class NotShuffled(Serial):
    """shuffle=True is accepted, and the samples come in the dataset's order."""

    def shuffled(self) -> Iterable[int]:
        return range(len(self.dataset))


@loaders.mistake()
class ShuffleSeededAnew(Serial):
    """The order depends on no generator. Perhaps a constant seeds it: it is then the same in each epoch, and
    the model soon knows every batch's neighbours.
    """

    def shuffled(self) -> Iterable[int]:
        return torch.randperm(len(self.dataset), generator=torch.Generator().manual_seed(0)).tolist()


@loaders.mistake()
class ShuffledByRandom(Serial):
    """random or NumPy gives the order: torch.manual_seed and the loader's generator have no say."""

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


@loaders.variant(GeneratorIgnored)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return torch.randperm(len(self.dataset)).tolist()


@loaders.mistake()
class BaseSeedAfterTheOrder(Serial):
    """The order was drawn before the base seed. DataLoader draws the base seed when its iterator is made, and the order
    when the first index is asked for.
    """

    def shuffled(self) -> Iterable[int]:
        return list(super().shuffled())


@loaders.variant(BaseSeedAfterTheOrder)
class _(Serial):
    """Also of the caller's sampler: the first index is asked for at once."""

    def shuffled(self) -> Iterable[int]:
        return list(super().shuffled())

    def chosen(self) -> Iterable[Any]:
        if self.sampler is not None:
            indices = iter(self.sampler)
            self.sampler = itertools.chain(list(itertools.islice(indices, 1)), indices)
        return super().chosen()


@loaders.variant(BaseSeedAfterTheOrder)
class _(Serial):
    """By randperm."""

    def shuffled(self) -> Iterable[int]:
        return torch.randperm(len(self.dataset), generator=self.generator).tolist()


@loaders.variant(BaseSeedAfterTheOrder)
class _(Serial):
    """Only of the caller's sampler."""

    def chosen(self) -> Iterable[Any]:
        if self.sampler is not None:
            indices = iter(self.sampler)
            self.sampler = itertools.chain(list(itertools.islice(indices, 1)), indices)
        return super().chosen()


@loaders.mistake()
class RandpermWithoutASeed(Serial):
    """Without a generator the order is not RandomSampler's. RandomSampler draws a seed from the global generator, and
    permutes with a new generator of that seed; torch.randperm permutes with the global one.
    """

    def shuffled(self) -> Iterable[int]:
        yield from torch.randperm(len(self.dataset), generator=self.generator).tolist()


@loaders.mistake()
class GlobalGeneratorDrawnFrom(Serial):
    """The order is right, and yet a number was drawn from torch's global generator. Perhaps the seed that RandomSampler
    needs without a generator is drawn with one, too.
    """

    def shuffled(self) -> Iterable[int]:
        torch.empty((), dtype=torch.int64).random_()
        return super().shuffled()


@loaders.mistake()
class AllIndicesAtOnce(Serial):
    """All indices were asked of a sampler, or of a batch_sampler, before the first batches came: with one that has no end
    the loop never begins.
    """

    def chosen(self) -> Iterable[Any]:
        self.sampler = None if self.sampler is None else list(self.sampler)
        return super().chosen()


@loaders.variant(AllIndicesAtOnce)
class _(Serial):
    """Of both."""

    def chosen(self) -> Iterable[Any]:
        self.sampler = None if self.sampler is None else list(self.sampler)
        return super().chosen() if self.batch_sampler is None else list(self.batch_sampler)


@loaders.variant(AllIndicesAtOnce)
class _(Serial):
    """Of the batch sampler."""

    def chosen(self) -> Iterable[Any]:
        return super().chosen() if self.batch_sampler is None else list(self.batch_sampler)


@loaders.mistake()
class AllSamplesAtOnce(Serial):
    """The whole stream was read before the first batches came: it needs memory for all of it, and a stream may have no end."""

    def from_stream(self) -> Iterator[Any]:
        self.dataset = list(iter(self.dataset))
        return super().from_stream()


@loaders.variant(AllSamplesAtOnce)
class _(Serial):
    """Single samples."""

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            self.dataset = list(iter(self.dataset))
        return super().from_stream()


@loaders.mistake()
class AllBatchesAtOnce(Serial):
    """All samples of a dataset were read before the first batches came. Perhaps a list of all batches was
    made: it needs memory for the whole epoch, and a sampler may have no end.
    """

    def from_table(self) -> Iterator[Any]:
        return iter(list(super().from_table()))


@loaders.mistake()
class ReadsFarAhead(Serial):
    """More than one batch was read ahead of what was handed over: the next may take long, or never come, and training waits for
    it.
    """

    def __iter__(self) -> Iterator[Any]:
        batches = super().__iter__()
        ready = list(itertools.islice(batches, 3))
        while ready:
            ready += itertools.islice(batches, 1)
            yield ready.pop(0)


@loaders.variant(FalsyIndex)
class _(Serial):
    """Single samples: `while index := next(indices, None)`."""

    def from_table(self) -> Iterator[Any]:
        if not self.batched:
            self.indices = itertools.takewhile(bool, self.indices)
        return super().from_table()


@loaders.mistake(breaks='An index is whatever the dataset takes: 0, "" or a key.')
class IndexMadeAnInt(Serial):
    """An error came for an index that is no number. Perhaps each index is made an int: an index is whatever the dataset
    takes, a key, too.
    """

    def fetched(self, indices: Any) -> list[Any]:
        if getattr(self.dataset, "__getitems__", None) is not None:
            return super().fetched(indices)
        return [self.dataset[int(index)] for index in indices]


@loaders.variant(IndexMadeAnInt)
class _(Serial):
    """Single samples, too."""

    def from_table(self) -> Iterator[Any]:
        if not self.batched:
            self.indices = map(int, self.indices)
        return super().from_table()


@loaders.mistake(
    breaks="or else from RandomSampler(dataset, generator=generator) (shuffle=True) or "
    "SequentialSampler(dataset)."
)
class ShuffledUnlessFalse(Serial):
    """Without shuffle the samples of a dataset did not come in its order. Perhaps the test is `shuffle is not False`: not
    given it is None, which asks for nothing.
    """

    def order(self) -> Iterable[int]:
        return super().order() if self.shuffle is False else self.shuffled()
