"""The GPU's own interface, on a fake of torch.cuda: the calls that no machine without a GPU ever makes."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch

from helpers.measurements.device import Gpu
from helpers.measurements.rehearsal import CpuEvent, CpuStream
from helpers.measurements.timing import event_ms, host_us


class FakeGraph:
    """Remembers that it was replayed."""

    def __init__(self) -> None:
        self.replayed = 0

    def replay(self) -> None:
        self.replayed += 1


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """A Gpu over a fake: what is queued is noted in `gpu.log`, tensors are on the CPU."""
    log: list = []
    fakes = {
        "is_available": lambda: True,
        "current_device": lambda: 0,
        "synchronize": lambda: log.append("synchronize"),
        "stream": lambda stream: nullcontext(stream),
        "current_stream": CpuStream,
        "_sleep": lambda cycles: log.append(cycles),
        "Stream": CpuStream,
        "Event": CpuEvent,
        "CUDAGraph": FakeGraph,
        "graph": lambda graph: nullcontext(graph),
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    gpu = Gpu()
    assert gpu.device == torch.device("cuda", 0)
    gpu.device, gpu.log = torch.device("cpu"), log
    return gpu


def test_a_recording_takes_the_real_sizes_and_a_lab_the_quick_ones(gpu: Gpu) -> None:
    assert gpu.pick(8192, 8) == gpu.pick(8192, 8, 1024) == 8192 and len(gpu.times(20)) == 20
    gpu.quick = True
    assert gpu.pick(8192, 8) == 8192 and gpu.pick(8192, 8, 1024) == 1024
    assert len(gpu.times(20)) == 5 and len(gpu.times(4)) == 2


def test_the_host_s_clock_is_read_after_a_synchronisation(gpu: Gpu) -> None:
    host_us(gpu, lambda: gpu.log.append("call"), 1, synchronize=True)
    assert gpu.log == ["synchronize", "call", "synchronize", "synchronize"]
    gpu.log.clear()
    host_us(gpu, lambda: gpu.log.append("call"), 1, synchronize=False, before=7)
    assert gpu.log == ["synchronize", 7, "call", "synchronize"]


def test_the_device_sleeps_while_the_events_are_queued(gpu: Gpu) -> None:
    times = event_ms(gpu, lambda: gpu.log.append("call"), 3)
    assert len(times) == 3 and gpu.log[1::2] == ["call"] * 3 and all(gpu.log[::2])


def test_a_graph_is_captured_after_a_warm_up_and_replayed(gpu: Gpu) -> None:
    calls: list[int] = []
    replay = gpu.graphed(lambda: calls.append(1))
    assert len(calls) == 2  # warm-up and capture
    replay()
    assert len(calls) == 2 and replay.__self__.replayed == 1


def test_streams_sleep_and_memory_are_those_of_torch(gpu: Gpu) -> None:
    assert isinstance(gpu.Stream(), CpuStream) and isinstance(gpu.current_stream(), CpuStream)
    with gpu.stream(gpu.Stream()):
        gpu.sleep(5)
    assert gpu.log == [5]


def test_the_profiler_s_events_come_in_order_of_start(gpu: Gpu) -> None:
    x = torch.ones(4, 4)
    seen = gpu.events(lambda: (x @ x).sum())
    names = [name for where, name, *_ in seen if where == "host"]
    assert names.index("aten::matmul") < names.index("aten::sum")
    assert min(start for *_, start, _ in seen) == 0 and all(start <= end for *_, start, end in seen)
