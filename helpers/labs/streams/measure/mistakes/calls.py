"""What people write for 06.measure, and why it is wrong: too many calls or too few, and what is made of the readings."""

from __future__ import annotations

import time
from typing import Any

from helpers.labs.streams.measure.exercise import CALLS, RESULT, measure
from helpers.labs.streams.measure.mistakes.readings import times_of


def after(calls: int, fn: Any, stream: Any, clock: Any, repeats: int) -> list[float]:
    """The readings in milliseconds, after so many calls."""
    for _ in range(calls):
        fn()
    return [1e3 * value for value in times_of(fn, stream, clock, repeats)]


_seen: set[Any] = set()


@measure.mistake(breaks=CALLS)
def warm_already(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The second measure of one fn calls it less often than the first: there is no warm-up. Perhaps it is kept which fn was
    warmed up before. The caller asks for the warm-up each time.
    """
    calls = 0 if fn in _seen else warmup
    _seen.add(fn)
    return after(calls, fn, stream, clock, repeats)


@measure.mistake(breaks=CALLS)
def warm_up_at_least_once(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """With warmup=0 fn is called once more than asked. Perhaps one call is always made as a warm-up: who asks for none wants to
    see what the first call takes.
    """
    return after(max(1, warmup), fn, stream, clock, repeats)


@measure.mistake(breaks=CALLS)
def one_call_as_warm_up(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """However many calls `warmup` asks for, there is one. Perhaps it was taken for a switch: it is a number of calls."""
    return after(1 if warmup else 0, fn, stream, clock, repeats)


@measure.mistake(breaks=RESULT)
def sorted_readings(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The readings are sorted. Perhaps with the median in mind: who looks for a slow first call needs the order of the
    calls.
    """
    return sorted(after(warmup, fn, stream, clock, repeats))


@measure.mistake(breaks=RESULT)
def one_reading_dropped(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The list is one reading short. Perhaps the largest was taken for an outlier, or the first for a warm-up: what
    counts, the caller decides.
    """
    times = after(warmup, fn, stream, clock, repeats)
    times.remove(max(times))
    return times


@measure.mistake(breaks=RESULT)
def whole_milliseconds(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The readings are whole numbers. Perhaps by round() or int(): most kernels take less than a millisecond."""
    return [round(ms) for ms in after(warmup, fn, stream, clock, repeats)]


@measure.mistake(breaks=RESULT)
def factor_near_1000(
    fn: Any, stream: Any, *, warmup: int, repeats: int, clock: Any = time.perf_counter
) -> list[float]:
    """The reading of a long call is wrong, and those of short ones are right. Perhaps the error is a part of the whole: a
    factor that is near 1000 and not 1000, or a correction in percent. A reading is what the clock says.
    """
    return [1.001 * ms for ms in after(warmup, fn, stream, clock, repeats)]
