"""Work of known lengths on a stream, and what kind of wrong a list of readings is."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from typing import Any

from helpers import streams
from helpers.check.trial import Trial

ALLOWED = 0.1  # ms that a reading may be above the device's time: launches take some 5 us each
ROUNDED = 0.01  # ms that it may be below


class Work:
    """An fn: its k-th call queues kernels of `ms[k]` milliseconds together on `stream`.

    lengths: whole numbers of which each is more than all before it together, so that no sum of some is the sum of
        others; they come in an order that the trial draws, all stretched by one factor.
    other: a stream on which each call queues a kernel of 40 ms, too. kernels: how many kernels share a call. first_call: ms that the first call keeps the host busy.
    """

    def __init__(
        self,
        trial: Trial,
        stream: Any,
        lengths: Sequence[int],
        *,
        kernels: int = 1,
        first_call: float = 0.0,
        other: Any = None,
    ) -> None:
        order = list(lengths)
        while order == sorted(order) and len(set(order)) > 1:
            trial.random.shuffle(order)
        stretch = trial.random.uniform(1.0, 1.5)
        self.ms = [stretch * length for length in order]
        self.stream, self.kernels, self.first_call = stream, kernels, first_call
        self.other = other
        self.calls = self.clock_reads = 0

    def __call__(self) -> None:
        place, self.calls = self.calls, self.calls + 1
        if place == 0 and self.first_call:
            streams.host_works(self.first_call)
        length = self.ms[min(place, len(self.ms) - 1)]  # one call too many is counted elsewhere
        if self.other is not None:
            with streams.stream(self.other):
                streams.sleep(40.0)
        with streams.stream(self.stream):
            for _ in range(self.kernels):
                streams.sleep(length / self.kernels)

    def reads_clock(self) -> float:
        self.clock_reads += 1
        return streams.clock()

    def records(self) -> int:
        """How many events were recorded."""
        return sum(op.kind == "record" for op in streams.trace())

    def tiny(self) -> str:
        """Which mistake it is if all readings are next to nothing; a key of WORDS."""
        on = {op.stream for op in streams.trace() if op.kind == "record"}
        if not on or self.clock_reads:  # events beside the clock, as of a wait_stream, are not what was read
            return "launch"
        return "nothing between" if on == {self.stream.name} else "wrong stream"


def kind_of_list(got: Any, count: int, calls: Sequence[float], own: Sequence[float]) -> str:
    """What is wrong with the form of the result, '' if it is a list of `count` numbers."""
    if type(got) is list and all(_is_number(value) for value in got):
        if len(got) == count:
            return ""
        if len(got) == 1:
            return f"a list with one number for all calls, {_name_of_number(got[0], calls, own)}"
        return f"a list of {len(got)}"
    if _is_number(got):
        return f"one number, {_name_of_number(got, calls, own)}"
    if got is None:
        return "None"
    holds = f" of {type(got[0]).__name__}" if isinstance(got, list | tuple) and got else ""
    return f"a {type(got).__name__}{holds}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name_of_number(value: float, calls: Sequence[float], own: Sequence[float]) -> str:
    """Which summary of the readings this is, whatever each of them holds."""
    known = {
        "the median": statistics.median(own),
        "the mean": statistics.fmean(own),
        "the sum": sum(own),
        "the smallest": min(own),
        "the sum divided by the number of all calls": sum(calls) / len(calls),
    }
    return next(
        (name for name, its in known.items() if -1e-6 <= value - its <= 2 * ALLOWED),
        "neither their median nor their mean",
    )


WORDS = {
    "nothing between": "all are next to nothing: nothing of fn stands between the two events of a call",
    "launch": "all are next to nothing, a few microseconds. That is what a launch takes, and fn only launches",
    "wrong stream": "events were recorded, but on a different stream, where nothing of fn happens",
    "mean": "all are the same, the mean. A list is wanted so that the median and the spread can be seen",
    "sum": "each holds the sum over all calls",
    "mean over all calls": "each is the total divided by the number of all calls, warm-up included",
    "cumulative": "each holds all calls since the first, as when the start is read only once",
    "last": "all are that of the last call, as when one pair of events serves all calls",
    "sorted": "they are sorted, and no longer in the order of the calls",
    "shifted": "they are those of the first calls, which were meant as the warm-up",
    "with warm-up": "the first reading also holds the warm-up, which was still on its way when the start was read",
    "with earlier work": "the first reading also holds what was queued on the stream before measure was called",
    "work elsewhere": "they also hold work on a different stream",
    "whole": "they are rounded to whole numbers",
    "something else": "some are more or less than that",
}


def in_words(kind: str) -> str:
    return WORDS[kind]


def kind_of_readings(
    got: Sequence[float],
    want: Sequence[float],
    *,
    tiny: str = "launch",
    calls: Sequence[float] = (),
    first_call: float = 0.0,
    before: float = 0.0,
    elsewhere: bool = False,
) -> str:
    """What kind of wrong the readings are; a key of WORDS.

    tiny: what it is when all are next to nothing, see Work.tiny. calls: the times of all calls, warm-up included.
    first_call: ms of the host's in the first. before: ms of earlier work.
    elsewhere: whether a different stream has work.
    """
    if len(got) != len(want):
        return "something else"
    if all(abs(value) < ALLOWED for value in got):
        return tiny
    if elsewhere and all(value > its - ROUNDED for value, its in zip(got, want, strict=True)):
        return "work elsewhere"
    count = len(want)
    known: dict[str, Sequence[float]] = {
        "mean": [statistics.fmean(want)] * count,
        "sum": [sum(want)] * count,
        "cumulative": list(itertools.accumulate(want)),
        "last": [want[-1]] * count,
        "sorted": sorted(want),
    }
    if calls:
        spare = len(calls) - count
        known["shifted"] = [calls[0] + first_call, *calls[1:count]]
        known["mean over all calls"] = [(sum(calls) + first_call) / len(calls)] * count
        known["with warm-up"] = [want[0] + sum(calls[:spare]), *want[1:]]
    if before:
        known["with earlier work"] = [want[0] + before, *want[1:]]
    whole = list(got) == [round(value) for value in got] and all(
        abs(value - its) < 1 for value, its in zip(got, want, strict=True)
    )
    return next(
        (kind for kind, its in known.items() if _near(got, its)), "whole" if whole else "something else"
    )


def unit_of(got: Sequence[float], want: Sequence[float]) -> str:
    """Which other unit these milliseconds are in, '' if in none that is known."""
    units = {"seconds": 1e3, "microseconds": 1e-3, "nanoseconds": 1e-6}
    return next((name for name, ms in units.items() if _near([ms * value for value in got], want)), "")


def _near(got: Sequence[float], want: Sequence[float]) -> bool:
    return all(abs(value - its) <= 2 * ALLOWED for value, its in zip(got, want, strict=True))
