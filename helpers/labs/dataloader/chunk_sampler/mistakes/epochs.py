"""What people write for 02.chunk_sampler: epochs, seeds and processes, and what an index is."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from helpers.labs.dataloader.chunk_sampler.exercise import chunk_sampler
from helpers.labs.dataloader.chunk_sampler.orders import chunks_of
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
    """Epochs share an order, perhaps by a remainder: each epoch needs an order of its own."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch % 1000))


@chunk_sampler.mistake(breaks="The order of the chunks is random")
class FewOrdersOfTheChunks(Right):
    """Few orders of the chunks come, of the 24 that four chunks have. Perhaps only neighbours are swapped, or a remainder
    brings the same ones back: each order must be able to come.
    """

    def chunks(self, rng: np.random.Generator) -> list[int]:
        chunks = list(range(len(self.lengths)))
        for at in range(0, len(chunks) - 1, 2):
            if rng.random() < 0.5:
                chunks[at], chunks[at + 1] = chunks[at + 1], chunks[at]
        return chunks


@chunk_sampler.variant(FewOrdersOfTheChunks)
class _(Right):
    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch % 10))


@chunk_sampler.variant(EpochsComeAgain)
class _(Right):
    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch // 2))


@chunk_sampler.mistake(breaks="The orders differ from epoch to epoch and from seed to seed.")
class SeedZeroStays(Right):
    """With seed 0 all epochs have one order, and with a different seed they have not. Perhaps seed and epoch are multiplied:
    0 times anything is 0.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed * (self.epoch + 1))


@chunk_sampler.mistake()
class FirstTwoSeedsAlike(Right):
    """Seeds 0 and 1 have one order, perhaps by `seed or 1`: 0 is a seed like any other."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed or 1, self.epoch))


@chunk_sampler.mistake()
class SeedsComeAgain(Right):
    """Some seeds have one order, perhaps by a remainder: a mean over several seeds then counts one run more
    than once.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed % 100, self.epoch))


@chunk_sampler.mistake()
class OrderByRank(Right):
    """The order depends on the rank: each rank must be able to compute the same order, to take its own part of it."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch, int(os.environ.get("RANK", 0))))


@chunk_sampler.mistake()
class OrderByProcess(Right):
    """The order depends on the number of the process: it is a different one in each process."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch, os.getpid()))


@chunk_sampler.mistake(breaks="a new sampler stands at epoch 0.")
class OnlyAfterSetEpoch(Right):
    """Where set_epoch was never called all seeds have one order. Perhaps such a sampler is not shuffled: a
    new one stands at epoch 0, and has the order of that.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.order = list(range(sum(lengths)))

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.order = list(super().__iter__())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)


@chunk_sampler.mistake(breaks="Iterating gives each index once, as a Python int.")
class Floats(Right):
    """The indices are floats: a list refuses them. int(index)."""

    def __iter__(self) -> Iterator[Any]:
        return map(float, super().__iter__())


@chunk_sampler.mistake(breaks="Iterating gives each index once")
class ShortChunksSkipped(Right):
    """Where the lengths differ, or are 1, some indices never come. Perhaps chunks of one index are skipped:
    there is nothing to shuffle, and still something to give.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.permutation(length).tolist() if length > 1 else []


@chunk_sampler.mistake()
class LengthByTheLongest(Right):
    """len() is neither the number of indices nor that of the chunks. Perhaps each chunk counts as long as a
    different one: the lengths may differ, and their sum counts.
    """

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


ASKS_ORDER = (
    "The order depends on lengths, seed and epoch alone: it is the same in every process, and comes again."
)
ASKS_EPOCH = "Chooses the epoch for the next iterations"


@chunk_sampler.mistake(breaks=ASKS_ORDER)
class SeedZeroForNone(Right):
    """With seed 0 the order does not come again, with other seeds it does. Perhaps `if seed` decides, or `seed or ...`: 0 is
    false there, and counts as no seed.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch) if self.seed else None)


@chunk_sampler.variant(SeedZeroForNone)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed or int(np.random.default_rng().integers(2**31)))


@chunk_sampler.variant(SeedZeroForNone)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed or random.SystemRandom().getrandbits(31))


@chunk_sampler.mistake(breaks=ASKS_ORDER)
class EpochZeroForNone(Right):
    """In epoch 0 the order does not come again, in later ones it does. Perhaps `if epoch` decides: 0 is false there, and it is
    an epoch like any other.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch) if self.epoch else None)


@chunk_sampler.variant(EpochZeroForNone)
class _(Right):
    def rng(self) -> np.random.Generator:
        more = self.epoch or int(np.random.default_rng().integers(2**31))
        return np.random.default_rng((self.seed, more))


@chunk_sampler.mistake(breaks=ASKS_ORDER)
class SeedOfTheProgram(Right):
    """The order depends on how the program has seeded its global generators, perhaps by torch.initial_seed(): processes that
    are seeded differently, as ranks often are, have different orders.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch, torch.initial_seed()))


@chunk_sampler.variant(SeedOfTheProgram)
class _(Right):
    def rng(self) -> np.random.Generator:
        _, key, *_ = np.random.get_state(legacy=True)
        return np.random.default_rng((self.seed, self.epoch, int(key[0])))


@chunk_sampler.mistake(breaks=ASKS_ORDER)
class OrderByTime(Right):
    """The order depends on the time at which it is made: no two ranks have one order, and a run that is resumed does not find
    its own.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch, int(time.time())))


@chunk_sampler.variant(OrderByTime)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed + int(time.time()))


@chunk_sampler.mistake(breaks="No global generator is moved.")
class GlobalGeneratorMoved(Right):
    """The order is right, but a global generator has moved. Perhaps a number was drawn from it and never used: whoever draws
    next gets other numbers than without the sampler.
    """

    def rng(self) -> np.random.Generator:
        torch.empty((), dtype=torch.int64).random_()
        return super().rng()


@chunk_sampler.variant(GlobalGeneratorMoved)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        np.random.permutation(len(self.lengths))
        return super().chunks(rng)


@chunk_sampler.mistake(breaks="No global generator is moved.")
class GlobalGeneratorMovedMeanwhile(Right):
    """When the first index comes, a global generator is not where the program left it; a whole pass puts it back. Perhaps it is
    put back after the last index only: the body of the loop draws other numbers until then. Put it back before the first one.
    """

    def __iter__(self) -> Iterator[Any]:
        state = random.getstate()
        random.seed(self.seed * 10_007 + self.epoch)
        chunks = [list(chunk) for chunk in chunks_of(self.lengths)]
        for part in (chunks, *chunks):
            random.shuffle(part)
        for chunk in chunks:
            yield from chunk
        random.setstate(state)


@chunk_sampler.variant(GlobalGeneratorMovedMeanwhile)
class _(Right):
    """By torch, and also where the loop is left."""

    def __iter__(self) -> Iterator[Any]:
        with torch.random.fork_rng():
            torch.manual_seed(self.seed * 10_007 + self.epoch)
            for chunk in torch.randperm(len(self.lengths)).tolist():
                yield from (self.start(chunk) + torch.randperm(self.lengths[chunk])).tolist()


@chunk_sampler.mistake(breaks=ASKS_EPOCH)
class EpochReadTooLate(Right):
    """set_epoch changes the rest of an iteration that is under way. Perhaps self.epoch is read anew for each chunk: read it
    once, when the iteration starts.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return (
            np.random.default_rng((self.seed, self.epoch, int(rng.integers(2**31))))
            .permutation(length)
            .tolist()
        )


@chunk_sampler.variant(EpochReadTooLate)
class _(Right):
    def __iter__(self) -> Iterator[Any]:
        for chunk in self.chunks(self.rng()):
            own = np.random.default_rng((self.seed, self.epoch, chunk))
            yield from (self.start(chunk) + place for place in self.places(own, self.lengths[chunk]))


@chunk_sampler.mistake(breaks="a new sampler stands at epoch 0")
class EpochShared(Right):
    """set_epoch of one sampler moves other samplers, too. Perhaps the epoch is kept on the class: keep it on self."""

    shared = 0

    def set_epoch(self, epoch: int) -> None:
        EpochShared.shared = epoch

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, EpochShared.shared))


@chunk_sampler.variant(EpochShared)
class _(Right):
    kept: dict[str, int] = {"epoch": 0}  # noqa: RUF012

    def set_epoch(self, epoch: int) -> None:
        self.kept["epoch"] = epoch

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.kept["epoch"]))


@chunk_sampler.mistake(breaks="Iterating gives each index once, as a Python int.")
class IndexOfAnEmptyChunk(Right):
    """Only where a chunk is empty an index comes that is not the chunk's. Perhaps each chunk gives one index or more, by
    max(1, length): a length of 0 gives none.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.permutation(max(1, length)).tolist()


@chunk_sampler.variant(IndexOfAnEmptyChunk)
class _(Right):
    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.permutation(length or 1).tolist()


@chunk_sampler.mistake(breaks="and comes again")
class UsedUp(Right):
    """The second iteration of one sampler gives nothing. Perhaps the order is kept, and the first iteration uses it up: make
    it anew in each __iter__.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.left = list(super().__iter__())

    def __iter__(self) -> Iterator[Any]:
        while self.left:
            yield self.left.pop(0)


@chunk_sampler.variant(UsedUp)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.running = iter(list(super().__iter__()))

    def __iter__(self) -> Iterator[Any]:
        return self.running


@chunk_sampler.mistake(breaks="Iterations do not disturb each other.")
class GeneratorShared(Right):
    """Of two iterations over one sampler at once, one has a different order than alone. Perhaps the sampler has one generator
    for all, which each iteration seeds, and draws from as it goes on: make one in each __iter__.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.own = random.Random()

    def __iter__(self) -> Iterator[int]:
        self.own.seed(f"{self.seed}/{self.epoch}")
        for chunk in self.own.sample(range(len(self.lengths)), len(self.lengths)):
            for place in self.own.sample(range(self.lengths[chunk]), self.lengths[chunk]):
                yield self.start(chunk) + place


@chunk_sampler.variant(GeneratorShared)
class _(Right):
    """A torch.Generator."""

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.own = torch.Generator()

    def __iter__(self) -> Iterator[int]:
        self.own.manual_seed(self.seed * 1_000_003 + self.epoch)
        for chunk in torch.randperm(len(self.lengths), generator=self.own).tolist():
            for place in torch.randperm(self.lengths[chunk], generator=self.own).tolist():
                yield self.start(chunk) + place


@chunk_sampler.variant(GeneratorShared)
class _(Right):
    """A chunk at a time."""

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.own = np.random.RandomState(seed)

    def __iter__(self) -> Iterator[int]:
        self.own.seed(self.seed * 10_007 + self.epoch)
        for chunk in self.own.permutation(len(self.lengths)):
            yield from (self.start(chunk) + self.own.permutation(self.lengths[chunk])).tolist()


@chunk_sampler.variant(SeedsComeAgain)
class _(Right):
    """Some bits of the seed."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed & 255, self.epoch))
