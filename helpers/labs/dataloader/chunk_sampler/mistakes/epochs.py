"""What people write for 02.chunk_sampler: epochs, seeds and processes, and what an index is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.labs.dataloader.chunk_sampler.exercise import chunk_sampler
from helpers.labs.dataloader.chunk_sampler.right import Right


@chunk_sampler.mistake()
class NumpysInts(Right):
    """The indices are NumPy's numbers and not Python's ints: a loader takes them, json does not. int(index), or .tolist()."""

    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        for chunk in self.chunks(rng):
            yield from self.start(chunk) + rng.permutation(self.lengths[chunk])


@chunk_sampler.mistake()
class FirstTwoEpochsAlike(Right):
    """Epochs 0 and 1 have one order, perhaps by `epoch or 1`: 0 is an epoch like any other."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch or 1))


@chunk_sampler.mistake()
class EpochsComeAgain(Right):
    """Some epochs have the order of an earlier one, perhaps by a remainder: each epoch needs an order of its own."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch % 10))


@chunk_sampler.variant(EpochsComeAgain)
class _(Right):
    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch // 2))


@chunk_sampler.mistake()
class FirstTwoSeedsAlike(Right):
    """Seeds 0 and 1 have one order, perhaps by `seed or 1`: 0 is a seed like any other."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed or 1, self.epoch))


@chunk_sampler.mistake()
class SeedsComeAgain(Right):
    """Some seeds have one order, perhaps by a remainder: a mean over several seeds is then one run."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed % 100, self.epoch))


@chunk_sampler.mistake()
class OrderByRank(Right):
    """The order depends on the rank: each rank must be able to compute the same order, to take its own part of it."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch, int(os.environ.get("RANK", 0))))


@chunk_sampler.mistake()
class OrderByProcess(Right):
    """The order depends on the number of the process: it never comes again."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch, os.getpid()))


@chunk_sampler.mistake()
class OnlyAfterSetEpoch(Right):
    """A sampler whose epoch was never set is not shuffled: a new one stands at epoch 0, and has the order of that."""

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.order = list(range(sum(lengths)))

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.order = list(super().__iter__())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)


@chunk_sampler.mistake()
class Floats(Right):
    """The indices are floats: a list refuses them. int(index)."""

    def __iter__(self) -> Iterator[Any]:
        return map(float, super().__iter__())


@chunk_sampler.mistake()
class ShortChunksSkipped(Right):
    """Chunks of one index are skipped: there is nothing to shuffle, and still something to give."""

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.permutation(length).tolist() if length > 1 else []


@chunk_sampler.mistake()
class LengthByTheLongest(Right):
    """len() counts each chunk as long as a different one: the lengths may differ, and their sum counts."""

    def __len__(self) -> int:
        return len(self.lengths) * max(self.lengths, default=0)


@chunk_sampler.variant(LengthByTheLongest)
class _(Right):
    def __len__(self) -> int:
        return len(self.lengths) * self.lengths[0] if self.lengths else 0
