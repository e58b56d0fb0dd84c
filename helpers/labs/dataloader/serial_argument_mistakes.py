"""What people write for 02.serial_loader: the order, the generator, laziness, forbidden arguments."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import RandomSampler

from helpers.labs.dataloader.serial_flawed import Serial, form, wrong


@wrong(
    "shuffle_seeded_anew",
    "A constant seed gives the same order in each epoch, of which the model soon knows every batch's neighbours.",
    "the same order in each epoch",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return torch.randperm(len(self.dataset), generator=torch.Generator().manual_seed(0)).tolist()


@wrong(
    "shuffled_by_random",
    "random.shuffle draws from Python's generator: torch.manual_seed and the loader's generator have no say.",
    "draws from Python's generator",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        order = list(range(len(self.dataset)))
        random.shuffle(order)
        return order


@form("shuffled_by_random")
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return np.random.permutation(len(self.dataset)).tolist()


@wrong(
    "generator_ignored",
    "The generator is for the order as well: without it the global one decides.",
    "without it the global one decides",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return RandomSampler(self.dataset)


@wrong(
    "base_seed_after_the_order",
    "The base seed is drawn when the iterator is made, the order when the first index is asked for: a sampler is lazy.",
    "a sampler is lazy",
)
class _(Serial):
    def shuffled(self) -> Iterable[int]:
        return list(super().shuffled())


@wrong(
    "no_base_seed",
    "Only workers need the base seed, and yet DataLoader draws it always, and before the sampler draws.",
    "and yet DataLoader draws it always",
)
class _(Serial):
    def draw(self) -> None:
        pass


@wrong(
    "base_seed_from_the_global_generator",
    "The base seed comes from the loader's generator if it has one.",
    "from the loader's generator if it has one",
)
class _(Serial):
    def draw(self) -> None:
        torch.empty((), dtype=torch.int64).random_()


@wrong(
    "all_indices_at_once",
    "list(sampler) never returns for a sampler without end.",
    "All indices had been asked",
)
class _(Serial):
    def chosen(self) -> Iterable[Any]:
        self.sampler = None if self.sampler is None else list(self.sampler)
        return super().chosen()


@wrong(
    "all_samples_at_once",
    "A list of the whole stream needs memory for all of it, and the first batch waits for the last sample.",
    "All samples of the stream had been read",
)
class _(Serial):
    def from_stream(self) -> Iterator[Any]:
        self.dataset = list(self.dataset)
        return super().from_stream()


@wrong(
    "nothing_refused",
    "Contradicting arguments are accepted, and one of them silently wins.",
    "one of them silently wins",
)
class _(Serial):
    def refuse(self) -> None:
        if self.batch_size == 0:
            raise ValueError("batch_size")
        if self.batch_sampler is not None and self.sampler is not None:
            self.sampler = None


@wrong(
    "stream_not_refused",
    "An IterableDataset has an order of its own: a sampler, or shuffle=True, would do nothing, and nobody would know.",
    "would do nothing, and nobody would know",
)
class _(Serial):
    def forbidden(self) -> Iterator[bool]:
        return itertools.islice(super().forbidden(), 1, None)


@form("stream_not_refused")
class _(Serial):
    """None of what concerns streams."""

    def forbidden(self) -> Iterator[bool]:
        return iter(()) if self.iterable else super().forbidden()


@wrong(
    "refused_with_assert",
    "assert raises AssertionError, and with python -O nothing at all.",
    "with python -O nothing at all",
)
class _(Serial):
    def refuse(self) -> None:
        assert not any(self.forbidden())


@wrong(
    "shuffle_false_refused",
    "shuffle=False asks for nothing; only shuffle=True contradicts an IterableDataset.",
    "shuffle=False asks for nothing",
)
class _(Serial):
    def refuse(self) -> None:
        super().refuse()
        if self.iterable and self.shuffle is not None:
            raise ValueError("shuffle and an IterableDataset")
