"""The datasets on which 02.serial_loader is tried: they write down what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import Dataset, IterableDataset


class Table(Dataset):
    """Map-style; sample i is `start + i`, and what is asked of the dataset is written down."""

    def __init__(self, length: int, start: int = 0) -> None:
        self.length, self.start, self.asked = length, start, []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        return self.made(index)

    def made(self, index: int) -> Any:
        """Sample `index`."""
        return self.start + index


class Arrays(Table):
    """Its samples hold NumPy's arrays and numbers."""

    def made(self, index: int) -> Any:
        return {"x": np.array([self.start + index, 0.5]), "y": self.start + index, "name": f"picture {index}"}


class Keyed(Table):
    """Its samples have keys, and it has no length: it gives back what it is asked for."""

    def __len__(self) -> int:
        raise TypeError("this dataset has no length")

    def made(self, index: Any) -> Any:
        return index


class Iterated(Table):
    """Map-style, although it can be iterated over, as a list can; whoever does that gets other samples."""

    def __iter__(self) -> Iterator[int]:
        self.asked.append("__iter__")
        return iter(range(1000, 1000 + self.length))


class Pages(Table):
    """It loads several samples at once: `__getitems__`."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        self.asked.append(f"__getitems__({list(indices)})")
        return [self.made(index) for index in indices]


class OwnPages(Table):
    """Its `__getitems__` is an attribute of the object."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.__getitems__ = self.read_at_once

    def read_at_once(self, indices: list[int]) -> list[Any]:
        self.asked.append(f"__getitems__({list(indices)})")
        return [self.made(index) for index in indices]


class NoPages(Pages):
    """A subclass that takes `__getitems__` back."""

    __getitems__ = None


class Stream(IterableDataset):
    """Iterable; has no length, and notes how far it has been read."""

    def __init__(self, length: int, samples: Sequence[Any] | None = None) -> None:
        self.length, self.samples, self.read, self.asked = length, samples, 0, []

    def __iter__(self) -> Iterator[Any]:
        self.asked.append("__iter__")
        for index in range(self.length):
            self.read += 1
            yield index if self.samples is None else self.samples[index]

    def __len__(self) -> int:
        raise TypeError("this stream has no length")


class Promised(Stream):
    """A stream whose length is only a guess, and too small."""

    def __len__(self) -> int:
        self.asked.append("__len__")
        return 4


class Failing:
    """Raises `error` in place of what index 3 would give: as a dataset, a stream, a sampler or a collate_fn."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, value: Any) -> Any:
        if value in (3, [3], [2, 3]):
            raise self.error
        return value

    def through(self, values: range) -> Iterator[Any]:
        """The values, up to the one that fails."""
        return map(self, values)


class FailingTable(Table):
    def __init__(self, length: int, fails: Failing) -> None:
        super().__init__(length)
        self.fails = fails

    def made(self, index: int) -> Any:
        return self.fails(index)


class FailingPages(Pages):
    """Reads any sample, and cannot read sample 3 in a batch."""

    def __init__(self, length: int, fails: Failing) -> None:
        super().__init__(length)
        self.fails = fails

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self.fails(index) for index in indices]


class FailingStream(Stream):
    def __init__(self, length: int, fails: Failing) -> None:
        super().__init__(length)
        self.fails = fails

    def __iter__(self) -> Iterator[Any]:
        return self.fails.through(range(self.length))


Case = tuple[str, Callable[[int], Any], dict[str, Any]]

# What DataLoader refuses, by rule: in words, for which kind of dataset, with which arguments.
TWO_BATCHES: list[Case] = [
    ("batch_sampler=[[0]], batch_size=2", Table, dict(batch_sampler=[[0]], batch_size=2)),
    ("batch_sampler=[[0]], batch_size=None", Table, dict(batch_sampler=[[0]], batch_size=None)),
    ("batch_sampler=[[0]], shuffle=True", Table, dict(batch_sampler=[[0]], shuffle=True)),
    ("batch_sampler=[[0]], sampler=[0]", Table, dict(batch_sampler=[[0]], sampler=[0])),
    ("batch_sampler=[[0]], drop_last=True", Table, dict(batch_sampler=[[0]], drop_last=True)),
    ("batch_sampler=[], batch_size=2", Table, dict(batch_sampler=[], batch_size=2)),
    ("batch_sampler=[], sampler=[]", Table, dict(batch_sampler=[], sampler=[])),
]
TWO_ORDERS: list[Case] = [
    ("sampler=[0], shuffle=True", Table, dict(sampler=[0], shuffle=True)),
    ("sampler=[], shuffle=True", Table, dict(sampler=[], shuffle=True)),
]
NOTHING_TO_DROP: list[Case] = [
    ("batch_size=None, drop_last=True", Table, dict(batch_size=None, drop_last=True)),
    ("an IterableDataset, batch_size=None, drop_last=True", Stream, dict(batch_size=None, drop_last=True)),
]
STREAM_IN_ORDER: list[Case] = [
    ("an IterableDataset, shuffle=True", Stream, dict(shuffle=True)),
    ("an IterableDataset, sampler=[0]", Stream, dict(sampler=[0])),
    ("an IterableDataset, batch_sampler=[[0]]", Stream, dict(batch_sampler=[[0]])),
    ("an IterableDataset, sampler=[]", Stream, dict(sampler=[])),
    ("an IterableDataset, batch_sampler=[]", Stream, dict(batch_sampler=[])),
]
NO_SIZE: list[Case] = [
    ("batch_size=0", Table, dict(batch_size=0)),
    ("batch_size=-1", Table, dict(batch_size=-1)),
    ("an IterableDataset, batch_size=0", Stream, dict(batch_size=0)),
    ("an IterableDataset, batch_size=-1", Stream, dict(batch_size=-1)),
]
NO_WORKERS: list[Case] = [
    ("prefetch_factor=2", Table, dict(prefetch_factor=2)),
    ("prefetch_factor=0", Table, dict(prefetch_factor=0)),
    ("persistent_workers=True", Table, dict(persistent_workers=True)),
    ("timeout=-1", Table, dict(timeout=-1)),
    ("timeout=-0.5", Table, dict(timeout=-0.5)),
]
