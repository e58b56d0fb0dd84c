"""A right answer to 02.chunk_sampler in parts, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


class Right:
    """A right answer in parts. A wrong one replaces a part."""

    def __init__(self, lengths: list[int], seed: int) -> None:
        self.lengths, self.seed, self.epoch = lengths, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return sum(self.lengths)

    def __iter__(self) -> Iterator[Any]:
        rng = self.rng()
        for chunk in self.chunks(rng):
            for place in self.places(rng, self.lengths[chunk]):
                yield self.start(chunk) + place

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch))

    def chunks(self, rng: np.random.Generator) -> list[int]:
        return rng.permutation(len(self.lengths)).tolist()

    def places(self, rng: np.random.Generator, length: int) -> list[int]:
        return rng.permutation(length).tolist()

    def start(self, chunk: int) -> int:
        return sum(self.lengths[:chunk])
