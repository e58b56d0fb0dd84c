"""Right answers to 06.simulate, in different shapes."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterator
from functools import cache

from helpers.streams.program import Op

Times = list[tuple[float, float]]


def one_pass(ops: list[Op]) -> Times:
    host, free, passed, times = 0, {}, {}, []
    for op in ops:
        ready = max(host, free.get(op.stream, 0))
        if op.kind == "kernel":
            times.append((ready, ready + op.duration))
            free[op.stream] = ready + op.duration
        if op.kind == "record":
            passed[op.event] = ready
        if op.kind == "wait" and passed.get(op.event, 0) > ready:
            free[op.stream] = passed[op.event]
        if op.kind == "host_sync":
            host = ready
    return times


def over_a_graph(ops: list[Op]) -> Times:
    """Each op is over when its duration has passed since the last of those before it was: the longest path."""

    def before(index: int) -> Iterator[int]:
        op = ops[index]
        yield from (i for i in range(index) if ops[i].stream == op.stream or ops[i].kind == "host_sync")
        if op.kind == "wait":
            records = [i for i in range(index) if ops[i].kind == "record" and ops[i].event == op.event]
            yield from records[-1:]

    @cache
    def over(index: int) -> float:
        return begins(index) + (ops[index].duration if ops[index].kind == "kernel" else 0.0)

    def begins(index: int) -> float:
        return max((over(i) for i in before(index)), default=0.0)

    return [(begins(index), over(index)) for index, op in enumerate(ops) if op.kind == "kernel"]


class Device:
    """Event by event: a heap of moments at which a kernel ends, queues whose heads are tried after each of them."""

    def __init__(self, ops: list[Op]) -> None:
        self.ops, self.now, self.issued = ops, 0.0, 0
        self.queues: dict[str, deque[int]] = defaultdict(deque)
        self.busy: set[str] = set()
        self.ends: list[tuple[float, str]] = []
        self.last: dict[str | None, int] = {}
        self.awaits: dict[int, int] = {}
        self.passed: set[int] = set()
        self.times: dict[int, tuple[float, float]] = {}

    def run(self) -> Times:
        while True:
            while self.issue() or any([self.advance(stream) for stream in self.queues]):
                pass
            if not self.ends:
                return [self.times[index] for index in sorted(self.times)]
            self.now, stream = heapq.heappop(self.ends)
            self.busy.discard(stream)

    def issue(self) -> bool:
        if self.issued == len(self.ops):
            return False
        index, op = self.issued, self.ops[self.issued]
        if op.kind == "host_sync":
            if op.stream in self.busy or self.queues[op.stream]:
                return False
        else:
            if op.kind == "record":
                self.last[op.event] = index
            elif op.kind == "wait" and op.event in self.last:
                self.awaits[index] = self.last[op.event]
            self.queues[op.stream].append(index)
        self.issued += 1
        return True

    def advance(self, stream: str) -> bool:
        if stream in self.busy or not self.queues[stream]:
            return False
        index = self.queues[stream][0]
        if index in self.awaits and self.awaits[index] not in self.passed:
            return False
        self.queues[stream].popleft()
        self.passed.add(index)
        if self.ops[index].kind == "kernel":
            end = self.now + self.ops[index].duration
            self.times[index] = (self.now, end)
            self.busy.add(stream)
            heapq.heappush(self.ends, (end, stream))
        return True


def event_by_event(ops: list[Op]) -> Times:
    return Device(ops).run()


RIGHT = [one_pass, over_a_graph, event_by_event]
