"""Right answers to exercises 1, 2 and 4 of lab 02, in different shapes."""

from __future__ import annotations

import functools
import itertools
import operator
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Sampler


def batches_by_a_loop(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """The plain answer."""
    batch: list[int] = []
    for index in sampler:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def batches_by_islice(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """Slices of one iterator, after a test of the arguments."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
    indices = iter(sampler)
    while batch := list(itertools.islice(indices, batch_size)):
        if drop_last and len(batch) < batch_size:
            return
        yield batch


class BatchesByAClass:
    """An iterator written by hand."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self._indices = iter(sampler)
        self._batch_size, self._least = batch_size, batch_size if drop_last else 1

    def __iter__(self) -> BatchesByAClass:
        return self

    def __next__(self) -> list[int]:
        batch = [index for _, index in zip(range(self._batch_size), self._indices, strict=False)]
        if len(batch) < self._least:
            raise StopIteration
        return batch


def batches_given_late(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """A full batch goes when the next index has come: one index ahead."""
    batch: list[int] = []
    for index in sampler:
        if len(batch) == batch_size:
            yield batch
            batch = []
        batch.append(index)
    if len(batch) == batch_size or (batch and not drop_last):
        yield batch


def batches_a_batch_ahead(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """The next batch is made before this one goes, to see whether this is the last: a batch ahead."""
    indices = iter(sampler)
    batch = list(itertools.islice(indices, batch_size))
    while batch:
        following = list(itertools.islice(indices, batch_size))
        if following or len(batch) == batch_size or not drop_last:
            yield batch
        batch = following


def batches_without_none(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """zip_longest fills up with None, which no index is."""
    for group in itertools.zip_longest(*[iter(sampler)] * batch_size):
        batch = [index for index in group if index is not None]
        if len(batch) == batch_size or not drop_last:
            yield batch


def batches_by_zip(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """One iterator many times over, as torch does it; a private object marks the empty places."""
    groups, empty = [iter(sampler)] * batch_size, object()
    if drop_last:
        return map(list, zip(*groups, strict=False))
    filled = itertools.zip_longest(*groups, fillvalue=empty)
    return ([index for index in group if index is not empty] for group in filled)


def batches_until_empty(sampler: Iterable[int], batch_size: int, drop_last: bool) -> Iterator[list[int]]:
    """`iter` with a function and an end mark."""
    indices = iter(sampler)
    batches = iter(lambda: [*itertools.islice(indices, batch_size)], [])
    return filter(lambda batch: len(batch) == batch_size, batches) if drop_last else batches


class BatchesAsAnIterable(Sampler):
    """A class like torch's own, which can be gone through again."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        stop = False
        indices = iter(self.sampler)
        while not stop:
            batch: list[Any] = []
            while len(batch) < self.batch_size:
                try:
                    batch += [next(indices)]
                except StopIteration:
                    stop = True
                    break
            if batch and not (stop and self.drop_last):
                yield batch


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
    """NumPy's integers; one generator for all iterations, set anew at the start of each."""

    def __init__(self, lengths: Sequence[int], seed: int) -> None:
        self.borders = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.seed, self.epoch, self.rng = seed, 0, np.random.RandomState(seed)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return int(self.borders[-1])

    def __iter__(self) -> Iterator[int]:
        self.rng.seed(self.seed * 10_007 + self.epoch)
        for chunk in self.rng.permutation(len(self.borders) - 1):
            yield from self.rng.permutation(np.arange(self.borders[chunk], self.borders[chunk + 1]))


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


def fetch_by_branches(dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
    """The plain answer."""
    if not auto_collation:
        return collate_fn(dataset[index])
    if getattr(dataset, "__getitems__", None):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index])


def fetch_by_a_reader(dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
    """Chooses how to read first, then reads."""

    def one_by_one(indices: Any) -> list:
        samples = []
        for each in indices:
            samples += [dataset[each]]
        return samples

    many = getattr(dataset, "__getitems__", one_by_one)
    read = many if auto_collation else dataset.__getitem__
    return collate_fn(read(index))


def fetch_by_map(dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
    """hasattr, and map in a list."""
    if auto_collation and hasattr(dataset, "__getitems__"):
        data = dataset.__getitems__(index)
    elif auto_collation:
        data = list(map(functools.partial(operator.getitem, dataset), index))
    else:
        data = dataset[index]
    return collate_fn(data)


class FetchByAClass:
    """An object that is the result of its making: __new__ returns what collate_fn gave."""

    def __new__(cls, dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
        how = {False: cls.one, True: cls.many}[bool(auto_collation)]
        return collate_fn(how(dataset, index))

    @staticmethod
    def one(dataset: Any, index: Any) -> Any:
        return dataset[index]

    @staticmethod
    def many(dataset: Any, index: Any) -> Any:
        try:
            at_once = dataset.__getitems__
        except AttributeError:
            return [dataset[each] for each in index]
        return at_once(list(index))


RIGHT = {
    "02.batch_sampler": [
        batches_by_a_loop,
        batches_by_islice,
        BatchesByAClass,
        batches_by_zip,
        batches_given_late,
        batches_a_batch_ahead,
        batches_without_none,
        batches_until_empty,
        BatchesAsAnIterable,
    ],
    "02.chunk_sampler": [ChunksByTorch, ChunksByNumPy, ChunksAsLists, ChunksPlannedAhead, ChunksBySorting],
    "02.fetch": [fetch_by_branches, fetch_by_a_reader, fetch_by_map, FetchByAClass],
}
