"""The data sets on which 02.serial_loader is tried: they write down what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
