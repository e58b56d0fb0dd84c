"""Lab 06: two streams without a wait, and memory that is used again too early."""

from __future__ import annotations

import torch

from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import plain

SLEEP = 20_000_000  # cycles, about 10 ms


@measurement("race_without_wait", lab="06", unit="sums")
def race_without_wait(gpu: Device) -> Samples:
    """10,000 zeros are filled with ones on one stream and added up on another: with and without
    `side.wait_stream(main)`, and with and without a sleep of about 10 ms in front of the filling. 20 sums each.

    Predicted: with the wait 10000 always; without it 0 each time after the sleep, and without a sleep as it falls.
    """
    side = gpu.Stream()
    sum_on_side(gpu, side, 0, True)  # kernels and memory are there before anything is looked at
    return {
        f"{'sleep' if cycles else 'no sleep'}, {'wait' if wait else 'no wait'}": [
            sum_on_side(gpu, side, cycles, wait) for _ in gpu.times(20)
        ]
        for cycles in (SLEEP, 0)
        for wait in (False, True)
    }


def sum_on_side(gpu: Device, side: object, cycles: int, wait: bool) -> float | str:
    """The sum that the stream `side` sees while the current stream fills the tensor."""
    x = torch.zeros(100, 100, device=gpu.device)
    gpu.synchronize()
    if cycles:
        gpu.sleep(cycles)
    x.fill_(1)
    if wait:
        side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        total = x.sum()
    gpu.synchronize()
    return plain(total.item())


@measurement("race_of_the_notes", lab="06", unit="sums")
def race_of_the_notes(gpu: Device) -> Samples:
    """The example of torch's notes on CUDA: `A = torch.empty((100, 100)).normal_(0, 1)` on the default stream and
    `torch.sum(A)` on another, without and with `wait_stream`. The memory of A is filled with 7 before, so that a sum which
    came too early can be told. 20 sums each, without any sleep.

    Predicted: with the wait never 70000; without it as it falls: mostly right, since the launch of the sum takes longer
    than so small a normal_.
    """
    side = gpu.Stream()
    sum_of_the_notes(gpu, side, True)
    return {
        name: [sum_of_the_notes(gpu, side, wait) for _ in gpu.times(20)]
        for name, wait in {"no wait": False, "wait": True}.items()
    }


def sum_of_the_notes(gpu: Device, side: object, wait: bool) -> float | str:
    """The sum that the stream `side` sees of a new random tensor, in memory that held sevens."""
    torch.full((100, 100), 7.0, device=gpu.device)  # freed at once: A gets its memory
    gpu.synchronize()
    a = torch.empty((100, 100), device=gpu.device).normal_(0.0, 1.0)
    if wait:
        side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        total = torch.sum(a)
    gpu.synchronize()
    return plain(total.item())


@measurement("record_stream_race", lab="06", unit="sums")
def record_stream_race(gpu: Device) -> Samples:
    """1000 ones, made on one stream, are added up on another after a sleep of about 10 ms. Meanwhile the first stream
    frees them and fills 1000 new numbers with nines. With and without `record_stream`, 20 sums each.

    Predicted: 9000 without, since the new tensor gets the same memory at once; 1000 with.
    """
    side = gpu.Stream()
    sum_of_freed(gpu, side, True)
    return {
        name: [sum_of_freed(gpu, side, kept) for _ in gpu.times(20)]
        for name, kept in {"without record_stream": False, "with record_stream": True}.items()
    }


def sum_of_freed(gpu: Device, side: object, kept: bool) -> float | str:
    """The sum that the stream `side` sees of a tensor that is freed before it begins."""
    x = torch.ones(1000, device=gpu.device)
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        gpu.sleep(SLEEP)
        total = x.sum()
    if kept:
        gpu.uses(x, side)
    del x
    y = torch.full((1000,), 9.0, device=gpu.device)
    gpu.synchronize()
    del y
    return plain(total.item())
