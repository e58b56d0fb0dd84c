"""Which order an answer deals, where it is not the right one."""

from __future__ import annotations

import random

import numpy as np
import torch


def kind_of_order(shares: list[list[int]], *, epoch: int, seed: int) -> str:
    """In words, where the ranks together take every sample once; "" else.

    shares: by rank, equally long.
    """
    order = [item for turn in zip(*shares, strict=True) for item in turn]
    n, world = len(order), len(shares)
    if sorted(order) != list(range(n)):
        return ""
    if [item for share in shares for item in share] == permutation(
        n, torch.Generator().manual_seed(seed + epoch)
    ):
        return "the right order, in blocks"
    for words, other in others(n, epoch, seed).items():
        if order == other:
            return words
    if all(sorted(share) == list(range(rank, n, world)) for rank, share in enumerate(shares)):
        return "the share without shuffle, in a different order"
    return "a different permutation"


def others(n: int, epoch: int, seed: int) -> dict[str, list[int]]:
    """The orders that people make: the first that fits gives its name."""
    goes_on = torch.Generator().manual_seed(seed)
    for _ in range(epoch):
        torch.randperm(n, generator=goes_on)
    mixed = list(range(n))
    random.Random(seed + epoch).shuffle(mixed)
    return {
        "not shuffled": list(range(n)),
        "of the epoch alone": permutation(n, torch.Generator().manual_seed(epoch)),
        "of the seed alone": permutation(n, torch.Generator().manual_seed(seed)),
        "of a generator that goes on": permutation(n, goes_on),
        "of Python's shuffle": mixed,
        "of numpy's new generator": np.random.default_rng(seed + epoch).permutation(n).tolist(),
        "of numpy's old generator": np.random.RandomState(seed + epoch).permutation(n).tolist(),
    }


def permutation(n: int, generator: torch.Generator) -> list[int]:
    return torch.randperm(n, generator=generator).tolist()
