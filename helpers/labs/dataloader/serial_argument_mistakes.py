"""What people write for 02.serial_loader: the order, the generator, laziness, forbidden arguments."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import RandomSampler

from helpers.labs.dataloader.serial_flawed import Serial, loaders


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
