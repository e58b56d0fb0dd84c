"""Lab 06: copies between host and device, from pageable and from page-locked memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import event_ms, host_ms, host_us

KILO = 1024
SIZES = [4 * KILO, 64 * KILO, KILO**2, 16 * KILO**2, 256 * KILO**2, KILO**3]  # bytes
TINY = [4 * KILO, 16 * KILO]
LONG = 100_000_000  # cycles, about 50 ms


def buffers(gpu: Device, size: int) -> tuple[dict[str, Tensor], Tensor]:
    """So many bytes on the host, pageable and pinned, and on the device. All were touched."""
    pageable = torch.ones(size // 4)
    return {"pageable": pageable, "pinned": gpu.pinned(pageable)}, torch.ones(size // 4).to(gpu.device)


def copies(gpu: Device, size: int) -> dict[str, Callable[[], object]]:
    """The four copies of so many bytes into memory that is there already."""
    host, device = buffers(gpu, size)
    found: dict[str, Callable[[], object]] = {}
    for kind, memory in host.items():
        found[f"to the device, {kind}"] = lambda memory=memory: device.copy_(memory, non_blocking=True)
        found[f"to the host, {kind}"] = lambda memory=memory: memory.copy_(device, non_blocking=True)
    return found


@measurement("copy_bandwidth", lab="06", unit="ms", seconds=120)
def copy_bandwidth(gpu: Device) -> Samples:
    """Copies of 4 kB to 1 GB in both directions, from and to pageable and pinned memory: milliseconds until the device is
    done, on the host's clock, 10 times after 2 for warm-up. A line through time against bytes gives latency and
    bandwidth.

    Predicted: pinned at most 63 GB/s (PCIe 5 with 16 lanes), pageable slower, most of all in large copies; 10 us or so
    for the smallest.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for size in gpu.pick(SIZES, TINY, SIZES[:-1]):
        for name, copy in copies(gpu, size).items():
            copy(), copy()
            found.setdefault(f"{name}, ms", {})[f"{size} bytes"] = host_ms(gpu, copy, 10)
    return found


@measurement("copy_return_time", lab="06", unit="us", seconds=120)
def copy_return_time(gpu: Device) -> Samples:
    """How long `copy_(..., non_blocking=True)` of 64 MB keeps the host while the device sleeps for about 50 ms first:
    microseconds until the call returns, 10 times after 2 for warm-up.

    Predicted: some 10 us for pinned memory in both directions; for pageable memory the call waits for the device: 50 ms
    or more at least for the copy to the host.
    """
    size, found = gpu.pick(64 * KILO**2, 4 * KILO), {}
    for name, copy in copies(gpu, size).items():
        copy(), copy()
        found[f"{name}, returned after us"] = host_us(gpu, copy, 10, synchronize=False, before=LONG)
    return found


@measurement("pin_cost", lab="06", unit="ms", seconds=120)
def pin_cost(gpu: Device) -> Samples:
    """What it costs to move a batch that is not pinned: `x.pin_memory()` alone, `x.pin_memory().to(device)`, and plain
    `x.to(device)`, for 1, 16 and 256 MB; 10 times after 2 for warm-up. Pinned memory that was freed is used again by
    torch, so `pin_memory` is mostly a copy on the host.

    Predicted: pinning first and then copying takes longer than the plain copy.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for size in gpu.pick([KILO**2, 16 * KILO**2, 256 * KILO**2], TINY, [KILO**2, 16 * KILO**2]):
        x = torch.ones(size // 4)
        ways = {
            "pin_memory, ms": lambda x=x: gpu.pinned(x),
            "pin_memory and to, ms": lambda x=x: gpu.pinned(x).to(gpu.device, non_blocking=True),
            "to, ms": lambda x=x: x.to(gpu.device),
        }
        for name, way in ways.items():
            way(), way()
            found.setdefault(name, {})[f"{size} bytes"] = host_ms(gpu, way, 10)
    return found


@measurement("first_pin", lab="06", unit="ms", seconds=120)
def first_pin(gpu: Device) -> Samples:
    """`x.pin_memory()` where torch has no pinned memory of that size to use again: the pinned copies are all kept, 10 of
    64 MB. The first sample also starts what is needed for pinning.

    Predicted: several times longer than a pin_memory that finds memory: the system must lock page after page.
    """
    x = torch.ones(gpu.pick(16 * KILO**2, KILO))
    kept = []
    return {"pin_memory_ms": host_ms(gpu, lambda: kept.append(gpu.pinned(x)), 10)}


@measurement("early_read", lab="06", unit="sums")
def early_read(gpu: Device) -> Samples:
    """A tensor of ones is copied to the host with `non_blocking=True` while the device sleeps, and the host adds up what
    it has: at once, and after a synchronisation. 20 times, each into a pinned buffer of zeros that is filled anew.

    Predicted: 0 at once, the number of ones after the synchronisation, each time.
    """
    x = torch.ones(gpu.pick(KILO**2, KILO)).to(gpu.device)
    buffer, early, late = gpu.pinned(torch.zeros(len(x))), [], []
    buffer.copy_(x, non_blocking=True)
    for _ in gpu.times(20):
        gpu.synchronize()
        buffer.zero_()
        gpu.sleep(20_000_000)
        buffer.copy_(x, non_blocking=True)
        early.append(buffer.sum().item())
        gpu.synchronize()
        late.append(buffer.sum().item())
    return {"ones": [len(x)], "sum_at_once": early, "sum_after_synchronize": late}


@measurement("device_copy", lab="06", unit="ms")
def device_copy(gpu: Device) -> Samples:
    """A copy of 1 GB inside the device's own memory, by events; 20 times after 3 for warm-up.

    Predicted: one or two thousand times a GB/s read and written, far above any link to the host.
    """
    x = torch.ones(gpu.pick(KILO**3 // 4, KILO, 64 * KILO**2)).to(gpu.device)
    y = torch.empty_like(x)
    for _ in range(3):
        y.copy_(x)
    return {"bytes": [x.numel() * 4], "copy_ms": event_ms(gpu, lambda: y.copy_(x), 20)}
