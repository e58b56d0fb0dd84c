"""A measurement without a GPU, at tiny sizes: it shows that the code runs and what form its samples have.

The numbers mean nothing. They come back as `Rehearsed`, which is no recording and cannot become one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from helpers.measurements.device import Device, profiled
from helpers.measurements.registry import Measurement
from helpers.measurements.samples import Samples

T = TypeVar("T")


@dataclass(frozen=True)
class Rehearsed:
    """Samples of the right form, and nothing more."""

    name: str
    samples: Samples


def rehearsed(measurement: Measurement, device: Device) -> Rehearsed:
    """Runs a measurement on a device that is no GPU.

    Raises:
        ValueError: it is one.
    """
    if device.device.type not in ("cpu", "sim"):
        raise ValueError("a rehearsal is for a machine without a GPU: labbook record measures")
    return Rehearsed(measurement.name, measurement.function(device))


class CpuStream:
    """A stream of a device that has done everything when a call returns."""

    def wait_stream(self, other: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def synchronize(self) -> None: ...

    def record_event(self, event: Any = None) -> CpuEvent:
        event = event or CpuEvent()
        event.record()
        return event


class CpuEvent:
    """Remembers when it was recorded."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None: ...

    def elapsed_time(self, end: CpuEvent) -> float:
        return (end.at - self.at) * 1e3


class OnCpu(Device):
    """The CPU in the place of a GPU: one stream, and nothing is queued."""

    backend = "gloo"
    Stream, Event = CpuStream, CpuEvent

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self._only = CpuStream()

    def pick(self, real: T, tiny: T, quick: T | None = None) -> T:
        return tiny

    def times(self, number: int) -> range:
        return range(min(number, 6))

    def synchronize(self) -> None: ...

    def stream(self, stream: Any) -> AbstractContextManager[Any]:
        return nullcontext()

    def current_stream(self) -> Any:
        return self._only

    def sleep(self, cycles: int) -> None: ...

    def pinned(self, tensor: Tensor) -> Tensor:
        return tensor.clone()

    def uses(self, tensor: Tensor, stream: Any) -> None: ...

    def graphed(self, call: Callable[[], object]) -> Callable[[], None]:
        return lambda: (call(), None)[1]

    def events(self, call: Callable[[], object]) -> list[tuple[str, str, float, float]]:
        return profiled(self, call, [torch.profiler.ProfilerActivity.CPU])


class OnSim(OnCpu):
    """The simulated device of lab 06: streams and races as on a GPU, in virtual time."""

    def __init__(self) -> None:
        from helpers import streams

        streams.install()
        streams.reset()
        self._streams = streams
        self.device = torch.device(streams.DEVICE)
        self.Stream, self.Event = streams.Stream, streams.Event

    def clock(self) -> float:
        return self._streams.clock()

    def synchronize(self) -> None:
        self._streams.synchronize()

    def stream(self, stream: Any) -> AbstractContextManager[Any]:
        return self._streams.stream(stream)

    def current_stream(self) -> Any:
        return self._streams.current_stream()

    def sleep(self, cycles: int) -> None:
        self._streams.sleep(cycles / 2e6)  # ms, as if the clock ran at 2 GHz

    def pinned(self, tensor: Tensor) -> Tensor:
        return self._streams.pin_memory(tensor)

    def uses(self, tensor: Tensor, stream: Any) -> None:
        tensor.record_stream(stream)
