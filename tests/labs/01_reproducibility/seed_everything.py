"""Right answers to 01.seed_everything, in different shapes."""

from __future__ import annotations

import hashlib
import random

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


def seed_from_bytes(seed: int) -> None:
    """The seed's bytes, which do not fit if it is out of range; a digest of them for each library."""
    try:
        data = seed.to_bytes(4, "little")
    except OverflowError:
        raise ValueError(seed) from None
    digest = hashlib.sha256(data).digest()
    random.seed(data)
    np.random.seed(np.frombuffer(digest, dtype=np.uint32))
    torch.manual_seed(int.from_bytes(digest[:8], "little"))


class _Range:
    """A callable object, whose helper tests the range with an index into it."""

    def __call__(self, seed: int):
        try:
            inside = range(2**32)[seed] if seed >= 0 else None
        except IndexError:
            inside = None
        if inside is None:
            raise type("OutOfRange", (ValueError,), {})(seed)
        torch.random.manual_seed(inside)
        np.random.mtrand._rand.seed(inside)
        random._inst.seed(inside)
        return torch.default_generator


seed_by_an_object = _Range()


RIGHT = [
    seed_by_libraries,
    seed_after_a_test,
    seed_from_a_sequence,
    seed_by_a_loop,
    seed_from_bytes,
    seed_by_an_object,
]
