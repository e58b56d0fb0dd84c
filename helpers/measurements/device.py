"""The device of a measurement: a GPU, behind a small interface that a rehearsal can stand in for."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class NoGpu(RuntimeError):
    """torch finds no GPU here."""


class Device:
    """What a measurement may ask of its device.

    device: where tensors go; backend: of process groups; Stream, Event: as torch.cuda's.
    """

    device: torch.device
    backend: str
    Stream: Any
    Event: Any

    def pick(self, real: T, tiny: T, quick: T | None = None) -> T:
        """A size: `real` for a recording, `tiny` in a rehearsal, `quick` (None: as real) while somebody waits."""
        raise NotImplementedError

    def times(self, number: int) -> range:
        """So many repeats."""
        return range(number)

    def clock(self) -> float:
        """Seconds on the host's clock."""
        return time.perf_counter()

    def synchronize(self) -> None:
        """Waits until the device has done all that was queued."""
        raise NotImplementedError

    def stream(self, stream: Any) -> AbstractContextManager[Any]:
        """In this block work is queued on `stream`."""
        raise NotImplementedError

    def current_stream(self) -> Any:
        """The stream on which work is queued now."""
        raise NotImplementedError

    def sleep(self, cycles: int) -> None:
        """Queues a kernel of one thread that counts so many cycles of the device's clock."""
        raise NotImplementedError

    def pinned(self, tensor: Tensor) -> Tensor:
        """A copy in page-locked memory of the host."""
        raise NotImplementedError

    def uses(self, tensor: Tensor, stream: Any) -> None:
        """`tensor.record_stream(stream)`."""
        raise NotImplementedError

    def graphed(self, call: Callable[[], object]) -> Callable[[], None]:
        """A function that replays what `call` queues, as one CUDA graph."""
        raise NotImplementedError

    def events(self, call: Callable[[], object]) -> list[tuple[str, str, float, float]]:
        """What torch's profiler saw during `call`: (where, name, start, end), us; where is "host" or "device"."""
        raise NotImplementedError


class Gpu(Device):
    """The current CUDA device. `quick`: fewer repeats and smaller sizes, for a lab, where somebody waits.

    Raises: NoGpu
    """

    backend = "nccl"

    def __init__(self, quick: bool = False) -> None:
        if not torch.cuda.is_available():
            raise NoGpu("torch finds no GPU here")
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.Stream, self.Event = torch.cuda.Stream, torch.cuda.Event
        self.quick = quick

    def pick(self, real: T, tiny: T, quick: T | None = None) -> T:
        return quick if self.quick and quick is not None else real

    def times(self, number: int) -> range:
        return range(max(2, number // 4) if self.quick else number)

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def stream(self, stream: Any) -> AbstractContextManager[Any]:
        return torch.cuda.stream(stream)

    def current_stream(self) -> Any:
        return torch.cuda.current_stream()

    def sleep(self, cycles: int) -> None:
        torch.cuda._sleep(cycles)

    def pinned(self, tensor: Tensor) -> Tensor:
        return tensor.pin_memory()

    def uses(self, tensor: Tensor, stream: Any) -> None:
        tensor.record_stream(stream)

    def graphed(self, call: Callable[[], object]) -> Callable[[], None]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries set themselves up outside of the capture
            call()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        return graph.replay

    def events(self, call: Callable[[], object]) -> list[tuple[str, str, float, float]]:
        kinds = torch.profiler.ProfilerActivity
        return profiled(self, call, [kinds.CPU, kinds.CUDA])


def profiled(
    device: Device, call: Callable[[], object], kinds: list[Any]
) -> list[tuple[str, str, float, float]]:
    """What the profiler saw, in order of start; times count from the first event."""
    with torch.profiler.profile(activities=kinds) as profile:
        call()
        device.synchronize()
    seen = [
        (
            "host" if event.device_type == torch.autograd.DeviceType.CPU else "device",
            event.name,
            event.time_range.start,
            event.time_range.end,
        )
        for event in profile.events()
    ]
    first = min((start for *_, start, _ in seen), default=0.0)
    return sorted(
        ((where, name, start - first, end - first) for where, name, start, end in seen),
        key=lambda event: event[2:],
    )
