"""Tests whose bodies run in a process of its own, where torch has been told of the simulated device."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch
from torch import Tensor

from helpers import streams
from helpers.labs.streams.shared.happens_before import races
from helpers.processes.fork_server import fork_server, no_main_module

CASES: dict[str, Callable[[], None]] = {}
UNWRITTEN = torch.full((4,), 0x7F, dtype=torch.uint8).view(torch.float32).item()


@pytest.fixture(scope="module")
def device_process() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: a device that torch has been told of stays for good.

    From the fork server, which never computed: a fork of this process would hold what earlier tests have left, without the
    threads that belong to it.
    """
    with ProcessPoolExecutor(1, fork_server(), with_device) as pool:
        yield pool


def with_device() -> None:
    torch.set_num_threads(1)
    streams.install()


def _run(module: str, name: str) -> None:
    importlib.import_module(module)  # it fills CASES
    streams.reset()
    CASES[name]()


def on_device(case: Callable[[], None]) -> Callable[[ProcessPoolExecutor], None]:
    """A test whose body runs on a new device in that process."""
    CASES[case.__name__] = case

    def test(device_process: ProcessPoolExecutor) -> None:
        with no_main_module():
            device_process.submit(_run, case.__module__, case.__name__).result()

    test.__doc__ = case.__doc__
    return test


def kernels() -> list[tuple[str, str, float, float]]:
    return [tuple(run) for run in streams.timeline()]


def racing() -> set[tuple[int, int]]:
    return races(streams.trace())


def matrix(*size: int) -> Tensor:
    return torch.arange(float(torch.Size(size).numel())).reshape(size)
