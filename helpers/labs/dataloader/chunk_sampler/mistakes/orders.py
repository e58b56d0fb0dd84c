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


@chunk_sampler.mistake(
    breaks="chunk 0 holds the first lengths[0] indices, chunk 1 the next lengths[1], and so on."
)
class LocalIndices(Right):
    """No index is as large as the longest chunk is long, so that some come twice and some never. Perhaps each
    chunk was numbered from 0: the indices of the chunks before it must be added.
    """

    def start(self, chunk: int) -> int:
        return 0


@chunk_sampler.mistake(
    breaks="chunk 0 holds the first lengths[0] indices, chunk 1 the next lengths[1], and so on."
)
class EqualLengthsAssumed(Right):
    """Where the chunks are of unequal length, indices are wrong. Perhaps chunk * length is taken for the
    beginning of a chunk: the last file is nearly always shorter, and accumulate tells it for any lengths.
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


@chunk_sampler.mistake(
    breaks="chunk 0 holds the first lengths[0] indices, chunk 1 the next lengths[1], and so on."
)
class ChunkEndForItsStart(Right):
    """Some indices come twice, some never, and some are not in the dataset. Perhaps a chunk begins where it
    ends: accumulate gives the ends, and a chunk begins where the one before it ends.
    """

    def start(self, chunk: int) -> int:
        return list(accumulate(self.lengths))[chunk]


@chunk_sampler.mistake(breaks="Iterating gives each index once")
class LastIndexLeftOut(Right):
    """Some indices never come, perhaps the last one of each chunk: the end of a range is not in it, so
    nothing needs to be taken off.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.permutation(max(length - 1, 0)).tolist()


@chunk_sampler.mistake(breaks="Iterating gives each index once")
class DrawnWithReplacement(Right):
    """Some indices come twice and some never. Perhaps each index is drawn for itself: a permutation gives
    each once.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.integers(length, size=length).tolist() if length else []


@chunk_sampler.variant(DrawnWithReplacement)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        return rng.integers(len(self.lengths), size=len(self.lengths)).tolist() if self.lengths else []


@chunk_sampler.mistake(breaks="Iterating gives each index once, as a Python int.")
class TensorsForInts(Right):
    """The indices are tensors, and no ints: a dict of samples does not find them, and as keys two of them are
    never alike. Perhaps they come from torch.randperm: tolist() gives ints.
    """

    def places(self, rng: np.random.Generator, length: int) -> Any:
        return torch.from_numpy(rng.permutation(length))


@chunk_sampler.mistake(breaks="Iterating gives each index once, as a Python int.")
class ChunksInsteadOfIndices(Right):
    """A sampler gives one index at a time; a list of them would be a batch sampler's."""

    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        for chunk in self.chunks(rng):
            yield [self.start(chunk) + place for place in self.places(rng, self.lengths[chunk])]


@chunk_sampler.mistake()
class LengthInChunks(Right):
    """len() gives the number of chunks, and samples are to be counted: the loader works out its number of
    batches from it, and a progress bar its end.
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
    """The chunk changes at many steps, and each change opens another file. Perhaps all indices were shuffled
    at once: the most random order, and the worst to read.
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
    """The borders between the runs of indices are not those of the files. Perhaps the lengths were shuffled,
    and the chunks laid out anew: shuffle the numbers of the chunks.
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


@chunk_sampler.mistake(breaks="The list `lengths` stays as it is.")
class CallersListChanged(Right):
    """The list of lengths that the caller still holds was changed, perhaps by random.shuffle, sort or pop:
    they work in place. Work on a copy.
    """

    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.starts = list(accumulate(lengths, initial=0))
        random.Random(seed).shuffle(lengths)


@chunk_sampler.variant(CallersListChanged)
class _(Right):
    """Not before an iteration has ended."""

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        self.lengths.sort()


@chunk_sampler.variant(CallersListChanged)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        lengths.sort()
        super().__init__(lengths, seed)


@chunk_sampler.mistake()
class ChunkOrderFixed(Right):
    """The chunks come in their own order in every epoch: the model meets the files in the same order each
    time.
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
    """Each epoch starts from some chunk and goes round: that is no shuffle, since each chunk still follows
    the same other one.
    """

    def chunks(self, rng: np.random.Generator) -> list[int]:
        return np.roll(np.arange(len(self.lengths)), rng.integers(100)).tolist()


@chunk_sampler.variant(ChunksTurnedRound)
class _(Right):
    def chunks(self, rng: np.random.Generator) -> list[int]:
        return np.roll(np.arange(len(self.lengths)), -self.epoch).tolist()


@chunk_sampler.mistake()
class ChunksForthAndBack(Right):
    """The chunks come forwards or backwards, and in no other order: there are two orders in all, which is no
    shuffle.
    """

    def chunks(self, rng: np.random.Generator) -> list[int]:
        order = list(range(len(self.lengths)))
        return order[::-1] if self.epoch % 2 else order


@chunk_sampler.mistake()
class ChunksNotShuffledInside(Right):
    """In some chunks the samples come from the first to the last in every epoch: a batch holds neighbours,
    which are often of one class.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return list(range(length))


@chunk_sampler.mistake()
class InsideDrawnOnce(Right):
    """Inside a chunk one order comes in all epochs, perhaps drawn from the seed alone: neighbours stay
    neighbours.
    """

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
    """Inside a chunk each epoch starts from some sample and goes round: that is no shuffle, since each sample
    still follows the same other one.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return np.roll(np.arange(length), rng.integers(100)).tolist()


@chunk_sampler.mistake()
class OnePermutationForAllChunks(Right):
    """In each epoch all chunks of one length get one permutation. Perhaps the generator was made anew, from
    the same numbers, for each chunk.
    """

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return self.rng().permutation(length).tolist()


@chunk_sampler.variant(OnePermutationForAllChunks)
class _(Right):
    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return torch.randperm(length, generator=generator).tolist()


# What decides the order, and how often it can be gone through.


@chunk_sampler.mistake(breaks="The orders differ from epoch to epoch and from seed to seed.")
class EpochIgnored(Right):
    """New samplers have one order in all epochs, whatever set_epoch was told. Perhaps it keeps a number that
    nothing looks at.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@chunk_sampler.variant(EpochIgnored)
class _(Right):
    def __init__(self, lengths: list[int], seed: int) -> None:
        super().__init__(lengths, seed)
        self.order = list(super().__iter__())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)


@chunk_sampler.mistake(breaks="The orders differ from epoch to epoch and from seed to seed.")
class SeedIgnored(Right):
    """All seeds have one order: five runs with five seeds see the data in the same order."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.epoch)


@chunk_sampler.mistake(breaks="The orders differ from epoch to epoch and from seed to seed.")
class SeedAndEpochIgnored(Right):
    """Every seed and every epoch has one order, perhaps since the generator starts from a constant."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)


@chunk_sampler.mistake(breaks="The orders differ from epoch to epoch and from seed to seed.")
class SeedTimesEpoch(Right):
    """In epoch 0 all seeds have one order, and with one seed all epochs have. Perhaps seed and epoch are
    multiplied: 0 times anything is 0.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed * self.epoch)


@chunk_sampler.mistake(breaks="The orders differ from epoch to epoch and from seed to seed.")
class FirstEpochNotShuffled(Right):
    """In epoch 0 the files come in order, sample by sample, whatever the seed is. Perhaps `if self.epoch`
    decides: that is false in epoch 0, which is an epoch, too.
    """

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__() if self.epoch else iter(range(len(self)))


@chunk_sampler.mistake()
class GlobalGeneratorDrawnFrom(Right):
    """A second sampler with the same arguments has a different order. Perhaps a global generator is drawn
    from, and the order depends on what else the program has drawn: two ranks, or a run that is resumed, get
    other orders.
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
    """The order is right, but a global generator of the program starts over, perhaps by a seed in each epoch:
    what the program draws from it repeats. Use a generator of your own.
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
    """The order depends on how often the sampler was gone through before, and a resumed run does not find its
    place. Perhaps a generator is kept: it moves on with each iteration.
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
    """A second iteration has the order of the next epoch. Perhaps the sampler counts its iterations by
    itself: to look at the order once, or to resume, moves it on.
    """

    def __iter__(self) -> Iterator[Any]:
        order = list(super().__iter__())
        self.epoch += 1
        return iter(order)


@chunk_sampler.mistake()
class EpochsAddedUp(Right):
    """After set_epoch(5) and back the order is a different one. Perhaps the numbers are added up:
    set_epoch(5) says which epoch it is, not by how many to go on.
    """

    def set_epoch(self, epoch: int) -> None:
        self.epoch += epoch


@chunk_sampler.mistake()
class SaltedHash(Right):
    """The order depends on the hash of a text, which Python salts anew in each process: each rank shuffles in its own way."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(hash(f"{self.seed}-{self.epoch}") % 2**63)


@chunk_sampler.mistake()
class FreshEntropy(Right):
    """The order never comes again, not even for the same arguments. Perhaps a generator without a seed takes
    one from the operating system: each rank then has an order of its own.
    """

    def rng(self) -> np.random.Generator:
        return np.random.default_rng()


@chunk_sampler.variant(FreshEntropy)
class _(Right):
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(time.perf_counter_ns())


@chunk_sampler.mistake()
class IteratorOfItself(Right):
    """Two iterations over one sampler at once share the indices: what one of them gives, the other does not. Perhaps __iter__
    returns the sampler itself, with one place for all: let __iter__ be a generator function.
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
    """After its first epoch a sampler gives no index. Perhaps the iteration was begun in __init__: it ends
    once and for all.
    """

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


@chunk_sampler.mistake(breaks="There may be no chunks.")
class NoChunksConcatenated(Right):
    """Where there are no chunks it raised. Perhaps torch.cat was given an empty list, which it refuses."""

    def __iter__(self) -> Iterator[int]:
        rng = self.rng()
        parts = [
            self.start(chunk) + torch.tensor(self.places(rng, self.lengths[chunk]), dtype=torch.int64)
            for chunk in self.chunks(rng)
        ]
        return iter(torch.cat(parts).tolist())
