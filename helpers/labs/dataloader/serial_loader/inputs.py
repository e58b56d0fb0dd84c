"""The data sets on which 02.serial_loader is tried: they write down what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset


class Table(Dataset):
    """Map-style; sample i is a dict, and what is asked of the data set is written down."""

    def __init__(self, length: int, start: int = 0) -> None:
        self.length, self.start, self.asked = length, start, []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Any]:
        self.asked.append(index)
        return {"x": torch.tensor([self.start + index, 0.5]), "y": self.start + index}


class Arrays(Table):
    """Map-style; its samples hold NumPy's arrays."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        self.asked.append(index)
        return {"x": np.array([self.start + index, 0.5]), "y": self.start + index}


class Pages(Table):
    """Map-style, with __getitems__."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        self.asked.append(("batch", tuple(indices)))
        return [super(Pages, self).__getitem__(index) for index in indices]


class Stream(IterableDataset):
    """Iterable; has no length, and notes how far it has been read."""

    def __init__(self, length: int) -> None:
        self.length, self.read, self.begun = length, 0, 0

    def __iter__(self) -> Iterator[float]:
        self.begun += 1
        for value in range(self.length):
            self.read += 1
            yield float(value)

    def __len__(self) -> int:
        raise TypeError("this stream has no length")


# What DataLoader refuses: in words, for which kind of data set, with which arguments.
FORBIDDEN: list[tuple[str, type, dict[str, Any]]] = [
    ("sampler and shuffle", Table, dict(sampler=[0], shuffle=True)),
    ("batch_sampler and batch_size", Table, dict(batch_sampler=[[0]], batch_size=2)),
    ("batch_sampler and batch_size=None", Table, dict(batch_sampler=[[0]], batch_size=None)),
    ("batch_sampler and shuffle", Table, dict(batch_sampler=[[0]], shuffle=True)),
    ("batch_sampler and sampler", Table, dict(batch_sampler=[[0]], sampler=[0])),
    ("batch_sampler and drop_last", Table, dict(batch_sampler=[[0]], drop_last=True)),
    ("batch_size=None and drop_last", Table, dict(batch_size=None, drop_last=True)),
    ("an IterableDataset and shuffle", Stream, dict(shuffle=True)),
    ("an IterableDataset and sampler", Stream, dict(sampler=[0])),
    ("an IterableDataset and batch_sampler", Stream, dict(batch_sampler=[[0]])),
    ("an IterableDataset, batch_size=None and drop_last", Stream, dict(batch_size=None, drop_last=True)),
    ("batch_size 0", Table, dict(batch_size=0)),
    ("batch_size 0 and an IterableDataset", Stream, dict(batch_size=0)),
    ("prefetch_factor without workers", Table, dict(prefetch_factor=2)),
    ("persistent_workers without workers", Table, dict(persistent_workers=True)),
    ("a negative timeout", Table, dict(timeout=-1)),
]
