"""Raw times of calls, on the host's clock and by events; digests of results."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import torch
from torch import Tensor

from helpers.measurements.device import Device

AHEAD = 1_000_000  # cycles, about 0.5 ms: the device waits until the host has queued both events


def host_us(
    gpu: Device, call: Callable[[], object], repeats: int, *, synchronize: bool, before: int = 0
) -> list[float]:
    """Microseconds of each call on the host's clock.

    synchronize: until the device is done; else until the call returns.
    before: the device sleeps for so many cycles first, so that a call that waits for it shows.
    """
    times = []
    for _ in gpu.times(repeats):
        gpu.synchronize()
        if before:
            gpu.sleep(before)
        start = gpu.clock()
        call()
        if synchronize:
            gpu.synchronize()
        times.append((gpu.clock() - start) * 1e6)
    gpu.synchronize()
    return times


def host_ms(gpu: Device, call: Callable[[], object], repeats: int) -> list[float]:
    """Milliseconds of each call on the host's clock, until the device is done."""
    return [time / 1e3 for time in host_us(gpu, call, repeats, synchronize=True)]


def event_ms(gpu: Device, call: Callable[[], object], repeats: int) -> list[float]:
    """Milliseconds of each call on the device, between two events of the current stream."""
    times = []
    for _ in gpu.times(repeats):
        start, end = gpu.Event(enable_timing=True), gpu.Event(enable_timing=True)
        gpu.sleep(AHEAD)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return times


def digest(tensor: Tensor) -> str:
    """Eight hexadecimal digits that stand for the bits of a tensor: equal bits, equal digits."""
    raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return hashlib.sha256(raw).hexdigest()[:8]


def plain(number: float) -> float | str:
    """A number as JSON can hold it; "nan", "inf" or "-inf" as text."""
    return number if math.isfinite(number) else str(number)
