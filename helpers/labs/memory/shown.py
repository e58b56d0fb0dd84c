"""What the notebook of lab 14 uses beside the answers: torch's sizes, a device, and the real requests of a step."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from helpers.check.operations import operations

__all__ = [
    "MIB",
    "Device",
    "Request",
    "Rules",
    "Steps",
    "Through",
    "as_torch_has_it",
    "id_of",
    "live",
    "operations",
    "replay",
    "requests_of",
    "rules",
]

MIB = 1 << 20


@dataclass(frozen=True)
class Rules:
    """The sizes that the allocator decides by, in bytes. In brackets: the name in torch's AllocatorConfig.h."""

    min_block_size: int  # a block is a multiple of it (kMinBlockSize)
    small_size: int  # blocks up to this are small (kSmallSize)
    small_buffer: int  # a segment for small blocks (kSmallBuffer)
    min_large_alloc: int  # blocks from this on get a segment of their own (kMinLargeAlloc)
    large_segment_size: int  # a segment for large blocks below that (large_segment_size, a setting)
    round_large: int  # a segment of its own is a multiple of it (kRoundLarge)


def rules() -> Rules:
    """The sizes of the installed torch, from its header; of `large_segment_size` the default.

    Raises:
        FileNotFoundError: this torch came without its headers.
    """
    header = Path(torch.__file__).parent / "include" / "c10" / "core" / "AllocatorConfig.h"
    text = header.read_text(encoding="utf-8")
    constants = dict(re.findall(r"constexpr size_t (k\w+) = (\d+);", text))
    large = re.search(r"large_segment_size_\{(\d+)\}", text)
    return Rules(
        min_block_size=int(constants["kMinBlockSize"]),
        small_size=int(constants["kSmallSize"]),
        small_buffer=int(constants["kSmallBuffer"]),
        min_large_alloc=int(constants["kMinLargeAlloc"]),
        # Older versions have it as a constant that no header holds (kLargeBuffer).
        large_segment_size=int(large[1]) if large else 20 * MIB,
        round_large=int(constants["kRoundLarge"]),
    )


class Device:
    """The memory of a device that gives out segments, each at an address that no other has had.

    capacity: bytes. asked: the sizes of all segments asked for, those refused, too.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.asked: list[int] = []
        self.open = True  # False: every request for a segment is refused
        self._segments: dict[int, int] = {}
        self._next = 1 << 30

    @property
    def used(self) -> int:
        """The bytes of all segments that are out."""
        return sum(self._segments.values())

    def malloc(self, nbytes: int) -> int:
        """The address of a new segment.

        Raises:
            torch.OutOfMemoryError: not enough is free.
        """
        if not self.open:
            raise torch.OutOfMemoryError("the device gives no segment now")
        self.asked.append(nbytes)
        if self.used + nbytes > self.capacity:
            raise torch.OutOfMemoryError(
                f"tried to allocate {nbytes} bytes, {self.capacity - self.used} of {self.capacity} are free"
            )
        address = self._next
        self._segments[address] = nbytes
        self._next += nbytes + MIB  # a gap, so that no two segments touch
        return address

    def free(self, address: int) -> None:
        """Takes a whole segment back.

        Raises:
            ValueError: no segment begins there.
        """
        if address not in self._segments:
            raise ValueError(f"no segment begins at {address}")
        del self._segments[address]


def id_of(tensor: Tensor) -> int:
    """What tells the memory of a tensor from a different one, while it is alive: the same for all views of it."""
    return tensor.untyped_storage()._cdata


@dataclass(frozen=True)
class Request:
    """One entry of a trace. nbytes > 0: memory number `memory` is asked for; nbytes < 0: it is freed."""

    memory: int
    nbytes: int


def requests_of(step: Callable[[], Any]) -> list[Request]:
    """All memory that torch asks the CPU's allocator for while `step()` runs, and all that it frees, in their order.

    By torch's profiler: kernels' own memory is in it, too. What was asked for before `step` ran is left out.
    """
    with _quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        result = step()
    del result
    assert prof.profiler is not None
    entries = sorted(
        (event.start_time_ns, event.extra_fields.ptr, event.extra_fields.alloc_size)
        for event in _events(prof.profiler.kineto_results.experimental_event_tree())
        if event.tag.name == "Allocation" and event.extra_fields.device.type == "cpu"
    )
    found: list[Request] = []
    numbers: dict[int, int] = {}
    count = 0
    for _, address, nbytes in entries:
        if nbytes > 0:
            numbers[address] = count
            found.append(Request(count, nbytes))
            count += 1
        elif address in numbers:
            found.append(Request(numbers.pop(address), nbytes))
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """The profiler's library tells of its start, its end and a missing GPU on standard error, past Python."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _events(tree: Any) -> Iterator[Any]:
    for event in tree:
        yield event
        yield from _events(event.children)


def live(requests: list[Request]) -> list[int]:
    """The bytes that live after each request."""
    return list(accumulate(each.nbytes for each in requests))


def replay(allocator: Any, requests: list[Request], stream: int = 0) -> Iterator[int]:
    """Hands requests to an allocator with `malloc(nbytes, stream)` and `free(address)`. Yields the place of each, when it is served.

    What is not freed in the list is freed in the end.
    """
    out: dict[int, int] = {}
    for at, request in enumerate(requests):
        if request.nbytes > 0:
            out[request.memory] = allocator.malloc(request.nbytes, stream)
        else:
            allocator.free(out.pop(request.memory))
        yield at
    for address in out.values():
        allocator.free(address)


class Steps:
    """What a caching allocator can try for one request, one step a method. `log`: the steps taken, in their order.

    allocator: with `malloc`, `empty_cache`; device: the one that it was made with.
    """

    def __init__(self, allocator: Any, device: Device, nbytes: int, stream: int = 0) -> None:
        self.threshold = 0.0  # garbage_collection_threshold, which is off by default
        self.stats = {"num_alloc_retries": 0, "num_ooms": 0}
        self.log: list[str] = []
        self._allocator, self._device = allocator, device
        self._malloc = lambda: allocator.malloc(nbytes, stream)

    def search(self) -> int | None:
        """The address of an idle block that fits, None if there is none."""
        self.log.append("search")
        self._device.open = False
        try:
            return self._malloc()
        except torch.OutOfMemoryError:
            return None
        finally:
            self._device.open = True

    def free_memory_callbacks(self) -> bool:
        """Asks all who have registered to give memory back; True if one did. Here nobody has."""
        self.log.append("free_memory_callbacks")
        return False

    def collect_garbage(self) -> None:
        """Gives old idle blocks back, until less than `threshold` of the allowed memory is taken."""
        self.log.append("collect_garbage")

    def device_malloc(self) -> int | None:
        """Asks the device for a segment, and returns the address of the block in it; None if the device refuses."""
        self.log.append("device_malloc")
        try:
            return self._malloc()
        except torch.OutOfMemoryError:
            return None

    def release_available(self) -> bool:
        """Gives idle blocks back that are large enough for the request; False if `max_split_size_mb` is not set, as here."""
        self.log.append("release_available")
        return False

    def release_all(self) -> bool:
        """Gives all idle segments back."""
        self.log.append("release_all")
        self._allocator.empty_cache()
        return True


class Through:
    """An allocator that serves each request by `allocate(steps)`, and counts in `stats` what `Steps` counts."""

    def __init__(
        self, allocate: Callable[[Steps], int], allocator: Any, device: Device, stats: dict[str, int]
    ) -> None:
        self.free = allocator.free
        self._allocate, self._allocator, self._device, self._stats = allocate, allocator, device, stats

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        """The address that `allocate` finds."""
        steps = Steps(self._allocator, self._device, nbytes, stream)
        steps.stats = self._stats
        return self._allocate(steps)


def as_torch_has_it(segments: list[dict[str, Any]]) -> dict[str, Any]:
    """Segments, as `CachingAllocator.snapshot` gives them, in the form that `torch.cuda._memory_viz` reads."""
    return {
        "segments": [_segment(each) for each in segments],
        "device_traces": [[]],
        "allocator_settings": {},
    }


def _segment(segment: dict[str, Any]) -> dict[str, Any]:
    out = [each for each in segment["blocks"] if each["state"] != "inactive"]
    size = sum(each["size"] for each in out)
    return {
        **segment,
        "device": 0,
        "allocated_size": size,
        "active_size": size,
        "requested_size": sum(each["requested_size"] for each in out),
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": [{**each, "frames": []} for each in segment["blocks"]],
    }
