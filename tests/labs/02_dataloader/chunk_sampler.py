"""Right answers to 02.chunk_sampler, in different shapes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch.utils.data import Sampler


class ChunksByTorch(Sampler):
    """A generator of torch's, a loop, and seed + epoch as DistributedSampler has it."""

    def __init__(self, lengths: Sequence[int], seed: int) -> None:
        self.lengths, self.seed, self.epoch = list(lengths), seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return sum(self.lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch)
        for chunk in torch.randperm(len(self.lengths), generator=generator).tolist():
            start = sum(self.lengths[:chunk])
            for place in torch.randperm(self.lengths[chunk], generator=generator).tolist():
                yield start + place


class ChunksByNumPy:
    """NumPy's integers; whole chunks are drawn and laid out before the first index comes."""

    def __init__(self, lengths: Sequence[int], seed: int) -> None:
        self.borders = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return int(self.borders[-1])

    def __iter__(self) -> Iterator[int]:
        rng = np.random.RandomState(self.seed * 10_007 + self.epoch)
        chunks = [
            rng.permutation(np.arange(self.borders[chunk], self.borders[chunk + 1]))
            for chunk in rng.permutation(len(self.borders) - 1)
        ]
        return iter([index for chunk in chunks for index in chunk.tolist()])


class ChunksAsLists:
    """Not a Sampler; Python's own generator shuffles lists of indices, which are made in __iter__."""

    def __init__(self, lengths: Sequence[int], seed: int) -> None:
        indices = itertools.count()
        self.chunks = [tuple(itertools.islice(indices, length)) for length in lengths]
        self.seed = seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        self.key = f"{self.seed}/{epoch}"

    def __len__(self) -> int:
        return sum(len(chunk) for chunk in self.chunks)

    def __iter__(self) -> Iterator[int]:
        rng = random.Random(self.key)
        return itertools.chain.from_iterable(
            rng.sample(chunk, len(chunk)) for chunk in rng.sample(self.chunks, len(self.chunks))
        )


class ChunksPlannedAhead(Sampler):
    """The whole order is made when the epoch is set; every chunk has a generator of its own."""

    def __init__(self, lengths: Sequence[int], seed: int) -> None:
        self.ends = np.cumsum([0, *lengths]).tolist()
        self.seed = seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        borders = list(itertools.pairwise(self.ends))
        parts = [
            np.random.default_rng([self.seed, epoch, chunk]).permutation(np.arange(*border))
            for chunk, border in enumerate(borders)
        ]
        np.random.default_rng([self.seed, epoch]).shuffle(borders)
        firsts = sorted(
            range(len(parts)), key=lambda chunk: borders.index([*itertools.pairwise(self.ends)][chunk])
        )
        self.order = [index for chunk in firsts for index in parts[chunk].tolist()]

    def __len__(self) -> int:
        return self.ends[-1]

    def __iter__(self) -> Iterator[int]:
        return iter(self.order)


class ChunksBySorting:
    """Random keys instead of permutations."""

    def __init__(self, lengths: Sequence[int], seed: int) -> None:
        self.owner = np.repeat(np.arange(len(lengths)), lengths)
        self.kinds, self.seed, self.epoch = len(lengths), seed, 0

    def set_epoch(self, epoch: int) -> None:
        if epoch < 0:
            raise ValueError("epoch must be 0 or more")
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.owner)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(self.epoch,))))
        of_chunks, of_indices = rng.random(self.kinds), rng.random(len(self.owner))
        return iter(np.lexsort((of_indices, of_chunks[self.owner])).tolist())


RIGHT = [ChunksByTorch, ChunksByNumPy, ChunksAsLists, ChunksPlannedAhead, ChunksBySorting]
