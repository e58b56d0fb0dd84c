"""What people get wrong in 06.measure with the calls and what is made of their times."""

from __future__ import annotations

import statistics
import time
from typing import Any

from helpers import streams
from helpers.labs.streams.measure import measure


def times_of(fn: Any, stream: Any, clock: Any, count: int) -> list[float]:
    """Right readings of `count` calls, in seconds."""
    times = []
    for _ in range(count):
        stream.synchronize()
        start = clock()
        fn()
        stream.synchronize()
        times.append(clock() - start)
    return times


@measure.mistake()
def warmup_in_the_list(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The first `warmup` calls are there to pay for what happens only once. They are made, and then left out
    of the list.
    """
    return [1e3 * value for value in times_of(fn, stream, clock, warmup + repeats)][:repeats]


@measure.variant(warmup_in_the_list)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Gives them all back."""
    return [1e3 * value for value in times_of(fn, stream, clock, warmup + repeats)]


@measure.mistake()
def no_warmup(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """No call is made before the measured ones: the first reading then also holds what a first call costs,
    such as loading a library.
    """
    return [1e3 * value for value in times_of(fn, stream, clock, repeats)]


@measure.mistake()
def warmup_taken_from_repeats(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """`repeats` counts the calls that are measured. The warm-up comes on top of them, not out of them."""
    return [1e3 * value for value in times_of(fn, stream, clock, repeats)][warmup:]


@measure.mistake()
def warmup_before_each(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """One warm-up is enough for all readings. Here it is made again before each of them."""
    times = []
    for _ in range(repeats):
        for _ in range(warmup):
            fn()
        times += times_of(fn, stream, clock, 1)
    return [1e3 * value for value in times]


@measure.mistake()
def one_call_too_many(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """A call that is neither asked for as warm-up nor measured: with warmup=0 the caller wants to see the
    first call.
    """
    for _ in range(warmup + 1):
        fn()
    return [1e3 * value for value in times_of(fn, stream, clock, repeats)]


@measure.mistake()
def one_total_divided(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """One total, divided by the number of calls, is the mean: a single slow call moves it, and nobody sees
    that there was one.
    """
    for _ in range(warmup):
        fn()
    stream.synchronize()
    start = clock()
    for _ in range(repeats):
        fn()
    stream.synchronize()
    return [(clock() - start) * 1e3 / repeats] * repeats


@measure.variant(one_total_divided)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """As a list of one."""
    for _ in range(warmup):
        fn()
    stream.synchronize()
    start = clock()
    for _ in range(repeats):
        fn()
    stream.synchronize()
    return [(clock() - start) * 1e3 / repeats]


@measure.variant(one_total_divided)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Without a synchronisation before the start."""
    for _ in range(warmup):
        fn()
    start = clock()
    for _ in range(repeats):
        fn()
    stream.synchronize()
    return [(clock() - start) * 1e3 / repeats] * repeats


@measure.mistake()
def divided_by_all_calls(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The clock starts before the warm-up, and the total is divided by all calls: a slow first call is in
    every number.
    """
    stream.synchronize()
    start = clock()
    for _ in range(warmup + repeats):
        fn()
    stream.synchronize()
    return [(clock() - start) * 1e3 / (warmup + repeats)] * repeats


@measure.mistake()
def median_returned(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> float:
    """The median is taken by the caller. From one number nobody can tell how far the readings lie apart."""
    times_of(fn, stream, clock, warmup)
    return 1e3 * statistics.median(times_of(fn, stream, clock, repeats))


@measure.variant(median_returned)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """In a list."""
    times_of(fn, stream, clock, warmup)
    return [1e3 * statistics.median(times_of(fn, stream, clock, repeats))]


@measure.variant(median_returned)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> float:
    """The mean."""
    times_of(fn, stream, clock, warmup)
    return 1e3 * statistics.fmean(times_of(fn, stream, clock, repeats))


@measure.variant(median_returned)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> float:
    """The smallest."""
    times_of(fn, stream, clock, warmup)
    return 1e3 * min(times_of(fn, stream, clock, repeats))


@measure.mistake()
def seconds(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The clock gives seconds. Multiply by 1000: the list is in milliseconds, as elapsed_time of two events
    is.
    """
    times_of(fn, stream, clock, warmup)
    return times_of(fn, stream, clock, repeats)


@measure.mistake()
def microseconds(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """These are microseconds. elapsed_time gives milliseconds as it is, and seconds become milliseconds by
    1000, not by a million.
    """
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = stream.record_event(streams.Event(enable_timing=True))
        fn()
        end = stream.record_event(streams.Event(enable_timing=True))
        stream.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return times


@measure.mistake()
def start_read_once(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The start is read once, before the loop. Each reading then holds all calls before it, too."""
    times_of(fn, stream, clock, warmup)
    stream.synchronize()
    start = clock()
    times = []
    for _ in range(repeats):
        fn()
        stream.synchronize()
        times.append((clock() - start) * 1e3)
    return times


@measure.mistake()
def own_clock(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """time.perf_counter is only what `clock` is when nobody gives one. Call clock(): here it is that of the
    simulated device.
    """
    times_of(fn, stream, time.perf_counter, warmup)
    return [1e3 * value for value in times_of(fn, stream, time.perf_counter, repeats)]
