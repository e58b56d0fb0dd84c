"""What people write for 02.chunk_sampler: epochs, seeds and processes, and what an index is."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from torch.utils.data import get_worker_info

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


@chunk_sampler.mistake()
class NewSamplerAtADifferentEpoch(Right):
    """A new sampler has a different order than after set_epoch(0), perhaps since it starts at epoch 1 or without any: it stands
    at epoch 0.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.epoch = 1


@chunk_sampler.variant(NewSamplerAtADifferentEpoch)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.key = [seed]

    def set_epoch(self, epoch: int) -> None:
        self.key = [self.seed, epoch + 1]

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.key)


@chunk_sampler.mistake()
class OrderByWorker(Right):
    """The order depends on the worker that asks: each process must be able to compute the same order, to take its own part of
    it.
    """

    def rng(self) -> np.random.Generator:
        info = get_worker_info()
        return np.random.default_rng((self.seed, self.epoch, info.id if info else 0))


@chunk_sampler.variant(OrderByWorker)
class _(Right):
    def rng(self) -> np.random.Generator:
        info = get_worker_info()
        return np.random.default_rng((info.seed if info else self.seed, self.epoch))


@chunk_sampler.mistake()
class OrderByObject(Right):
    """A second sampler with the same arguments has an order of its own, perhaps by id(self): that is an address, which is a
    different one in every process.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch, id(self)))


@chunk_sampler.mistake()
class ListsShuffledInPlace(Right):
    """The order depends on the iterations before, and set_epoch does not bring it back. Perhaps lists that are kept are shuffled
    in place: each shuffle starts from what the last one left.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.kept = [list(range(self.start(chunk), self.start(chunk) + n)) for chunk, n in enumerate(lengths)]

    def __iter__(self) -> Iterator[Any]:
        rng = random.Random(f"{self.seed} {self.epoch}")
        rng.shuffle(self.kept)
        for chunk in self.kept:
            rng.shuffle(chunk)
        return iter([index for chunk in self.kept for index in chunk])


@chunk_sampler.variant(ListsShuffledInPlace)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.kept = list(range(len(lengths)))

    def chunks(self, rng: np.random.Generator) -> list[int]:
        rng.shuffle(self.kept)
        return list(self.kept)


@chunk_sampler.variant(ListsShuffledInPlace)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.kept = [np.arange(self.start(chunk), self.start(chunk) + n) for chunk, n in enumerate(lengths)]

    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        for chunk in self.chunks(rng):
            rng.shuffle(self.kept[chunk])
            yield from self.kept[chunk].tolist()
