"""The global state of the process, piece by piece, by names that a learner can read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.utils.deterministic

from helpers.check import guard

GENERATORS = ("random RNG", "numpy RNG", "torch RNG", "cuda RNG")
# Read here, each variable and each switch by its name.
_APART = ("environment variables", "cudnn flags", "deterministic algorithms", "mkldnn flags", "anomaly mode")
_CUDNN = ("enabled", "benchmark", "deterministic", "benchmark_limit")
FILTERS = "warning filters"  # a library may add some when it is first used: call an answer once before these are compared
SLOTS = tuple(name for name in guard.SLOTS if name not in guard.QUIET)


def global_state(but: Collection[str] = ()) -> dict[str, Any]:
    """What a check watches, without what libraries change by themselves. but: names that are left out."""
    slots = (*SLOTS, FILTERS)
    state = {name: guard.SLOTS[name].read() for name in slots if name not in _APART and name not in but}
    state |= {f"cudnn.{name}": getattr(torch.backends.cudnn, name) for name in _CUDNN}
    state |= {
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fill_uninitialized_memory": torch.utils.deterministic.fill_uninitialized_memory,
        "mkldnn.enabled": torch.backends.mkldnn.enabled,
        "mkldnn.deterministic": torch.backends.mkldnn.deterministic,
        "anomaly mode": torch.is_anomaly_enabled(),
        "anomaly mode's test for nan": torch.is_anomaly_check_nan_enabled(),
    }
    state |= {f"os.environ[{name!r}]": text for name, text in os.environ.items()}
    return {name: value for name, value in state.items() if name not in but}


TURNED = (
    "default dtype float64, 3 threads, cudnn.enabled False, cudnn.benchmark_limit 7, "
    "float32_matmul_precision 'high', PYTHONHASHSEED and OMP_NUM_THREADS set, a warning filter of one's own"
)


@contextmanager
def all_turned() -> Iterator[None]:
    """Switches are TURNED: not their defaults, nor what answers set by habit, since that would not be seen.

    Only the default dtype is put back, which changes a name of torch, too; the rest is for the check to put back.
    """
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    turn_all()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)


@contextmanager
def usual() -> Iterator[None]:
    """Switches as they mostly are, but for two that many answers set to their default."""
    torch.set_num_threads(2)
    torch.set_float32_matmul_precision("high")
    yield


# What an answer changes to a default is seen in the second, what it changes from one in the first.
STATES = {"2 threads, and float32_matmul_precision 'high'": usual, TURNED: all_turned}


def turn_all() -> None:
    """All of TURNED but the default dtype. Not as many threads as `usual` has: who sets one of the two is seen."""
    torch.set_num_threads(3)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark_limit = False, 7
    torch.set_printoptions(precision=3)
    np.seterr(over="ignore")
    os.environ |= {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2"}
    warnings.simplefilter("ignore", BytesWarning)


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
    if name == "float32 precision":
        new, (matmul, tf32) = value
        ways = [
            f"{'.'.join(switch)} {way}" for switch, way in zip(guard.precision.SWITCHES, new, strict=True)
        ]
        return f"float32_matmul_precision {matmul!r}, cudnn.allow_tf32 {tf32} (fp32_precision: {', '.join(ways)})"
    if name == FILTERS:
        return "the list of filters"
    return "not set" if value is None and name.startswith("os.environ") else repr(value)
