"""What people write for 02.chunk_sampler: what decides the order, and how often it can be gone through."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.chunk_sampler import chunk_sampler
from helpers.labs.dataloader.chunk_sampler_mistakes import Right


@chunk_sampler.mistake()
class EpochIgnored(Right):
    """set_epoch keeps a number that nothing looks at: all epochs have the order of the first."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@chunk_sampler.variant(EpochIgnored)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.order = list(super().__iter__())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)


@chunk_sampler.mistake()
class SeedIgnored(Right):
    """The epoch alone decides: five runs with five seeds see the data in one order."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.epoch)


@chunk_sampler.mistake()
class SeedAndEpochIgnored(Right):
    """The generator starts from a constant: every run and every epoch has one order."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)


@chunk_sampler.mistake()
class SeedTimesEpoch(Right):
    """0 times anything is 0: in epoch 0 all seeds have one order, and with seed 0 all epochs."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed * self.epoch)


@chunk_sampler.mistake()
class FirstEpochNotShuffled(Right):
    """Epoch 0 is an epoch, too: `if self.epoch` is false there, and the first epoch goes through the files in
    order.
    """

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__() if self.epoch else iter(range(len(self)))


@chunk_sampler.mistake()
class GlobalGeneratorDrawnFrom(Right):
    """The order hangs on what else the program has drawn: two ranks, or a run that is resumed, get other
    orders.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(int(torch.randint(2**31, ())))


@chunk_sampler.variant(GlobalGeneratorDrawnFrom)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        return torch.randperm(len(self.lengths)).tolist()

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return torch.randperm(length).tolist()


@chunk_sampler.variant(GlobalGeneratorDrawnFrom)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        return random.sample(range(len(self.lengths)), len(self.lengths))

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return random.sample(range(length), length)


@chunk_sampler.variant(GlobalGeneratorDrawnFrom)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        return np.random.permutation(len(self.lengths)).tolist()

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return np.random.permutation(length).tolist()


@chunk_sampler.mistake()
class GlobalGeneratorSeeded(Right):
    """The order is right, but the program's own generator starts over in each epoch: dropout and augmentation
    repeat. Use a generator of your own.
    """

    def __iter__(self) -> Iterator[Any]:
        torch.manual_seed(self.seed * 1000 + self.epoch)
        order = []
        for chunk in torch.randperm(len(self.lengths)).tolist():
            order += [self.start(chunk) + place for place in torch.randperm(self.lengths[chunk]).tolist()]
        return iter(order)


@chunk_sampler.variant(GlobalGeneratorSeeded)
class _(Right):
    def __iter__(self) -> Iterator[Any]:
        random.seed(self.seed * 1000 + self.epoch)
        order = []
        for chunk in random.sample(range(len(self.lengths)), len(self.lengths)):
            inside = list(range(self.start(chunk), self.start(chunk) + self.lengths[chunk]))
            random.shuffle(inside)
            order += inside
        return iter(order)


@chunk_sampler.variant(GlobalGeneratorSeeded)
class _(Right):
    def __iter__(self) -> Iterator[Any]:
        np.random.seed(self.seed * 1000 + self.epoch)
        order = []
        for chunk in np.random.permutation(len(self.lengths)):
            order += [
                self.start(chunk) + place for place in np.random.permutation(self.lengths[chunk]).tolist()
            ]
        return iter(order)


@chunk_sampler.mistake()
class GeneratorKept(Right):
    """A generator that is kept moves on with each iteration: the order hangs on how often the sampler was
    used before, and a resumed run does not find its place.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.kept = np.random.default_rng((seed, 0))

    def set_epoch(self, epoch: int) -> None:
        self.kept = np.random.default_rng((self.seed, epoch))

    def rng(self) -> np.random.Generator:
        return self.kept


@chunk_sampler.variant(GeneratorKept)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.kept = np.random.default_rng(seed)

    def rng(self) -> np.random.Generator:
        return self.kept


@chunk_sampler.mistake()
class EpochsCounted(Right):
    """The sampler counts its iterations by itself: to look at the order once, or to resume, moves it on."""

    def __iter__(self) -> Iterator[Any]:
        order = list(super().__iter__())
        self.epoch += 1
        return iter(order)


@chunk_sampler.mistake()
class EpochsAddedUp(Right):
    """set_epoch(5) says which epoch it is, not by how many to go on."""

    def set_epoch(self, epoch: int) -> None:
        self.epoch += epoch


@chunk_sampler.mistake()
class SaltedHash(Right):
    """Python salts the hash of text anew in each process: each rank shuffles in its own way."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(hash(f"{self.seed}-{self.epoch}") % 2**63)


@chunk_sampler.mistake()
class FreshEntropy(Right):
    """A generator without a seed takes one from the operating system: nothing repeats, and each rank has an
    order of its own.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng()


@chunk_sampler.variant(FreshEntropy)
class _(Right):
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(time.perf_counter_ns())


@chunk_sampler.mistake()
class IteratorOfItself(Right):
    """__iter__ returns the sampler itself, with one place for all: two loops over it share the place. Let
    __iter__ be a generator function.
    """

    def __iter__(self) -> Any:
        self.order = list(super().__iter__())
        return self

    def __next__(self) -> Any:
        if not self.order:
            raise StopIteration
        return self.order.pop(0)


@chunk_sampler.mistake()
class GoodForOneEpoch(Right):
    """The iteration was begun in __init__, and ends once and for all: the second epoch is empty."""

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.running = super().__iter__()

    def __iter__(self) -> Iterator[Any]:
        return self.running
