"""What people write for 06.measure, and why it is wrong: what is read, and when."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from helpers import streams
from helpers.labs.streams.measure.exercise import CALLS, EARLIER, KINDS, OTHERS, RESULT, TIME, measure


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=EARLIER)
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


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=TIME)
def another_stream(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The readings are next to nothing where `stream` is not the current one. Perhaps an event is recorded without
    its stream, or the current stream is waited for: both mean the current one, and fn works on `stream`.
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


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=KINDS)
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


@measure.mistake(breaks=CALLS)
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


@measure.mistake(breaks=CALLS)
def no_warmup(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """No call is made before the measured ones: the first reading then also holds what a first call costs,
    such as loading a library.
    """
    return [1e3 * value for value in times_of(fn, stream, clock, repeats)]


@measure.mistake(breaks=CALLS)
def warmup_taken_from_repeats(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """`repeats` counts the calls that are measured. The warm-up comes on top of them, not out of them."""
    return [1e3 * value for value in times_of(fn, stream, clock, repeats)][warmup:]


@measure.mistake(breaks=CALLS)
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


@measure.mistake(breaks=CALLS)
def one_call_too_many(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """fn is called once more than asked, whatever warmup and repeats are. Perhaps a call before the warm-up, or a reading
    that is dropped.
    """
    for _ in range(warmup + 1):
        fn()
    return [1e3 * value for value in times_of(fn, stream, clock, repeats)]


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=CALLS)
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


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=RESULT)
def seconds(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The clock gives seconds. Multiply by 1000: the list is in milliseconds, as elapsed_time of two events
    is.
    """
    times_of(fn, stream, clock, warmup)
    return times_of(fn, stream, clock, repeats)


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=RESULT)
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


@measure.mistake(breaks=TIME)
def own_clock(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """time.perf_counter is only what `clock` is when nobody gives one. Call clock(): here it is that of the
    simulated device.
    """
    times_of(fn, stream, time.perf_counter, warmup)
    return [1e3 * value for value in times_of(fn, stream, time.perf_counter, repeats)]


@measure.mistake(breaks=OTHERS)
def whole_device(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The readings also hold work on other streams. Perhaps the whole device is waited for, and not the stream alone."""
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


@measure.variant(whole_device)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """Only behind each call."""
    for _ in range(warmup):
        fn()
    stream.synchronize()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        torch.sim.synchronize()  # type: ignore[attr-defined]
        times.append((clock() - start) * 1e3)
    return times


@measure.mistake(breaks=KINDS)
def of_the_simulated_device_only(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """A stream of a different kind raises an error. Perhaps an event or a block of helpers.streams is used with it, and these
    know the streams of the simulated device only: the stream has methods of its own.
    """
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = stream.record_event(streams.Event(enable_timing=True))
        fn()
        end = stream.record_event(streams.Event(enable_timing=True))
        stream.synchronize()
        times.append(start.elapsed_time(end))
    return times


@measure.variant(of_the_simulated_device_only)
def _(fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter) -> list[float]:
    """A block around the call."""
    times = []
    for call in range(warmup + repeats):
        stream.synchronize()
        start = clock()
        with streams.stream(stream):
            fn()
        stream.synchronize()
        if call >= warmup:
            times.append((clock() - start) * 1e3)
    return times


@measure.mistake(breaks=KINDS)
def clock_of_the_simulated_device(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """On a stream of a different kind the readings are less than its work takes. Perhaps the clock of the simulated device
    is read in every case, or that device is waited for.
    """
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        stream.synchronize()
        start, now = streams.clock(), clock()
        fn()
        stream.synchronize()
        assert clock() >= now
        times.append((streams.clock() - start) * 1e3)
    return times
