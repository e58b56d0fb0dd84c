"""Lab 06: what runs at the same time on two streams, and what does not."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import event_ms, host_ms

BATCHES = 10


def batch_on_host(gpu: Device) -> Tensor:
    """64 MB of float32 as a square matrix."""
    side = gpu.pick(4096, 16)
    return torch.full((side, side), 1.0 / side)


class Work:
    """Matrix products that take about `ratio` times as long as the copy of one batch. The ratio is set by measuring.

    copy_ms, product_ms: the raw times it was set by; products: how many a batch.
    """

    def __init__(self, gpu: Device, ratio: float) -> None:
        host = gpu.pinned(batch_on_host(gpu))
        x = host.to(gpu.device)
        small = x[: len(x) // 2, : len(x) // 2].contiguous()
        self.out = torch.empty_like(small)
        for call in (lambda: x.copy_(host, non_blocking=True), lambda: torch.mm(small, small, out=self.out)):
            call(), call()
        self.copy_ms = event_ms(gpu, lambda: x.copy_(host, non_blocking=True), 10)
        self.product_ms = event_ms(gpu, lambda: torch.mm(small, small, out=self.out), 10)
        times = statistics.median(self.copy_ms) / max(statistics.median(self.product_ms), 1e-6)
        self.products = min(max(1, round(ratio * times)), gpu.pick(10_000, 20))

    def __call__(self, batch: Tensor) -> None:
        part = batch[: len(self.out), : len(self.out)]
        for _ in range(self.products):
            torch.mm(part, part, out=self.out)


def copied_and_used(gpu: Device, batches: list[Tensor], work: Callable[[Tensor], None], side: Any) -> None:
    """Copies each batch on the stream `side`; the current stream waits for the copy and works with it."""
    main = gpu.current_stream()
    for batch in batches:
        with gpu.stream(side):
            there = batch.to(gpu.device, non_blocking=True)
            copied = side.record_event()
        main.wait_event(copied)
        gpu.uses(there, main)
        work(there)


@measurement("copy_compute_overlap", lab="06", unit="ms", seconds=120)
def copy_compute_overlap(gpu: Device) -> Samples:
    """Ten batches of 64 MB are copied to the device, and matrix products that take about as long as a copy work with
    each: all on one stream, and with the copies on a stream of their own; from pinned and from pageable memory.
    Milliseconds for all ten on the host's clock, 20 times after 2 for warm-up; beside them the copy and the product alone.

    Predicted: with k batches two streams take (k + 1) / 2k of the time of one, 0.55 for ten. From pageable memory the host
    waits for each copy, which is slower, while the product of the batch before it runs: ten slow copies and one product.
    """
    work, side = Work(gpu, 1.0), gpu.Stream()
    pageable = [batch_on_host(gpu) for _ in range(BATCHES)]
    pinned = [gpu.pinned(batch) for batch in pageable]
    ways = {
        "one_stream_ms": lambda: copied_and_used(gpu, pinned, work, gpu.current_stream()),
        "two_streams_ms": lambda: copied_and_used(gpu, pinned, work, side),
        "one_stream_pageable_ms": lambda: copied_and_used(gpu, pageable, work, gpu.current_stream()),
        "two_streams_pageable_ms": lambda: copied_and_used(gpu, pageable, work, side),
    }
    alone = {"copy_ms": work.copy_ms, "product_ms": work.product_ms, "products": [work.products]}
    return alone | {name: after_two(gpu, way) for name, way in ways.items()}


def after_two(gpu: Device, way: Callable[[], None]) -> list[float]:
    """Milliseconds of 20 calls, after two for warm-up."""
    way(), way()
    return host_ms(gpu, way, 20)


@measurement("kernel_overlap", lab="06", unit="ms")
def kernel_overlap(gpu: Device) -> Samples:
    """Two kernels on one stream and on two: two matrix products with n = 4096, which fill the device, and two kernels of
    one thread that only count cycles. Milliseconds until both are done, 20 times after 2 for warm-up.

    Predicted: two streams take as long as one for the products (the device is full), and half as long for the small
    kernels.
    """
    n = gpu.pick(4096, 8)
    a = torch.full((n, n), 1.0 / n, device=gpu.device)
    out = [torch.empty_like(a) for _ in range(2)]
    kernels: dict[str, Callable[[int], object]] = {
        "products": lambda i: torch.mm(a, a, out=out[i]),
        "small kernels": lambda i: gpu.sleep(10_000_000),
    }
    streams = [gpu.Stream(), gpu.Stream()]
    gpu.synchronize()  # the new streams do not wait for what filled the matrices
    found: dict[str, list[float]] = {}
    for name, kernel in kernels.items():
        for count in (1, 2):
            used = [streams[0], streams[count - 1]]
            found[f"{name}, {count} stream{'s' * (count > 1)}, ms"] = after_two(
                gpu, lambda kernel=kernel, used=used: on_streams(gpu, kernel, used)
            )
    return found


def on_streams(gpu: Device, kernel: Callable[[int], object], used: list[Any]) -> None:
    """Queues the kernel on each of the streams."""
    for i, stream in enumerate(used):
        with gpu.stream(stream):
            kernel(i)


def prefetched(gpu: Device, batches: list[Tensor], side: Any) -> Iterator[Tensor]:
    """The batches on the device, the copy of the next one queued before a batch is given out."""
    main, ahead = gpu.current_stream(), None
    for batch in [*batches, None]:
        ready, ahead = ahead, None
        if batch is not None:
            with gpu.stream(side):
                there = batch.to(gpu.device, non_blocking=True)
                ahead = there, side.record_event()
        if ready is not None:
            main.wait_event(ready[1])
            gpu.uses(ready[0], main)
            yield ready[0]


@measurement("prefetcher_by_ratio", lab="06", unit="ms", seconds=180)
def prefetcher_by_ratio(gpu: Device) -> Samples:
    """An epoch of ten pinned batches of 64 MB with work that takes 0.25, 0.5, 1, 2 and 4 times as long as a copy: with
    `batch.to(device, non_blocking=True)` on the stream of the work, and with a prefetcher that copies one batch ahead on a
    stream of its own. Milliseconds, 20 epochs each after 2 for warm-up.

    Predicted: naive over prefetched is about (copy + work) / max(copy, work): most, nearly 2, where both are equal.
    """
    batches, side = [gpu.pinned(batch_on_host(gpu)) for _ in range(BATCHES)], gpu.Stream()
    found: dict[str, dict[str, list]] = {"naive_ms": {}, "prefetched_ms": {}, "copy_ms": {}, "product_ms": {}}
    found["products"] = {}
    for ratio in (0.25, 0.5, 1.0, 2.0, 4.0):
        work, name = Work(gpu, ratio), f"work/copy={ratio}"

        def naive(work: Work = work) -> None:
            for batch in batches:
                work(batch.to(gpu.device, non_blocking=True))

        def ahead(work: Work = work) -> None:
            for batch in prefetched(gpu, batches, side):
                work(batch)

        found["naive_ms"][name], found["prefetched_ms"][name] = after_two(gpu, naive), after_two(gpu, ahead)
        found["copy_ms"][name], found["product_ms"][name] = work.copy_ms, work.product_ms
        found["products"][name] = [work.products]
    return found
