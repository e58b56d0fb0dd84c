"""`torch.sim`: the device's module, as torch.cuda is CUDA's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch

from helpers.streams import queues
from helpers.streams.machine import machine
from helpers.streams.tensor import DEVICE

_SHARED = ["Stream", "Event", "stream", "current_stream", "default_stream", "set_stream", "synchronize"]


def sim_module() -> ModuleType:
    """The module. It says that no such device is available: nothing may choose it that was not told to."""
    module = ModuleType(f"torch.{DEVICE}", __doc__)
    for name in _SHARED:
        setattr(module, name, getattr(queues, name))
    for function in _FUNCTIONS:
        setattr(module, function.__name__, function)
    return module


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return True


def is_built() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> int:
    return 0


def set_device(device: Any) -> None:
    """There is one device: nothing to set."""


@contextmanager
def device(device: Any) -> Iterator[None]:
    """A block on a device; there is one."""
    yield


def _is_in_bad_fork() -> bool:
    return False


def manual_seed(seed: int) -> None:
    """Seeds the device's generator (torch.manual_seed does it, too)."""
    machine.generator.manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    manual_seed(seed)


def get_rng_state(device: Any = None) -> torch.Tensor:
    return machine.generator.get_state()


def set_rng_state(state: torch.Tensor, device: Any = None) -> None:
    machine.generator.set_state(state)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """What autocast may be asked for; it has no rules for this device, so it changes nothing."""
    return [torch.bfloat16, torch.float16]


_FUNCTIONS = [
    is_available,
    is_initialized,
    is_built,
    device_count,
    current_device,
    set_device,
    device,
    _is_in_bad_fork,
    manual_seed,
    manual_seed_all,
    get_rng_state,
    set_rng_state,
    get_amp_supported_dtype,
]
