"""A right answer to 14.stream_uses in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any


class Right:
    """A queue of (event, block) for each stream, and for each pending block the number of its events."""

    def __init__(self, release: Callable[[Any], None], record: Callable[[Any], Any]) -> None:
        self.release, self.record = release, record
        self.uses: dict[Any, Any] = {}
        self.waiting: dict[Any, int] = {}
        self.queues: dict[Any, deque[tuple[Any, Any]]] = {}

    def record_stream(self, block: Any, stream: Any) -> None:
        if self.is_noted(block, stream):
            self.note(block, stream)

    def is_noted(self, block: Any, stream: Any) -> bool:
        return stream != block.stream

    def note(self, block: Any, stream: Any) -> None:
        self.uses.setdefault(block, set()).add(stream)

    def free(self, block: Any) -> None:
        streams = self.streams_of(block)
        if streams:
            self.hold(block, streams)
        else:
            self.release(block)

    def streams_of(self, block: Any) -> Any:
        return self.uses.pop(block, ())

    def hold(self, block: Any, streams: Any) -> None:
        self.waiting[block] = len(streams)
        for stream in streams:
            self.put(stream, self.record(stream), block)

    def put(self, stream: Any, event: Any, block: Any) -> None:
        self.queues.setdefault(stream, deque()).append((event, block))

    def process_events(self) -> None:
        for queue in self.queues.values():
            self.work_off(queue)

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        while queue and queue[0][0].query():
            self.passed(queue.popleft()[1])

    def passed(self, block: Any) -> None:
        self.waiting[block] -= 1
        if not self.waiting[block]:
            self.release(block)


class InAList(Right):
    """All that is pending in one list of (block, events), in the order of freeing."""

    def __init__(self, release: Callable[[Any], None], record: Callable[[Any], Any]) -> None:
        super().__init__(release, record)
        self.pending: list[tuple[Any, list[Any]]] = []

    def hold(self, block: Any, streams: Any) -> None:
        self.pending.append((block, [self.record(stream) for stream in streams]))

    def process_events(self) -> None:
        kept = []
        for block, events in self.pending:
            if self.have_passed(events):
                self.release(block)
            else:
                kept.append((block, events))
        self.pending = kept

    def have_passed(self, events: list[Any]) -> bool:
        return all(event.query() for event in events)
