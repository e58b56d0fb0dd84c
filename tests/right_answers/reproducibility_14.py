"""Right answers to exercises of lab 01, in different shapes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ContextDecorator, ExitStack, contextmanager
from typing import Any

import numpy as np
import torch


def seed_by_libraries(seed: int) -> None:
    """NumPy goes first: it refuses what is out of range."""
    np.random.seed(seed)
    random.seed(seed)
    torch.manual_seed(seed)


def seed_after_a_test(seed: int) -> int:
    """Tests the range itself, names CUDA, and returns the seed."""
    if seed < 0 or seed > 2**32 - 1:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    return seed


def seed_from_a_sequence(seed: int) -> None:
    """A seed of its own for each library, and set states instead of seeds."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    for_random, for_numpy, for_torch = np.random.SeedSequence(seed).spawn(3)
    random.setstate(random.Random(for_random.generate_state(1)[0].item()).getstate())
    np.random.set_state(np.random.MT19937(for_numpy).state)
    torch.default_generator.set_state(
        torch.Generator().manual_seed(int(for_torch.generate_state(1)[0])).get_state()
    )
    torch.cuda.manual_seed_all(int(for_torch.generate_state(1)[0]))


def seed_by_a_loop(seed: int) -> None:
    """Lazily imported modules in a loop."""
    if seed not in range(2**32):
        raise ValueError("out of range")
    import importlib

    for name in ("random.seed", "numpy.random.seed", "torch.random.manual_seed"):
        module, _, function = name.rpartition(".")
        getattr(importlib.import_module(module), function)(seed)


@contextmanager
def preserve_by_a_generator() -> Iterator[None]:
    """All states in one tuple."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        torch.cuda.set_rng_state_all(states[3])


class PreserveByAClass(ContextDecorator):
    """A stack of states, so that one object may be used again inside its own block; CUDA only where it runs."""

    def __init__(self) -> None:
        self._stack: list[tuple] = []

    def __enter__(self) -> PreserveByAClass:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        numpy = np.random.get_state(legacy=False)
        self._stack.append((random.getstate(), numpy, torch.default_generator.get_state(), cuda))
        return self

    def __exit__(self, *error: object) -> None:
        for_random, for_numpy, for_torch, cuda = self._stack.pop()
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.default_generator.set_state(for_torch)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)


@contextmanager
def preserve_with_torchs_own() -> Iterator[None]:
    """fork_rng for torch, two lines for the others."""
    with torch.random.fork_rng():
        for_random, for_numpy = random.getstate(), np.random.get_state()
        try:
            yield
        finally:
            random.setstate(for_random)
            np.random.set_state(for_numpy)


def preserve_with_callbacks() -> ExitStack:
    """An ExitStack with what is to be done on exit; GPUs one by one."""
    stack = ExitStack()
    stack.callback(random.setstate, random.getstate())
    stack.callback(np.random.set_state, np.random.get_state())
    stack.callback(torch.set_rng_state, torch.get_rng_state())
    for device in range(torch.cuda.device_count()):
        stack.callback(torch.cuda.set_rng_state, torch.cuda.get_rng_state(device), device)
    return stack


RIGHT: dict[str, list[Any]] = {
    "01.seed_everything": [seed_by_libraries, seed_after_a_test, seed_from_a_sequence, seed_by_a_loop],
    "01.preserve_rng": [
        preserve_by_a_generator,
        PreserveByAClass,
        preserve_with_torchs_own,
        preserve_with_callbacks,
    ],
}
