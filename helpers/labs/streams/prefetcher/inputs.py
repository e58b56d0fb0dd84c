"""A loader, a copy and a consumer for 06.prefetcher, with a log of who did what when."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from helpers import streams
from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.labs.streams.shared.kept_runs import kept_run
from helpers.labs.streams.shared.traced import Traced

NUMBERS = 1000  # in a batch of float32
COPY, COMPUTE = 100.0, 100.0  # microseconds
COSTS: dict[str, Any] = {"pinned": 4 * NUMBERS / COPY / 1e3, "kernels": {"mul": 1.0}}


@dataclass
class Copied:
    """A call of copy. memory: where the host's batch lies. pinned: whether it is page-locked. stream: the current one.
    kernel: its place in the timeline. place: which batch lies there. reused_early: whether an earlier copy of a different
    batch from the same memory was still under way."""

    memory: int
    pinned: bool
    stream: str
    kernel: int
    place: int | None
    reused_early: bool


class Feed:
    """Batches on the host, and the functions that a prefetcher is given.

    It is the loader: iterating over it counts what is read; it has no length, as a stream of data has none.
    """

    def __init__(self, trial: Trial, count: int, *, pinned: bool = True) -> None:
        streams.reset()
        made = [torch.rand(NUMBERS, generator=trial.generator) for _ in range(count)]
        self.batches = [streams.pin_memory(batch) if pinned else batch.clone() for batch in made]
        self.values = made  # kept apart: an answer may overwrite what it was given
        self.stream, self.main = streams.Stream(name="side"), streams.Stream(name="main")
        self.reads = 0
        self.copies: list[Copied] = []
        self.copied: list[weakref.ref[Any]] = []  # the memory of what copy gave

    def __iter__(self) -> Iterator[Tensor]:
        for batch in self.batches:
            self.reads += 1
            yield batch

    def copy(self, batch: Tensor) -> Tensor:
        """Queues the copy of a batch on the current stream."""
        memory = batch.untyped_storage().data_ptr()
        runs = streams.timeline()
        busy = [each for each in self.copies if each.memory == memory]
        place = self.place(batch)
        early = any(runs[each.kernel].end > 1e6 * streams.clock() and each.place != place for each in busy)
        self.copies.append(
            Copied(memory, streams.is_pinned(batch), streams.current_stream().name, len(runs), place, early)
        )
        made = batch.to(streams.DEVICE, non_blocking=True)
        self.copied.append(weakref.ref(made.allocation))
        return made

    def place(self, value: Tensor) -> int | None:
        """Which batch this is."""
        places = [place for place, batch in enumerate(self.values) if torch.equal(batch, value)]
        return places[0] if places else None


@dataclass
class Handed:
    """What was so when a batch was handed out. alive: how many of the batches handed out so far still exist. own:
    whether it lies where the tensor lies that copy gave for it."""

    stream: str
    copies: int
    reads: int
    alive: int
    own: bool


class Consumer:
    """Trains on what a prefetcher gives: on the stream `main`, 100 us a batch. It lets go of each batch at once.

    waits: whether it reads its loss on the host in each step. handed: one entry a batch. computes: the places of its
    reading kernels in the timeline. doubles: what it computed, 2 * batch.
    """

    def __init__(self, feed: Feed, *, waits: bool = False, limit: int = 20) -> None:
        self.feed, self.waits, self.limit = feed, waits, limit
        self.handed: list[Handed] = []
        self.computes: list[int] = []
        self.doubles: list[Tensor] = []

    def eat(self, batches: Iterable[Tensor]) -> None:
        alive: list[weakref.ref[Tensor]] = []
        for batch in batches:
            alive.append(weakref.ref(batch))
            living = sum(each() is not None for each in alive)
            given = self.feed.copied[len(self.handed) : len(self.handed) + 1]
            own = bool(given) and given[0]() is getattr(batch, "allocation", None)
            self.handed.append(
                Handed(streams.current_stream().name, len(self.feed.copies), self.feed.reads, living, own)
            )
            streams.sleep(COMPUTE / 1e3)
            self.computes.append(len(streams.timeline()))
            self.doubles.append(batch * 2)
            del batch
            if self.waits:
                self.feed.main.synchronize()
            if len(self.handed) >= self.limit:
                break


class Times(Traced):
    """The trace of a run, with copies and computations by number."""

    def __init__(self, consumer: Consumer) -> None:
        super().__init__()
        kernels = self.kernels()
        self.copies = [kernels[copy.kernel] for copy in consumer.feed.copies]
        self.computes = [kernels[place] for place in consumer.computes]

    def unwaited(self) -> list[int]:
        """The batches whose computation does not wait for their copy."""
        raced = set(self.races())
        both = zip(self.copies, self.computes, strict=False)
        return [place for place, pair in enumerate(both) if pair in raced]

    def overwritten(self) -> list[tuple[int, int]]:
        """(i, j): the copy of batch j writes memory that the computation on batch i may still read."""
        computes = {index: place for place, index in enumerate(self.computes)}
        copies = {index: place for place, index in enumerate(self.copies)}
        return [(computes[i], copies[j]) for i, j in self.races() if i in computes and j in copies and i < j]

    def waits_of_computation(self, place: int) -> str:
        """What the computation on batch `place`, which does not wait for its copy, waits for instead."""
        waits = [
            (index, self.latest_record(index), op.stream)
            for index, op in enumerate(self.ops)
            if op.kind == "wait" and index < self.computes[place]
        ]
        on_main = [record for _, record, stream in waits if stream == "main"]
        if any(record is not None and self.ops[record].stream == "side" for record in on_main):
            return "an earlier place of the copying stream"
        if on_main:
            return "an event that was never recorded" if None in on_main else "itself"
        others = {stream for _, _, stream in waits}
        if "default" in others:
            return "nothing: the default stream waits, and is not the current one"
        if "side" not in others:
            return "nothing"
        recorded = {
            self.ops[record].stream for _, record, stream in waits if stream == "side" and record is not None
        }
        return (
            "nothing: the copying stream waits for itself"
            if recorded == {"side"}
            else "nothing: the copying stream waits, the wrong way round"
        )

    def batch_words(self, compute: int | None = None, copy: int | None = None) -> str:
        """One computation or copy, with its batch and times."""
        if copy is not None:
            start, end = self.times[self.copies[copy]]
            return (
                f"the copy of batch {copy} (on {self.ops[self.copies[copy]].stream}, {start:g} to {end:g} us)"
            )
        start, end = self.times[self.computes[compute]]
        return f"the computation on batch {compute} (on {self.ops[self.computes[compute]].stream}, from {start:g} us)"


@dataclass(frozen=True)
class Epoch:
    """A consumer fed by an answer. calls: the functions that were called, of those watched. places: which batches
    it computed on, told from the values at the end."""

    feed: Feed
    consumer: Consumer
    times: Times
    calls: frozenset[str]
    places: list[int | None]


def epoch(answer: Any, trial: Trial, count: int, *, pinned: bool = True, waits: bool = False) -> Epoch:
    """One pass over a loader of `count` batches, on the stream `main`."""
    return kept_run(
        answer, (trial.seed, count, pinned, waits), lambda: _epoch(answer, trial, count, pinned, waits)
    )


def _epoch(answer: Callable[..., Any], trial: Trial, count: int, pinned: bool, waits: bool) -> Epoch:
    feed = Feed(trial, count, pinned=pinned)
    consumer = Consumer(feed, waits=waits)
    watched = (
        torch.cuda.StreamContext.__enter__,
        torch.cuda.set_stream,
        type(streams.empty(1)).record_stream,
    )
    was_enabled = gc.isenabled()
    gc.disable()  # memory comes free when the last name goes, and at no other time
    try:
        with streams.costs(**COSTS), streams.stream(feed.main), calls_to(*watched) as calls:
            trial.call(lambda: consumer.eat(answer(feed, feed.copy, feed.stream)))
    finally:
        if was_enabled:
            gc.enable()
    times = Times(consumer)
    streams.synchronize()
    places = [feed.place(double.cpu() / 2) for double in consumer.doubles]
    return Epoch(feed, consumer, times, frozenset(calls), places)
