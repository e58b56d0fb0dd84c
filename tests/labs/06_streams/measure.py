"""Right answers to 06.measure, in different shapes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from helpers import streams

Fn = Callable[[], object]


def clock_around_each_call(
    fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        stream.synchronize()
        start = clock()
        fn()
        stream.synchronize()
        times.append((clock() - start) * 1e3)
    return times


def whole_device(
    fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """What most people write for CUDA; right where nobody else is at work."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        streams.synchronize()
        start = clock()
        fn()
        streams.synchronize()
        times.append((clock() - start) * 1e3)
    return times


def synchronised_once_before(
    fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """After each call the stream is idle, so one synchronisation before the first is enough."""
    ticks = []
    for _ in range(warmup):
        fn()
    stream.synchronize()
    for _ in range(repeats):
        before = clock()
        fn()
        stream.synchronize()
        ticks.append((before, clock()))
    return [1000 * (end - start) for start, end in ticks]


def readings_of_the_end_only(
    fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The end of one call is the start of the next."""
    for _ in range(warmup):
        fn()
    stream.synchronize()
    ends = [clock()]
    while len(ends) <= repeats:
        fn()
        stream.record_event().synchronize()
        ends.append(clock())
    return [1e3 * (end - start) for start, end in itertools.pairwise(ends)]


def events_read_at_the_end(
    fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The host never waits between the calls."""
    pairs = []
    for call in range(warmup + repeats):
        start, end = (streams.Event(enable_timing=True) for _ in range(2))
        start.record(stream)
        fn()
        end.record(stream)
        if call >= warmup:
            pairs.append((start, end))
    stream.synchronize()
    return [start.elapsed_time(end) for start, end in pairs]


def events_in_a_block(
    fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The call stands in `with streams.stream(stream)`, so an event needs no stream."""

    def reading() -> float:
        with streams.stream(stream):
            start, end = streams.Event(enable_timing=True), streams.Event(enable_timing=True)
            start.record()
            fn()
            end.record()
        end.synchronize()
        return start.elapsed_time(end)

    for _ in range(warmup):
        reading()
    return [reading() for _ in range(repeats)]


def polling(fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Asks until the stream is done; the whole device is idle before the first reading."""

    def idle() -> None:
        while not stream.query():
            pass

    streams.synchronize()
    times: list[float] = []
    for call in range(warmup + repeats):
        idle()
        start = clock()
        fn()
        idle()
        if call >= warmup:
            times.append((clock() - start) / 1e-3)
    return times


def fence_posts(
    fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """One event between any two calls; the whole device is waited for, but only to read them."""
    for _ in range(warmup):
        fn()
    marks = [stream.record_event(streams.Event(enable_timing=True))]
    for _ in range(repeats):
        fn()
        marks.append(stream.record_event(streams.Event(enable_timing=True)))
    streams.synchronize()
    return [start.elapsed_time(end) for start, end in itertools.pairwise(marks)]


RIGHT = [
    clock_around_each_call,
    whole_device,
    synchronised_once_before,
    readings_of_the_end_only,
    events_read_at_the_end,
    events_in_a_block,
    polling,
    fence_posts,
]
