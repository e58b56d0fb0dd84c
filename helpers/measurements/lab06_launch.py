"""Lab 06: what a clock on the host sees of a GPU, and what events see."""

from __future__ import annotations

from functools import partial

import torch

from helpers.measurements.device import Device
from helpers.measurements.processes import answer_of
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import event_ms, host_us


@measurement("matmul_without_synchronize", lab="06", unit="us")
def matmul_without_synchronize(gpu: Device) -> Samples:
    """The product of two n x n matrices for n from 256 to 8192, 20 times after 3 for warm-up: on the host's clock without
    and with a synchronisation before the clock is read, and by events.

    Predicted: without synchronisation 5 to 20 us whatever n; with it, and by events, in proportion to n^3 once n is
    large.
    """
    sizes = gpu.pick([256, 512, 1024, 2048, 4096, 8192], [4, 8], [256, 512, 1024, 2048, 4096])
    found = {"without_synchronize_us": {}, "with_synchronize_us": {}, "events_us": {}}
    for n in sizes:
        a, b = (torch.ones(n, n, device=gpu.device) for _ in "ab")
        product = partial(torch.mm, a, b)
        for _ in range(3):
            product()
        found["without_synchronize_us"][f"n={n}"] = host_us(gpu, product, 20, synchronize=False)
        found["with_synchronize_us"][f"n={n}"] = host_us(gpu, product, 20, synchronize=True)
        found["events_us"][f"n={n}"] = [time * 1e3 for time in event_ms(gpu, product, 20)]
    return found


@measurement("launch_cost", lab="06", unit="us a kernel")
def launch_cost(gpu: Device) -> Samples:
    """`x.add_(0)` on one element, 1000 times in a row: the host's time to queue them, until the device is done with them,
    and the same 1000 kernels replayed as one CUDA graph. 20 turns, each divided by 1000.

    Predicted: 3 to 6 us a launch, so that small kernels are bound by the host; a graph takes less.
    """
    x, count = torch.zeros(1, device=gpu.device), gpu.pick(1000, 10)

    def kernels() -> None:
        for _ in range(count):
            x.add_(0)

    replay = gpu.graphed(kernels)
    kernels(), replay()
    turns = {
        "queued_us_a_kernel": host_us(gpu, kernels, 20, synchronize=False),
        "done_us_a_kernel": host_us(gpu, kernels, 20, synchronize=True),
        "graph_us_a_kernel": host_us(gpu, replay, 20, synchronize=True),
    }
    return {name: [time / count for time in times] for name, times in turns.items()}


@measurement("queue_limit", lab="06", unit="us of each launch")
def queue_limit(gpu: Device) -> Samples:
    """The device sleeps, and the host queues 3000 small kernels behind it. Each sample is the host's time for one launch,
    in order.

    Predicted: a few microseconds each, until the queue is full, after about 1024 launches: then one launch takes as long
    as the rest of the sleep.
    """
    x = torch.zeros(1, device=gpu.device)
    x.add_(0)
    gpu.synchronize()
    gpu.sleep(1_000_000_000)
    times = []
    for _ in range(gpu.pick(3000, 20)):
        start = gpu.clock()
        x.add_(0)
        times.append((gpu.clock() - start) * 1e6)
    gpu.synchronize()
    return {"launch_us": times}


@measurement("first_call", lab="06", unit="s", seconds=300, processes=True)
def first_call(gpu: Device) -> Samples:
    """Five fresh processes: seconds to import torch, to the first tensor on the device (CUDA starts), for the first and
    the second matrix product (cuBLAS is loaded), and for the first and the second convolution (cuDNN).

    Predicted: seconds or tenths of them for what is first, some ten microseconds for what is second.
    """
    runs = [answer_of("first_call", gpu.device.type) for _ in range(gpu.pick(5, 1, 2))]
    return {f"{what}_s": [run[what] for run in runs] for what in runs[0]}


@measurement("sleep_by_events", lab="06", unit="ms")
def sleep_by_events(gpu: Device) -> Samples:
    """A kernel that counts 10^6 to 10^9 cycles, timed by two events; 10 times each.

    Predicted: in proportion to the cycles, to about 1 us and 0.1 %; the slope is the clock of the device.
    """
    counts = gpu.pick([10**6, 10**7, 10**8, 10**9], [10**3, 10**4], [10**6, 10**7, 10**8])
    return {f"cycles={cycles}, ms": event_ms(gpu, lambda c=cycles: gpu.sleep(c), 10) for cycles in counts}
