"""The global state of the process, piece by piece, by names that a learner can read."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import torch

from helpers.check import guard

GENERATORS = ("random RNG", "numpy RNG", "torch RNG", "cuda RNG")
_APART = ("environment variables", "cudnn flags")  # read here, each variable and each flag by its name
_CUDNN = ("enabled", "benchmark", "deterministic", "benchmark_limit")
SLOTS = tuple(name for name in guard.SLOTS if name not in guard.QUIET)


def global_state(but: Collection[str] = ()) -> dict[str, Any]:
    """What a check watches, without what libraries change by themselves. but: names that are left out."""
    state = {name: guard.SLOTS[name].read() for name in SLOTS if name not in _APART and name not in but}
    state |= {f"cudnn.{name}": getattr(torch.backends.cudnn, name) for name in _CUDNN}
    state |= {f"os.environ[{name!r}]": text for name, text in os.environ.items()}
    return {name: value for name, value in state.items() if name not in but}


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What differs, by its name: before and after, in words."""
    return {
        name: (_in_words(name, before.get(name)), _in_words(name, after.get(name)))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }


def _in_words(name: str, value: Any) -> str:
    """A value; of a generator, which has thousands of numbers, only that it has a state."""
    if name in GENERATORS:
        return "a state"
    return "not set" if value is None and name.startswith("os.environ") else repr(value)
