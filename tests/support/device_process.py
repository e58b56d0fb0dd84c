"""Tests whose bodies run in a process of its own, where torch has been told of the simulated device."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import torch
from torch import Tensor

from helpers import streams
from helpers.labs.streams.shared.happens_before import races

CASES: dict[str, Callable[[], None]] = {}
UNWRITTEN = torch.full((4,), 0x7F, dtype=torch.uint8).view(torch.float32).item()


@pytest.fixture(scope="module")
def device_process() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: a device that torch has been told of stays for good."""
    # Optimizers import it. A fork in the middle of such an import by another thread would leave it locked.
    importlib.import_module("torch._dynamo")
    with ProcessPoolExecutor(1, get_context("fork"), _with_device) as pool:
        yield pool


def _with_device() -> None:
    gc.freeze()  # what earlier tests have left is not collected here: its threads did not come along
    torch.set_num_threads(1)  # neither did those of torch
    streams.install()


def _run(name: str) -> None:
    streams.reset()
    CASES[name]()


def on_device(case: Callable[[], None]) -> Callable[[ProcessPoolExecutor], None]:
    """A test whose body runs on a new device in that process."""
    CASES[case.__name__] = case

    def test(device_process: ProcessPoolExecutor) -> None:
        device_process.submit(_run, case.__name__).result()

    test.__doc__ = case.__doc__
    return test


def kernels() -> list[tuple[str, str, float, float]]:
    return [tuple(run) for run in streams.timeline()]


def racing() -> set[tuple[int, int]]:
    return races(streams.trace())


def matrix(*size: int) -> Tensor:
    return torch.arange(float(torch.Size(size).numel())).reshape(size)
