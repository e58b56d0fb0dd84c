"""Lab 01: which operations give other bits from run to run, and what the deterministic ones cost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from helpers.measurements.device import Device
from helpers.measurements.lab01_operations import Call, additions, into_bins, operations
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import digest, event_ms

ROUNDING = 2.0**-24  # half a unit in the last place of float32, at 1


@contextmanager
def deterministic() -> Iterator[None]:
    """torch's switch for deterministic algorithms, and cuDNN's search for the fastest kernel off."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.backends.cudnn.benchmark = before[1]


def digests(gpu: Device, call: Call, runs: int) -> list[str]:
    """The digest of each run's result, or of each the first line of its error."""
    return [outcome(call) for _ in gpu.times(runs)]


def outcome(call: Call) -> str:
    """The digest of the result; of an operation that is refused, the error."""
    try:
        return digest(call())
    except RuntimeError as error:
        return f"RuntimeError: {str(error).splitlines()[0][:80]}"


@measurement("run_to_run_bits", lab="01", unit="digests", seconds=180)
def run_to_run_bits(gpu: Device) -> Samples:
    """Each operation runs 100 times on the same input, a million numbers, with no switch set. The samples are digests of
    the results: equal bits, equal digest.

    Predicted: several digests where threads add float32 to the same place in the order in which they arrive (index_add_,
    scatter_add_, bincount with weights, some gradients); one for whole numbers, for one number a bin, for sum, matmul,
    sort, median, x + y, and for rand after a seed.
    """
    return {name: digests(gpu, call, 100) for name, call in operations(gpu).items()}


@measurement("run_to_run_spread", lab="01", unit="share of the bound")
def run_to_run_spread(gpu: Device) -> Samples:
    """Sums of normal numbers into 10 and 1000 bins, 100 runs of each way. A sample is the largest difference of a run
    from the first one, as a share of the bound: numbers in the bin, times 2^-24, times the sum of their sizes.

    Predicted: between 0 and 1 always, and far below 1, since roundings go both ways.
    """
    found = {}
    for bins in (10, 1000):
        x, index = into_bins(gpu, bins)
        limit = bound(x, index, bins)
        for name, call in additions(x, index, bins).items():
            first = call().double()
            shares = [((call().double() - first).abs() / limit).max().item() for _ in gpu.times(100)]
            found[f"{name}, {bins} bins, share of the bound"] = shares
    return found


def bound(x: Tensor, index: Tensor, bins: int) -> Tensor:
    """Of each bin: how far a float32 sum of its numbers can be from the exact one, in any order."""
    count = torch.bincount(index.cpu(), minlength=bins).double()
    size = torch.zeros(bins, dtype=torch.float64).index_add_(0, index.cpu(), x.cpu().double().abs())
    return (count * ROUNDING * size).clamp(min=torch.finfo(torch.float32).tiny).to(x.device)


@measurement("deterministic_bits", lab="01", unit="digests or errors", seconds=180)
def deterministic_bits(gpu: Device) -> Samples:
    """As run_to_run_bits, 20 runs each, under `torch.use_deterministic_algorithms(True)`. An operation without a
    deterministic kernel gives its error in place of a digest.

    Predicted: one digest for each operation, or the RuntimeError that names it.
    """
    with deterministic():
        return {name: digests(gpu, call, 20) for name, call in operations(gpu).items()}


@measurement("deterministic_cost", lab="01", unit="ms", seconds=180)
def deterministic_cost(gpu: Device) -> Samples:
    """The time of each operation by events, 20 times after 3 for warm-up, with the switch for deterministic algorithms
    off and on. An operation that is refused is left out of the second table.

    Predicted: slower where torch takes a different kernel (index_add_ and its kin), the same elsewhere.
    """
    usual = {name: event_ms(gpu, warm(call), 20) for name, call in operations(gpu).items()}
    with deterministic():
        switched = {
            name: event_ms(gpu, call, 20) for name, call in operations(gpu).items() if not refused(call, name)
        }
    return {"usual_ms": usual, "deterministic_ms": switched}


def warm(call: Call) -> Call:
    """The same call, after three of them."""
    for _ in range(3):
        call()
    return call


def refused(call: Call, name: str) -> bool:
    """Whether the operation raises under the switch; else it is warm afterwards."""
    try:
        warm(call)
    except RuntimeError:
        return True
    return False
