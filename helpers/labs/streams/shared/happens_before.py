"""Which kernels of a program race: clocks that tell what is over, joined along streams, events and host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from helpers.streams.program import Op

Clock = dict[str, int]
"""Stream -> how many of its kernels are over, counted from its first one."""


Access = tuple[int, int, Op]


def join(clock: Clock, other: Clock) -> None:
    """What `other` knows, `clock` knows from now on, too."""
    for stream, number in other.items():
        if number > clock.get(stream, 0):
            clock[stream] = number


class HappensBefore:
    """Takes the ops of a program one by one, in order of issue; `pairs` holds the races found so far.

    clocks: for each stream what is over before the next thing on it begins. marks: for each event the clock that its
    last record saw. host: what the host has waited for. accesses: memory -> stream -> (number on its stream, index in
    the program, op) of the kernels that touch it, in their order.
    """

    def __init__(self) -> None:
        self.clocks: dict[str, Clock] = {}
        self.marks: dict[str | None, Clock] = {}
        self.host: Clock = {}
        self.accesses: dict[str, dict[str, list[Access]]] = {}
        self.pairs: set[tuple[int, int]] = set()

    def issue(self, index: int, op: Op) -> None:
        clock = self.clocks.setdefault(op.stream, {})
        join(clock, self.host)
        if op.kind == "kernel":
            self.kernel(index, op, clock)
        elif op.kind == "record":
            self.record(op, clock)
        elif op.kind == "wait":
            self.wait(op, clock)
        else:
            self.host_sync(op, clock)

    def record(self, op: Op, clock: Clock) -> None:
        self.marks[op.event] = dict(clock)

    def wait(self, op: Op, clock: Clock) -> None:
        join(clock, self.marks.get(op.event, {}))

    def host_sync(self, op: Op, clock: Clock) -> None:
        join(self.host, clock)

    def kernel(self, index: int, op: Op, clock: Clock) -> None:
        number = clock[op.stream] = clock.get(op.stream, 0) + 1
        for memory in op.reads | op.writes:
            by_stream = self.accesses.setdefault(memory, {})
            for stream, accesses in by_stream.items():
                for earlier, before in self.not_over(accesses, clock.get(stream, 0)):
                    if self.conflict(memory, before, op):
                        self.pairs.add((earlier, index))
            by_stream.setdefault(op.stream, []).append((number, index, op))

    def not_over(self, accesses: list[Access], over: int) -> Iterator[tuple[int, Op]]:
        """From the last one back: kernels of a stream end in order, so all before the first that is over are, too."""
        for number, index, op in reversed(accesses):
            if number <= over:
                return
            yield index, op

    def conflict(self, memory: str, before: Op, op: Op) -> bool:
        return memory in before.writes or memory in op.writes


def races(program: Iterable[Op], machine: type[HappensBefore] = HappensBefore) -> set[tuple[int, int]]:
    """All pairs (i, j), i < j, of kernels that touch the same memory, one of them writing, with nothing between them
    that makes j wait for i."""
    found = machine()
    for index, op in enumerate(program):
        found.issue(index, op)
    return found.pairs
