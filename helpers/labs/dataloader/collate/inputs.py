"""Random samples for the exercise 02.collate."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from helpers.check.trial import Trial


def some_tensor(trial: Trial, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Random numbers; below 100 where the dtype holds whole numbers only."""
    if dtype.is_floating_point:
        return torch.randn(shape, generator=trial.generator, dtype=torch.float64).to(dtype)
    return torch.randint(2 if dtype == torch.bool else 100, shape, generator=trial.generator).to(dtype)


def some_array(trial: Trial, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """The same as a NumPy array."""
    floating = dtype.startswith("float")
    numbers = some_tensor(trial, shape, torch.float64 if floating else torch.int64).numpy()
    return (numbers % 2 if dtype == "bool" else numbers).astype(dtype)


def some_samples(trial: Trial, kinds: tuple[type, ...]) -> list[Any]:
    """One to three random samples of one structure, three levels deep at most.

    kinds: two namedtuples of two fields, and two kinds of dict.
    """
    return [leaf() for leaf in [_maker(trial, kinds, 3)] * trial.random.randrange(1, 4)]


def _maker(trial: Trial, kinds: tuple[type, ...], depth: int) -> Any:
    """A function that makes a random sample of one structure, which is drawn now."""
    r = trial.random
    if depth == 0 or r.random() < 0.2:
        shape, dtype = r.choice(((), (2,), (3, 1))), r.choice((torch.float32, torch.int32, torch.bool))
        return r.choice(
            (
                lambda: some_tensor(trial, shape, dtype),
                lambda: some_array(trial, shape, r.choice(("float64",))),
                lambda: some_array(trial, (), "int16")[()],
                r.random,
                lambda: r.randrange(100),
                lambda: r.random() < 0.5,
                lambda: r.choice(("cat", "dog", "a horse")),
            )
        )
    inner = [_maker(trial, kinds, depth - 1) for _ in range(r.randrange(1, 4))]
    pair = [_maker(trial, kinds, depth - 1) for _ in range(2)]
    keys = ["x", "y", 0][: len(inner)]
    named, mapping = r.choice(kinds[:2]), r.choice((dict, *kinds[2:]))
    return r.choice(
        (
            lambda: tuple(make() for make in inner),
            lambda: [make() for make in inner],
            lambda: mapping((key, make()) for key, make in zip(keys, inner, strict=True)),
            lambda: named(*(make() for make in pair)),
        )
    )
