"""Right answers of 14.stream_uses, of other shapes than the solution's."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any


class BlockByBlock:
    """All pending blocks in the order of freeing; a stream is left alone once an event of it has not passed."""

    def __init__(self, release: Callable[[Any], None], record: Callable[[Any], Any]) -> None:
        self.release = release
        self.record = record
        self.used_by = defaultdict(list)
        self.pending = []

    def record_stream(self, block: Any, stream: Any) -> None:
        if stream == block.stream or stream in self.used_by[block]:
            return
        self.used_by[block].append(stream)

    def free(self, block: Any) -> None:
        events = {stream: self.record(stream) for stream in reversed(self.used_by[block])}
        del self.used_by[block]
        if events:
            self.pending.append((block, events))
        else:
            self.release(block)

    def process_events(self) -> None:
        behind = set()
        for _, events in self.pending:
            for stream in list(events):
                if stream in behind:
                    continue
                if events[stream].query():
                    del events[stream]
                else:
                    behind.add(stream)
        done = [block for block, events in self.pending if not events]
        self.pending = [(block, events) for block, events in self.pending if events]
        for block in done:
            self.release(block)


@dataclass
class _Timeline:
    """The events of one stream that have not passed, and how many have."""

    events: list[Any] = field(default_factory=list)
    passed: int = 0

    def end(self) -> int:
        return self.passed + len(self.events)

    def ask(self) -> None:
        over = len(list(takewhile(lambda event: event.query(), self.events)))
        self.passed += over
        self.events = self.events[over:]


class ByTimelines:
    """A pending block knows how far each of its streams has to come."""

    def __init__(self, release, record):
        self._release, self._record = release, record
        self._streams: dict[Any, set[Any]] = {}
        self._timelines: defaultdict[Any, _Timeline] = defaultdict(_Timeline)
        self._pending: list[tuple[Any, dict[Any, int]]] = []

    def record_stream(self, block, stream):
        self._streams[block] = self._streams.get(block, set()) | {stream}

    def free(self, block):
        goals = {}
        for stream in self._streams.pop(block, set()) - {block.stream}:
            timeline = self._timelines[stream]
            timeline.events.append(self._record(stream))
            goals[stream] = timeline.end()
        if not goals:
            self._release(block)
        else:
            self._pending.append((block, goals))

    def process_events(self):
        for timeline in self._timelines.values():
            timeline.ask()
        pending, self._pending = self._pending, []
        for block, goals in pending:
            if all(self._timelines[stream].passed >= goal for stream, goal in goals.items()):
                self._release(block)
            else:
                self._pending.append((block, goals))


class AsTorchHasIt:
    """Counts of events on the block itself, as `event_count` in torch; newest streams first."""

    def __init__(self, release, record):
        self.release, self.record = release, record
        self.stream_uses = OrderedDict()
        self.event_count = Counter()
        self.cuda_events = {}

    def record_stream(self, block, stream):
        if block.stream == stream:
            return
        self.stream_uses.setdefault(block, {})[stream] = True

    def free(self, block):
        if block not in self.stream_uses:
            return self.release(block)
        for stream in self.stream_uses.pop(block):
            self.event_count[block] += 1
            self.cuda_events.setdefault(stream, []).insert(0, (self.record(stream), block))
        return None

    def process_events(self):
        ready = []
        for stream in reversed(list(self.cuda_events)):
            queue = self.cuda_events[stream]
            while queue:
                event, block = queue[-1]
                if not event.query():
                    break
                queue.pop()
                self.event_count[block] -= 1
                if self.event_count[block] == 0:
                    ready.append(block)
            if not queue:
                del self.cuda_events[stream]
        for block in ready:
            self.release(block)


class ByCallbacks:
    """Each event has a function to call when it has passed."""

    def __init__(self, release, record):
        self.release, self.record = release, record
        self.used_by, self.lines = {}, {}

    def record_stream(self, block, stream):
        if not stream == block.stream:
            self.used_by[block] = self.used_by.get(block, frozenset()) | {stream}

    def free(self, block):
        left = set(self.used_by.pop(block, ()))
        if not left:
            self.release(block)

        def passed(stream):
            left.remove(stream)
            if not left:
                self.release(block)

        for stream in tuple(left):
            self.lines.setdefault(stream, []).append((self.record(stream), passed))

    def process_events(self):
        for stream in list(self.lines):
            line = self.lines[stream]
            while line and line[0][0].query():
                line.pop(0)[1](stream)


RIGHT: list[Any] = [BlockByBlock, ByTimelines, AsTorchHasIt, ByCallbacks]
