"""What people get wrong in 06.measure when the host and the device must meet: synchronisation and events."""

from __future__ import annotations

import time
from typing import Any

from helpers import streams
from helpers.labs.streams.measure import measure


@measure.mistake()
def no_synchronise_after(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """fn() only queues its kernels and returns. A clock that is read then has timed the launch; synchronise
    the stream first.
    """
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        times.append((clock() - start) * 1e3)
    return times


@measure.variant(no_synchronise_after)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Synchronises before the start only."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        stream.synchronize()
        start = clock()
        fn()
        times.append((clock() - start) * 1e3)
    return times


@measure.variant(no_synchronise_after)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Synchronises, but when the clock has been read."""
    times = []
    for call in range(warmup + repeats):
        start = clock()
        fn()
        end = clock()
        stream.synchronize()
        if call >= warmup:
            times.append((end - start) * 1e3)
    return times


@measure.variant(no_synchronise_after)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Sleeps in place of it."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        time.sleep(0)
        times.append((clock() - start) * 1e3)
    return times


@measure.variant(no_synchronise_after)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """A stream waits, and the host does not."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        streams.current_stream().wait_stream(stream)
        times.append((clock() - start) * 1e3)
    return times


@measure.mistake()
def no_synchronise_before(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The stream still had work when the start was read, so the first reading pays for it, too. Synchronise
    the stream before the first reading, after the warm-up.
    """
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        stream.synchronize()
        times.append((clock() - start) * 1e3)
    return times


@measure.variant(no_synchronise_before)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """The warm-up is waited for inside its loop; without a warm-up nothing is."""
    for _ in range(warmup):
        fn()
        stream.synchronize()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        stream.record_event().synchronize()
        times.append(1e3 * (clock() - start))
    return times


@measure.variant(no_synchronise_before)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Before the warm-up, and not behind it."""
    stream.synchronize()
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        stream.synchronize()
        times.append((clock() - start) * 1e3)
    return times


@measure.mistake()
def events_before_the_launch(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """An event is a mark in the queue. Both marks stand before the first kernel of fn, so nothing lies
    between them.
    """
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start, end = streams.Event(enable_timing=True), streams.Event(enable_timing=True)
        start.record(stream)
        end.record(stream)
        fn()
        stream.synchronize()
        times.append(start.elapsed_time(end))
    return times


@measure.variant(events_before_the_launch)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Both after it."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        fn()
        start = stream.record_event(streams.Event(enable_timing=True))
        end = stream.record_event(streams.Event(enable_timing=True))
        end.synchronize()
        times.append(start.elapsed_time(end))
    return times


@measure.mistake()
def another_stream(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """event.record() without a stream marks the current stream, and fn works on `stream`. Write
    event.record(stream), and synchronise the same stream.
    """
    for _ in range(warmup):
        fn()
    pairs = []
    for _ in range(repeats):
        start, end = streams.Event(enable_timing=True), streams.Event(enable_timing=True)
        start.record()
        fn()
        end.record()
        pairs.append((start, end))
    streams.synchronize()
    return [start.elapsed_time(end) for start, end in pairs]


@measure.variant(another_stream)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Synchronises the current stream."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        streams.current_stream().synchronize()
        start = clock()
        fn()
        streams.current_stream().synchronize()
        times.append((clock() - start) * 1e3)
    return times


@measure.variant(another_stream)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """The first event is on the right stream, the second on the current one."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        stream.synchronize()
        start = stream.record_event(streams.Event(enable_timing=True))
        fn()
        end = streams.Event(enable_timing=True)
        end.record()
        streams.synchronize()
        times.append(start.elapsed_time(end))
    return times


@measure.mistake()
def one_pair_of_events(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """Recording an event again moves the mark. With one pair for all calls, only the last call is left to be
    read at the end.
    """
    for _ in range(warmup):
        fn()
    start, end = streams.Event(enable_timing=True), streams.Event(enable_timing=True)
    for _ in range(repeats):
        start.record(stream)
        fn()
        end.record(stream)
    stream.synchronize()
    return [start.elapsed_time(end) for _ in range(repeats)]


@measure.mistake()
def elapsed_time_too_early(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """elapsed_time can only be read when the device has passed both marks. Synchronise before you ask."""
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = stream.record_event(streams.Event(enable_timing=True))
        fn()
        end = stream.record_event(streams.Event(enable_timing=True))
        times.append(start.elapsed_time(end))
    return times


@measure.mistake()
def timing_not_enabled(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """An event keeps no time unless it is made with enable_timing=True: marks that only order streams are
    cheaper.
    """
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = stream.record_event()
        fn()
        end = stream.record_event()
        stream.synchronize()
        times.append(start.elapsed_time(end))
    return times
