"""Streams on threads: torch.cuda's rules of order, errors, and that no thread stays. No clock is asserted."""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from helpers.streams import threads
from helpers.streams.threads import Event, Stream, current_stream, launch, stream

PATIENCE = 60.0  # seconds before a test that hangs fails


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    yield
    threads.shutdown()
    assert stream_threads() == []


def stream_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("stream ")]


def gate_on(side: Stream) -> threading.Event:
    """Something that holds the stream's work back until it is set."""
    gate = threading.Event()
    with stream(side):
        launch(gate.wait, PATIENCE, name="gate")
    return gate


def queue(side: Stream, log: list[Any], *what: Any) -> None:
    """Kernels that write into the log."""
    with stream(side):
        for each in what:
            launch(log.append, each)


# Order ------------------------------------------------------------------------------------------------------------


def test_a_launch_comes_back_before_its_kernel_has_run() -> None:
    side, log = Stream(), []
    gate = gate_on(side)
    queue(side, log, 1)
    assert log == [] and not side.query()
    gate.set()
    side.synchronize()
    assert log == [1] and side.query()


def test_kernels_of_one_stream_run_in_the_order_of_their_launch() -> None:
    side, log = Stream(), []
    queue(side, log, *range(100))
    side.synchronize()
    assert log == list(range(100))


def test_kernels_of_two_streams_run_at_the_same_time() -> None:
    one, other, both = Stream(), Stream(), threading.Barrier(2)
    for each in (one, other):
        with stream(each):
            launch(both.wait, PATIENCE)
    threads.synchronize()  # a barrier that is not met in time raises


def test_a_stream_waits_for_an_event_of_another_one() -> None:
    one, other, log = Stream(), Stream(), []
    gate, done = gate_on(one), Event()
    queue(one, log, "first")
    done.record(one)
    done.wait(other)
    queue(other, log, "second")
    assert not done.query()
    gate.set()
    other.synchronize()
    assert log == ["first", "second"] and done.query()


def test_wait_stream_waits_for_the_work_so_far_and_not_for_later_work() -> None:
    one, other, log = Stream(), Stream(), []
    queue(one, log, "before")
    other.wait_stream(one)
    gate = gate_on(one)
    queue(one, log, "after")
    queue(other, log, "between")
    other.synchronize()
    assert log == ["before", "between"]
    gate.set()


def test_a_stream_that_waits_for_itself_goes_on() -> None:
    side, log = Stream(), []
    side.wait_stream(side)
    queue(side, log, 1)
    side.synchronize()
    assert log == [1]


def test_a_wait_before_the_first_record_waits_for_nothing() -> None:
    one, other, log = Stream(), Stream(), []
    gate, event = gate_on(one), Event()
    other.wait_event(event)
    one.record_event(event)
    queue(other, log, 1)
    other.synchronize()
    assert log == [1]
    gate.set()


def test_a_later_record_does_not_move_an_earlier_wait() -> None:
    one, other, log = Stream(), Stream(), []
    event = one.record_event()
    other.wait_event(event)
    gate = gate_on(one)
    event.record(one)
    queue(other, log, 1)
    other.synchronize()
    assert log == [1] and not event.query()
    gate.set()
    event.synchronize()
    assert event.query()


def test_an_event_stands_for_its_last_record() -> None:
    one, other = Stream(), Stream()
    gate = gate_on(one)
    event = one.record_event()
    assert not event.query()
    event.record(other)
    event.synchronize()
    assert not one.query()
    gate.set()


def test_an_event_that_was_never_recorded_is_done() -> None:
    event = Event()
    assert event.query()
    event.synchronize()
    event.wait()


def test_the_default_stream_and_the_others_do_not_wait_for_each_other() -> None:
    side, log = Stream(), []
    gate = gate_on(side)
    launch(log.append, "default")
    threads.default_stream().synchronize()
    assert log == ["default"]
    gate.set()


# The current stream -----------------------------------------------------------------------------------------------


def test_the_current_stream_is_the_innermost_one() -> None:
    one, other = Stream(name="one"), Stream()
    assert current_stream() is threads.default_stream()
    with stream(one):
        with other, stream(None), one:
            assert current_stream() is one
        assert current_stream() is one
        with contextlib.suppress(KeyError), stream(other):
            raise KeyError
        assert current_stream() is one
    assert current_stream() is threads.default_stream()
    assert (one.name, threads.default_stream().name) == ("one", "default")


def test_each_thread_has_a_current_stream_of_its_own() -> None:
    seen = []
    with stream(Stream()):
        other = threading.Thread(target=lambda: seen.append(current_stream()))
        other.start()
        other.join()
    assert seen == [threads.default_stream()]


def test_a_kernel_runs_without_autograd() -> None:
    x, seen = torch.ones(2, requires_grad=True), []
    launch(lambda: seen.append((x * 2).requires_grad))
    threads.synchronize()
    assert seen == [False] and torch.is_grad_enabled()


# Times ------------------------------------------------------------------------------------------------------------


def test_times_between_events_add_up() -> None:
    marks = [Event(enable_timing=True) for _ in range(3)]
    for mark in marks:
        mark.record()
        threads.sleep(1)
    threads.synchronize()
    first, second, third = marks
    assert first.elapsed_time(second) > 0 > second.elapsed_time(first)
    whole = first.elapsed_time(second) + second.elapsed_time(third)
    assert first.elapsed_time(third) == pytest.approx(whole)


def test_elapsed_time_raises_what_cuda_raises() -> None:
    timed, side = Event(enable_timing=True), Stream()
    with pytest.raises(ValueError, match="created with argument 'enable_timing=True'"):
        timed.elapsed_time(Event())
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(timed)
    gate = gate_on(side)
    timed.record(side)
    with pytest.raises(RuntimeError, match="must be completed"):
        timed.elapsed_time(timed)
    gate.set()


def test_the_timeline_holds_each_kernel_once_and_orders_what_was_ordered() -> None:
    one, other = Stream(name="one"), Stream(name="other")
    queue(one, [], 1)
    other.wait_stream(one)
    queue(other, [], 2)
    threads.synchronize()
    first, second = threads.timeline()
    assert (first.name, first.stream, first.start, second.stream) == ("append", "one", 0.0, "other")
    assert first.start <= first.end <= second.start <= second.end


# Errors -----------------------------------------------------------------------------------------------------------


def fails(message: str) -> None:
    raise KeyError(message)


WAYS: dict[str, Callable[[Stream], None]] = {
    "stream": Stream.synchronize,
    "event": lambda side: side.record_event().synchronize(),
    "device": lambda side: threads.synchronize(),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_error_is_raised_by_the_next_synchronisation_and_only_there(way: str) -> None:
    side, log = Stream(name="side"), []
    with stream(side):
        launch(fails, "first", name="my kernel")
        launch(fails, "second")
        launch(log.append, "after")
    with pytest.raises(KeyError, match="first") as caught:
        WAYS[way](side)
    shown = "".join(traceback.format_exception(caught.value))
    assert "raise KeyError(message)" in shown
    line = fails.__code__.co_firstlineno
    assert f"line {line + 1}, in fails" in shown
    assert "Raised by the kernel `my kernel` on stream side, launched by test_threads.py, line" in shown
    assert log == ["after"]
    WAYS[way](side)


def test_an_exit_in_a_kernel_does_not_end_its_thread() -> None:
    launch(sys.exit, 3)
    with pytest.raises(SystemExit):
        threads.synchronize()
    threads.synchronize()


def test_a_kernel_that_waits_for_a_stream_is_refused() -> None:
    for call in (threads.synchronize, current_stream().synchronize, threads.shutdown, Event().synchronize):
        launch(call)
        with pytest.raises(RuntimeError, match="a kernel cannot wait"):
            threads.synchronize()
