"""What people write for 02.chunk_sampler: indices, lengths, and how they shuffle."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.chunk_sampler.exercise import chunk_sampler
from helpers.labs.dataloader.chunk_sampler.right import Right


@chunk_sampler.mistake()
class LocalIndices(Right):
    """Each chunk was numbered from 0: the indices of the chunks before it must be added."""

    def start(self, chunk: int) -> int:
        return 0


@chunk_sampler.mistake()
class EqualLengthsAssumed(Right):
    """chunk * length is where a chunk begins if all have one length. The last file is nearly always shorter;
    accumulate tells it for any lengths.
    """

    def start(self, chunk: int) -> int:
        return chunk * self.lengths[0]


@chunk_sampler.variant(EqualLengthsAssumed)
class _(Right):
    def start(self, chunk: int) -> int:
        return chunk * self.lengths[chunk]


@chunk_sampler.variant(EqualLengthsAssumed)
class _(Right):
    def start(self, chunk: int) -> int:
        return chunk * max(self.lengths)


@chunk_sampler.variant(EqualLengthsAssumed)
class _(Right):
    def start(self, chunk: int) -> int:
        return chunk * (sum(self.lengths) // len(self.lengths))


@chunk_sampler.mistake()
class ChunkEndForItsStart(Right):
    """accumulate gives where the chunks end. A chunk begins where the one before it ends."""

    def start(self, chunk: int) -> int:
        return list(accumulate(self.lengths))[chunk]


@chunk_sampler.mistake()
class LastIndexLeftOut(Right):
    """The last index of each chunk was left out: the end of a range is not in it, so nothing needs to be
    taken off.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.permutation(max(length - 1, 0)).tolist()


@chunk_sampler.mistake()
class DrawnWithReplacement(Right):
    """Drawing an index at a time gives some twice and some never. A permutation gives each once."""

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.integers(length, size=length).tolist() if length else []


@chunk_sampler.variant(DrawnWithReplacement)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        return rng.integers(len(self.lengths), size=len(self.lengths)).tolist() if self.lengths else []


@chunk_sampler.mistake()
class TensorsForInts(Right):
    """Going through torch.randperm gives tensors without dimensions, not ints: a dict of samples does not
    find them, and as keys two of them are never alike. tolist() gives ints.
    """

    def places(self, rng: np.random.Generator, length: int) -> Any:
        return torch.from_numpy(rng.permutation(length))


@chunk_sampler.mistake()
class ChunksInsteadOfIndices(Right):
    """A sampler gives one index at a time; a list of them would be a batch sampler's."""

    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        for chunk in self.chunks(rng):
            yield [self.start(chunk) + place for place in self.places(rng, self.lengths[chunk])]


@chunk_sampler.mistake()
class LengthInChunks(Right):
    """len(sampler) counts samples: the loader works out its number of batches from it, and a progress bar its
    end.
    """

    def __len__(self) -> int:
        return len(self.lengths)


@chunk_sampler.mistake()
class NoLength:
    """Without __len__ the sampler still works, but len(loader) raises, and so does what asks for the steps of
    an epoch.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        self._right = Right(lengths, seed)
        self.set_epoch = self._right.set_epoch

    def __iter__(self) -> Iterator[Any]:
        return iter(self._right)


@chunk_sampler.mistake()
class EverythingShuffled(Right):
    """One shuffle of all indices is the most random order, and the worst to read: nearly every sample opens
    another chunk.
    """

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rng().permutation(len(self)).tolist())


@chunk_sampler.mistake()
class ChunksInTurns(Right):
    """One index of each chunk in turn mixes well, and switches the chunk at every step."""

    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        rows = [
            [self.start(c) + place for place in self.places(rng, self.lengths[c])] for c in self.chunks(rng)
        ]
        for row in zip_longest(*rows):
            yield from (index for index in row if index is not None)


@chunk_sampler.mistake()
class LengthsShuffled(Right):
    """The lengths were shuffled, and the chunks laid out anew: the borders are no longer those of the files.
    Shuffle the numbers of the chunks.
    """

    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        lengths = rng.permutation(self.lengths).astype(int).tolist()
        starts = [end - length for length, end in zip(lengths, accumulate(lengths), strict=True)]
        for chunk in rng.permutation(len(lengths)):
            yield from (starts[chunk] + place for place in rng.permutation(lengths[chunk]).tolist())


@chunk_sampler.variant(LengthsShuffled)
class _(Right):
    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        start = 0
        for length in rng.permutation(self.lengths).astype(int).tolist():
            yield from (start + place for place in rng.permutation(length).tolist())
            start += length


@chunk_sampler.mistake()
class CallersListShuffled(Right):
    """random.shuffle works in place: it shuffled the list of lengths that the caller still holds."""

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.starts = list(accumulate(lengths, initial=0))
        random.Random(seed).shuffle(lengths)


@chunk_sampler.variant(CallersListShuffled)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        lengths.sort()
        super().__init__(lengths, seed)


@chunk_sampler.mistake()
class ChunkOrderFixed(Right):
    """Only the indices inside a chunk are shuffled: the model meets the files in the same order in every
    epoch.
    """

    def chunks(self, rng: np.random.Generator) -> list[int]:
        return list(range(len(self.lengths)))


@chunk_sampler.mistake()
class ChunkOrderDrawnOnce(Right):
    """The chunks come in one order for ever, perhaps drawn once in __init__ or kept from the first iteration: set_epoch is to
    change it.
    """

    def chunks(self, rng: np.random.Generator) -> list[int]:
        return np.random.default_rng(self.seed).permutation(len(self.lengths)).tolist()


@chunk_sampler.mistake()
class ChunksTurnedRound(Right):
    """Starting from another chunk in each epoch is no shuffle: each chunk still follows the same other one."""

    def chunks(self, rng: np.random.Generator) -> list[int]:
        return np.roll(np.arange(len(self.lengths)), rng.integers(100)).tolist()


@chunk_sampler.variant(ChunksTurnedRound)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        return np.roll(np.arange(len(self.lengths)), -self.epoch).tolist()


@chunk_sampler.mistake()
class ChunksForthAndBack(Right):
    """Every other epoch backwards is no shuffle: there are two orders in all."""

    def chunks(self, rng: np.random.Generator) -> list[int]:
        order = list(range(len(self.lengths)))
        return order[::-1] if self.epoch % 2 else order


@chunk_sampler.mistake()
class ChunksNotShuffledInside(Right):
    """The chunks are shuffled, but each is read from its first sample to its last: a batch holds neighbours,
    which are often of one class.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return list(range(length))


@chunk_sampler.mistake()
class InsideDrawnOnce(Right):
    """The orders inside the chunks were drawn from the seed alone: neighbours stay neighbours in all epochs."""

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return np.random.default_rng((self.seed, length)).permutation(length).tolist()


@chunk_sampler.variant(InsideDrawnOnce)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        rng = np.random.default_rng(seed)
        self.inside = [rng.permutation(length).tolist() for length in lengths]

    def __iter__(self) -> Iterator[Any]:
        for chunk in self.chunks(self.rng()):
            yield from (self.start(chunk) + place for place in self.inside[chunk])


@chunk_sampler.mistake()
class ChunksTurnedRoundInside(Right):
    """Starting at another place of the chunk is no shuffle: each sample still follows the same other one."""

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return np.roll(np.arange(length), rng.integers(100)).tolist()


@chunk_sampler.mistake()
class OnePermutationForAllChunks(Right):
    """The generator was made anew, from the same numbers, for each chunk: all chunks get one permutation."""

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return self.rng().permutation(length).tolist()


@chunk_sampler.variant(OnePermutationForAllChunks)
class _(Right):
    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return torch.randperm(length, generator=generator).tolist()


# What decides the order, and how often it can be gone through.


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
    """The order depends on what else the program has drawn: two ranks, or a run that is resumed, get other
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
    """The order is right, but a global generator of the program starts over in each epoch: what the program draws from it
    repeats. Use a generator of your own.
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
    """A generator that is kept moves on with each iteration: the order depends on how often the sampler was
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
    """The order depends on the hash of a text, which Python salts anew in each process: each rank shuffles in its own way."""

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


@chunk_sampler.variant(ChunkOrderDrawnOnce)
class _(Right):
    order: list[int] | None = None

    def __iter__(self) -> Iterator[Any]:
        self.order = self.order or list(super().__iter__())
        return iter(self.order)
