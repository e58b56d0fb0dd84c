"""The mistakes of 01.preserve_rng in answers that forget the GPUs as well, as people do who have none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import numpy as np
import torch

from helpers.labs.reproducibility import preserve_rng_mistakes  # noqa: F401  forms are added to these
from helpers.labs.reproducibility.preserve_rng import preserve_rng
from helpers.labs.reproducibility.preserve_rng_mistakes import (
    OnePlaceForAll,
    SwallowsErrors,
    not_on_error,
    numpy_by_its_seed,
    numpy_forgotten,
    only_for_exceptions,
    random_forgotten,
    seeds_on_entry,
    torch_only,
)


@preserve_rng.variant(torch_only)
@contextmanager
def _() -> Iterator[None]:
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


@preserve_rng.variant(numpy_forgotten)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(for_random)
        torch.set_rng_state(for_torch)


@preserve_rng.variant(random_forgotten)
@contextmanager
def _() -> Iterator[None]:
    for_numpy, for_torch = np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)


@preserve_rng.variant(not_on_error)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(for_random)
    np.random.set_state(for_numpy)
    torch.set_rng_state(for_torch)


@preserve_rng.variant(only_for_exceptions)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    except Exception:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        raise
    random.setstate(for_random)
    np.random.set_state(for_numpy)
    torch.set_rng_state(for_torch)


class _Swallows:
    def __enter__(self) -> None:
        self.states = random.getstate(), np.random.get_state(), torch.get_rng_state()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        random.setstate(self.states[0])
        np.random.set_state(self.states[1])
        torch.set_rng_state(self.states[2])
        return True


preserve_rng.variant(SwallowsErrors)(_Swallows)


@preserve_rng.variant(seeds_on_entry)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)


class _OnePlace:
    states: tuple = ()

    def __enter__(self) -> None:
        type(self).states = random.getstate(), np.random.get_state(), torch.get_rng_state()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        random.setstate(type(self).states[0])
        np.random.set_state(type(self).states[1])
        torch.set_rng_state(type(self).states[2])


preserve_rng.variant(OnePlaceForAll)(_OnePlace)


@preserve_rng.variant(numpy_by_its_seed)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    first_word = np.random.get_state()[1][0]
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.seed(first_word)
        torch.set_rng_state(for_torch)
