"""What a parallel loader does, as a timeline: watched in a real run, and computed for other costs.

`watch` runs the learner's own loader and writes down what does not depend on the clock: which worker loads which
batch, and what the main process had received when it drew the batch's indices. `computed` lays that order out in time
for given costs. `measured` is a real run with its real times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

Loader = Callable[..., Iterator[Any]]
FIRST = 0.12  # s that the first batch takes in `watch`: long enough to draw all that is drawn ahead

_worker = -1  # the number of the worker in which this module runs; -1 in the main process


@dataclass(frozen=True)
class Task:
    """One batch of a watched run.

    worker: who loaded it.
    given: how many batches the training loop had been given when its indices were drawn.
    arrived: whether the next batch had come by then, so that its coming may have been the reason.
    """

    worker: int
    given: int
    arrived: bool


class Span(NamedTuple):
    """One bar: lane "main" or "worker 0", ...; kind is load, step, or wait; times in seconds."""

    lane: str
    kind: str
    batch: int
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """All bars of one run. total: from the first moment to the end of the last training step, in seconds."""

    spans: tuple[Span, ...]
    total: float

    @property
    def waited(self) -> float:
        """The part of the time in which the training loop waited for data or loaded it, from 0 to 1."""
        return sum(s.end - s.begin for s in self.spans if s.lane == "main" and s.kind != "step") / self.total


class Naps:
    """A dataset that does nothing but take its time; sample `i` tells who loaded it, from when to when."""

    def __init__(self, seconds: list[float]) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return len(self.seconds)

    def __getitem__(self, batch: int) -> tuple[int, float, float]:
        begin = time.perf_counter()
        time.sleep(self.seconds[batch])
        return _worker, begin, time.perf_counter()


def _number_worker(worker_id: int) -> None:
    global _worker
    _worker = worker_id


def _only(samples: list[Any]) -> Any:
    return samples[0]


def _run(
    loader: Loader, seconds: list[float], step: float, num_workers: int, prefetch_factor: int
) -> list[dict[str, Any]]:
    """One run of the learner's loader: what is known of each batch, by the names used below."""
    seen: list[dict[str, Any]] = []
    given = 0

    def batches() -> Iterator[list[int]]:
        for batch in range(len(seconds)):
            seen.append({"given": given, "drawn": time.perf_counter()})
            yield [batch]

    asked = time.perf_counter()
    for worker, begin, end in loader(
        Naps(seconds),
        batches(),
        _only,
        num_workers=num_workers,
        prefetch_factor=prefetch_factor,
        worker_init_fn=_number_worker,
        generator=None,
    ):
        got = time.perf_counter()
        seen[given] |= {"worker": worker, "begin": begin, "end": end, "asked": asked, "got": got}
        given += 1
        time.sleep(step)
        seen[given - 1]["stepped"] = asked = time.perf_counter()
    return seen[:given]


def watch(loader: Loader, num_workers: int, prefetch_factor: int, batches: int = 12) -> list[Task]:
    """The order of a real run of `loader`: one Task a batch, in the order in which they were drawn."""
    seen = _run(loader, [FIRST] + [0.003] * (batches - 1), 0.0, num_workers, prefetch_factor)
    late = [batch["drawn"] >= seen[min(batch["given"], len(seen) - 1)]["end"] for batch in seen]
    # Once drawn before the next batch had come, it cannot have been that coming that it was drawn upon.
    on_arrival = all(late[at] for at, batch in enumerate(seen) if batch["given"])
    return [Task(batch["worker"], batch["given"], late[at] and on_arrival) for at, batch in enumerate(seen)]


def computed(tasks: list[Task], seconds: list[float], step: float) -> Timeline:
    """The order of a watched run laid out in time, if batch `i` takes `seconds[i]` and a training step takes `step`.

    Sending costs nothing here, and every worker has a core of its own.
    """
    spans: list[Span] = []
    free: dict[int, float] = {}
    done: dict[int, float] = {}

    def send(given: int, arrived: bool, now: float) -> None:
        for batch, task in enumerate(tasks):
            if batch not in done and task.given == given and task.arrived == arrived:
                begin = max(now, free.get(task.worker, 0.0))
                done[batch] = free[task.worker] = begin + seconds[batch]
                spans.append(Span(f"worker {task.worker}", "load", batch, begin, done[batch]))

    now = 0.0
    for batch in range(len(tasks)):
        send(batch, False, now)
        got = max(now, done[batch])
        send(batch, True, got)
        spans.append(Span("main", "wait", batch, now, got))
        spans.append(Span("main", "step", batch, got, got + step))
        now = got + step
    return Timeline(tuple(spans), now)


def inline(seconds: list[float], step: float) -> Timeline:
    """The timeline of a loader without workers: the main process loads, then steps."""
    spans, now = [], 0.0
    for batch, cost in enumerate(seconds):
        spans.append(Span("main", "load", batch, now, now + cost))
        spans.append(Span("main", "step", batch, now + cost, now + cost + step))
        now += cost + step
    return Timeline(tuple(spans), now)


def measured(
    loader: Loader, seconds: list[float], step: float, num_workers: int, prefetch_factor: int
) -> Timeline:
    """A real run of `loader` with its real times, from the moment when the first worker begins to load."""
    seen = _run(loader, seconds, step, num_workers, prefetch_factor)
    start = min(batch["begin"] for batch in seen)
    spans = []
    for at, batch in enumerate(seen):
        lane, asked = f"worker {batch['worker']}", max(batch["asked"], start)
        spans.append(Span(lane, "load", at, batch["begin"] - start, batch["end"] - start))
        spans.append(Span("main", "wait", at, asked - start, batch["got"] - start))
        spans.append(Span("main", "step", at, batch["got"] - start, batch["stepped"] - start))
    return Timeline(tuple(spans), seen[-1]["stepped"] - start)
