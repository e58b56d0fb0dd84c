"""The simulated device keeps CUDA's rules of order and time: streams, events, what the host waits for."""

from __future__ import annotations

import threading

import pytest
import torch

from helpers import streams
from tests.support.device_process import UNWRITTEN, device_process, kernels, on_device, racing  # noqa: F401


@on_device
def test_kernels_of_one_stream_run_one_after_the_other() -> None:
    x = torch.zeros(4, device="sim")
    for _ in range(3):
        x.add_(1)
    assert [name for name, *_ in kernels()] == ["zero_", "add_", "add_", "add_"]
    assert [times for *_, first, last in kernels() for times in [(first, last)]] == [
        (5, 25),
        (25, 45),
        (45, 65),
        (65, 85),
    ]
    assert streams.clock() == 20e-6
    assert x.tolist() == [3, 3, 3, 3]
    assert streams.clock() > 85e-6


@on_device
def test_a_kernel_starts_when_stream_host_and_marks_allow() -> None:
    side, event = streams.Stream(), streams.Event()
    streams.sleep(1)
    event.record()
    with streams.stream(side):
        streams.sleep(0.1)
        event.wait()
        streams.sleep(0.1)
    streams.host_works(3)
    streams.sleep(0.5)
    assert kernels() == [
        ("sleep", "default", 5, 1005),
        ("sleep", "s1", 10, 110),
        ("sleep", "s1", 1005, 1105),
        ("sleep", "default", 3020, 3520),
    ]


@on_device
def test_a_stream_that_nobody_made_wait_reads_too_early() -> None:
    side = streams.Stream()
    with streams.costs(zero_=1000.0):
        x = torch.zeros(8, device="sim")
        with streams.stream(side):
            y = x + 1
    assert y.tolist() == [UNWRITTEN] * 8
    assert streams.truth(y).tolist() == [1] * 8
    assert (0, 1) in racing()


@on_device
def test_wait_stream_orders_it_and_both_still_overlap() -> None:
    side = streams.Stream()
    with streams.costs(zero_=1000.0):
        x = torch.zeros(8, device="sim")
        side.wait_stream(streams.current_stream())
        with side:
            y = x + 1
        streams.sleep(1)
        streams.current_stream().wait_stream(side)
    assert y.tolist() == [1] * 8 and not racing()
    ends = {name: end for name, _, _, end in kernels()}
    assert ends["add"] == 1025 and ends["sleep"] == 2005


@on_device
def test_the_default_stream_waits_for_nobody() -> None:
    with streams.stream(streams.Stream()), streams.costs(zero_=1000.0):
        x = torch.zeros(2, device="sim")
    assert x.tolist() == [UNWRITTEN] * 2
    streams.synchronize()
    assert x.tolist() == [0, 0]


@on_device
def test_an_event_holds_to_the_last_record_before_the_wait() -> None:
    one, other, event = streams.Stream(), streams.Stream(), streams.Event()
    event.wait(other)  # never recorded: does nothing
    with one:
        streams.sleep(1)
        event.record()
        other.wait_event(event)
        streams.sleep(5)
        event.record()
    with other:
        streams.sleep(1)
    assert [run.start for run in streams.timeline()] == [5, 1005, 1005]
    assert [op.kind for op in streams.trace()] == [
        "wait",
        "kernel",
        "record",
        "wait",
        "kernel",
        "record",
        "kernel",
    ]


@on_device
def test_events_tell_the_time_and_torchs_errors() -> None:
    first, last, plain = streams.Event(enable_timing=True), streams.Event(enable_timing=True), streams.Event()
    assert plain.query()
    with pytest.raises(ValueError, match="must be created with argument 'enable_timing=True'"):
        first.elapsed_time(plain)
    with pytest.raises(ValueError, match="must be recorded before"):
        first.elapsed_time(last)
    first.record()
    streams.sleep(2)
    last.record()
    with pytest.raises(RuntimeError, match="must be completed before"):
        first.elapsed_time(last)
    assert not last.query()
    last.synchronize()
    assert last.query() and first.elapsed_time(last) == 2.005  # the first waits for the host, which launches


@on_device
def test_polling_comes_to_an_end() -> None:
    event = streams.Event()
    streams.sleep(0.1)
    event.record()
    polls = 0
    while not event.query():
        polls += 1
    assert polls == 99 and streams.current_stream().query()


@on_device
def test_what_the_host_has_seen_is_ordered() -> None:
    """synchronize() of a stream, of an event and of the device, a query that says yes, and item()."""
    side = streams.Stream()
    for wait in (
        side.synchronize,
        lambda: side.record_event().synchronize(),
        streams.synchronize,
        lambda: [None for _ in iter(side.query, True)],
        lambda: [None for _ in iter(side.record_event().query, True)],
    ):
        streams.reset()
        with side:
            x = torch.ones(3, device="sim")
        wait()
        assert x.tolist() == [1, 1, 1] and not racing()
    streams.reset()
    with side:
        x = torch.ones(3, device="sim")
        assert x.sum().item() == 3
    assert (x + 1).tolist() == [2, 2, 2] and not racing()


@on_device
def test_current_streams_nest_and_belong_to_threads() -> None:
    one, seen = streams.Stream(name="one"), []
    with streams.stream(one):
        thread = threading.Thread(target=lambda: seen.append(streams.current_stream().name))
        thread.start()
        thread.join()
        with streams.stream(None), streams.Stream(name="two"):
            seen.append(streams.current_stream().name)
        seen.append(streams.current_stream().name)
    assert [*seen, streams.current_stream().name] == ["default", "two", "one", "default"]
    assert torch.sim.current_stream() is streams.default_stream() and torch.sim.Stream is streams.Stream


@on_device
def test_backward_runs_on_the_current_stream() -> None:
    side, w = streams.Stream(name="side"), torch.ones(3, device="sim", requires_grad=True)
    with side:
        (w * 2).sum().backward()
    assert {run.stream for run in streams.timeline()[1:]} == {"side"}


@on_device
def test_streams_and_events_of_another_kind_are_refused() -> None:
    foreign, event = torch.Stream("sim"), torch.Event("sim")  # C++ makes them; they order nothing here
    current, x = streams.current_stream(), torch.ones(2, device="sim")
    for call in (
        lambda: current.wait_stream(foreign),
        lambda: streams.Event().record(foreign),
        lambda: streams.set_stream(foreign),
        lambda: x.record_stream(foreign),
    ):
        with pytest.raises(TypeError, match=r"torch\.sim\.Stream\(\).*not with torch\.Stream"):
            call()
    with pytest.raises(TypeError, match=r"torch\.sim\.Event\(\).*not with torch\.Event"):
        current.wait_event(event)
    assert streams.current_stream() is current
