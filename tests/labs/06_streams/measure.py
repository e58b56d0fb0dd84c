"""Right answers to 06.measure, in different shapes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

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
        start, end = (type(stream.record_event())(enable_timing=True) for _ in range(2))
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
    """The call stands in `with stream`, so an event needs no stream."""
    event = type(stream.record_event())

    def reading() -> float:
        with stream:
            start, end = event(enable_timing=True), event(enable_timing=True)
            start.record()
            fn()
            end.record()
        end.synchronize()
        return start.elapsed_time(end)

    for _ in range(warmup):
        reading()
    return [reading() for _ in range(repeats)]


def polling(fn: Fn, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Asks until the stream is done; no synchronize."""

    def idle() -> None:
        while not stream.query():
            pass

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
    """One event between any two calls, and the host waits for the last one."""
    for _ in range(warmup):
        fn()
    event = type(stream.record_event())
    marks = [stream.record_event(event(enable_timing=True))]
    for _ in range(repeats):
        fn()
        marks.append(stream.record_event(event(enable_timing=True)))
    marks[-1].synchronize()
    return [start.elapsed_time(end) for start, end in itertools.pairwise(marks)]


RIGHT = [
    clock_around_each_call,
    synchronised_once_before,
    readings_of_the_end_only,
    events_read_at_the_end,
    events_in_a_block,
    polling,
    fence_posts,
]
