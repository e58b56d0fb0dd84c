"""Right answers to 06.prefetcher, in different shapes."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor

from helpers import streams


def with_islice(loader: Iterable[Tensor], copy: Any, stream: Any) -> Iterator[Tensor]:
    def started(count: int) -> list[Tensor]:
        with streams.stream(stream):
            return [copy(batch) for batch in itertools.islice(batches, count)]

    batches = iter(loader)
    coming = started(1)
    while coming:
        current = streams.current_stream()
        current.wait_stream(stream)
        ready = coming.pop()
        ready.record_stream(current)
        coming = started(1)
        yield ready


def with_an_event_each(loader: Iterable[Tensor], copy: Any, stream: Any) -> Iterator[Tensor]:
    """A queue of batches with events; the loop is one batch longer than the loader."""
    queue: collections.deque[tuple[Tensor, Any]] = collections.deque()
    end = object()
    for batch in itertools.chain(loader, [end]):
        if batch is not end:
            with streams.stream(stream):
                queue.append((copy(batch), streams.current_stream().record_event()))
        if len(queue) > 1 or (batch is end and queue):
            ready, done = queue.popleft()
            done.wait(streams.current_stream())
            ready.record_stream(streams.current_stream())
            yield ready


def with_copies_that_wait(loader: Iterable[Tensor], copy: Any, stream: Any) -> Iterator[Tensor]:
    """No record_stream: each copy waits for what the consumer has queued, so for all use of memory that came free."""
    batches = iter(loader)

    def following() -> Tensor | None:
        batch = next(batches, None)
        if batch is None:
            return None
        stream.wait_stream(streams.current_stream())
        with stream:
            return copy(batch)

    coming = following()
    while coming is not None:
        streams.current_stream().wait_stream(stream)
        ready, coming = coming, following()
        yield ready


class AsAnIterator:
    """As an iterator class: the first copy is queued by the first next()."""

    def __init__(self, loader: Iterable[Tensor], copy: Any, stream: Any) -> None:
        self.loader, self.copy, self.stream = loader, copy, stream
        self.batches: Iterator[Tensor] | None = None

    def preload(self) -> None:
        assert self.batches is not None
        self.coming: Tensor | None = None
        for batch in self.batches:
            with streams.stream(self.stream):
                self.coming = self.copy(batch)
            return

    def __iter__(self) -> AsAnIterator:
        return self

    def __next__(self) -> Tensor:
        if self.batches is None:
            self.batches = iter(self.loader)
            self.preload()
        if self.coming is None:
            raise StopIteration
        current, ready = streams.current_stream(), self.coming
        current.wait_stream(self.stream)
        ready.record_stream(current)
        self.preload()
        return ready


def recorded_after_use(loader: Iterable[Tensor], copy: Any, stream: Any) -> Iterator[Tensor]:
    """record_stream when the consumer comes back; until then the generator holds the batch."""
    batches = iter(loader)
    try:
        with streams.stream(stream):
            following = copy(next(batches))
    except StopIteration:
        return
    more = True
    while more:
        ready = following
        streams.current_stream().wait_stream(stream)
        try:
            batch = next(batches)
        except StopIteration:
            more = False
        else:
            with streams.stream(stream):
                following = copy(batch)
        yield ready
        ready.record_stream(streams.current_stream())


def as_timm_does(loader: Iterable[Tensor], copy: Any, stream: Any) -> Iterator[Tensor]:
    """The batch before goes out when the next one is under way; the last one behind the loop."""
    ready: Tensor | None = None
    for batch in loader:
        with streams.stream(stream):
            coming = copy(batch)
        if ready is not None:
            yield ready
        streams.current_stream().wait_stream(stream)
        ready = coming
        ready.record_stream(streams.current_stream())
    if ready is not None:
        yield ready


def as_flax_does(loader: Iterable[Tensor], copy: Any, stream: Any) -> Iterator[Tensor]:
    """Two are queued at first, then one more each time the consumer comes back. What is not pinned is pinned."""
    queue: collections.deque[tuple[Tensor, Any]] = collections.deque()
    batches = iter(loader)

    def enqueue(count: int) -> None:
        for batch in itertools.islice(batches, count):
            host = batch if streams.is_pinned(batch) else streams.pin_memory(batch)
            with streams.stream(stream):
                queue.append((copy(host), stream.record_event()))

    enqueue(2)
    while queue:
        ready, done = queue.popleft()
        streams.current_stream().wait_event(done)
        ready.record_stream(streams.current_stream())
        yield ready
        enqueue(1)


def with_two_slots(loader: Iterable[Tensor], copy: Any, stream: Any) -> Iterator[Tensor]:
    """Two slots with two events each: when the slot is filled, and when the consumer has used it. No record_stream."""
    slots: list[Tensor | None] = [None, None]
    filled, used = ([streams.Event(), streams.Event()] for _ in range(2))
    batches = enumerate(loader)

    def fill() -> bool:
        for number, batch in batches:
            slot = number % 2
            stream.wait_event(used[slot])
            slots[slot] = None
            with streams.stream(stream):
                slots[slot] = copy(batch)
            filled[slot].record(stream)
            return True
        return False

    more, slot = fill(), 0
    while more:
        streams.current_stream().wait_event(filled[slot])
        more = fill()
        yield slots[slot]
        used[slot].record(streams.current_stream())
        slot = 1 - slot


RIGHT = [
    with_islice,
    with_an_event_each,
    with_copies_that_wait,
    AsAnIterator,
    recorded_after_use,
    as_timm_does,
    as_flax_does,
    with_two_slots,
]
