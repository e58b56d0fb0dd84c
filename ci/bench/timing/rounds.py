"""Things that take turns, round after round, and what their times say. A slow moment then meets all of them."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Samples = dict[str, list[float]]
WARM = 5  # rounds


def in_turn(calls: Mapping[str, Callable[[], float]], rounds: int, what: str) -> Samples:
    """What every call returns, round after round; every second round goes backwards.

    Args:
        calls: By name; each measures once and returns what it measured.
        rounds: How often each is called.
        what: The row, for the lines on the way: a row of many minutes must show that it lives.
    """
    found: Samples = {name: [] for name in calls}
    for turn in range(rounds):
        for name in reversed(calls) if turn % 2 else calls:
            found[name].append(calls[name]())
            print(f"{what}, round {turn + 1} of {rounds}: {name}: {number(found[name][-1])}", file=sys.stderr)
    return found


def number(value: float) -> str:
    """A number with three figures or so, as a table shows it."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def spread(samples: Sequence[float]) -> str:
    """The median, with the smallest and the largest: `2.00 (1.00..4.00)`."""
    middle = number(statistics.median(samples))
    return middle if len(samples) < 2 else f"{middle} ({number(min(samples))}..{number(max(samples))})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Median over median, with the smallest and the largest ratio of one round; `-` where there is none.

    There is none where a side is not above 0: a tool that runs notebooks side by side can be done before the cells'
    own times, added up, are over.
    """
    if min(*ours, *theirs) <= 0:
        return "-"
    middle = number(statistics.median(ours) / statistics.median(theirs))
    if len(ours) != len(theirs) or len(ours) < 2:
        return middle
    each = [one / other for one, other in zip(ours, theirs, strict=True)]
    return f"{middle} ({number(min(each))}..{number(max(each))})"


def added(*samples: Sequence[float]) -> list[float]:
    """The sums, round by round."""
    return [sum(each) for each in zip(*samples, strict=True)]


def beyond(samples: Sequence[float], own: Sequence[float]) -> list[float]:
    """The differences, round by round."""
    return [one - other for one, other in zip(samples, own, strict=True)]


def times_ms(call: Callable[[], Any], repeats: int, pause: float = 0.0) -> list[float]:
    """The times of `call()` in milliseconds; `pause` seconds before each."""
    times = []
    for _ in range(repeats):
        time.sleep(pause)
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def medians(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    times: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The median seconds of each call. They take turns; the first rounds, in which things get warm, do not count.

    Args:
        calls: By name.
        rounds: How many count.
        times: How often each is called in a round.
        clock: What tells the seconds: `time.thread_time` for processor time.
    """
    found: Samples = {name: [] for name in calls}
    for _ in range(WARM + rounds):
        for name, call in calls.items():
            start = clock()
            for _ in range(times):
                call()
            found[name].append((clock() - start) / times)
    return {name: statistics.median(samples[WARM:]) for name, samples in found.items()}


def beside_torch(pairs: Mapping[str, Mapping[str, Callable[[], Any]]], rounds: int) -> list[list[Any]]:
    """A line for each pair of calls, "own" and "torch": its name, the medians of both in microseconds, own / torch."""
    lines = []
    for name, calls in pairs.items():
        found = medians(calls, rounds)
        lines.append([name, found["own"] * 1e6, found["torch"] * 1e6, found["own"] / found["torch"]])
    return lines


@contextmanager
def one_thread() -> Iterator[None]:
    """torch computes in one thread in the block."""
    import torch  # most rows do without it

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
