"""Right answers to 06.find_races, in different shapes."""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from helpers.streams.program import Op

Pairs = set[tuple[int, int]]


def clocks_in_dicts(program: list[Op]) -> Pairs:
    """The plain answer: vector clocks, and a walk back along each stream."""
    clocks, marks, host = defaultdict(dict), {}, {}
    touched = defaultdict(lambda: defaultdict(list))
    races = set()

    def join(clock: dict[str, int], other: dict[str, int]) -> None:
        clock.update({stream: max(clock.get(stream, 0), count) for stream, count in other.items()})

    for index, op in enumerate(program):
        clock = clocks[op.stream]
        join(clock, host)
        match op.kind:
            case "record":
                marks[op.event] = dict(clock)
            case "wait":
                join(clock, marks.get(op.event, {}))
            case "host_sync":
                join(host, clock)
            case "kernel":
                clock[op.stream] = clock.get(op.stream, 0) + 1
                for memory in op.reads | op.writes:
                    for stream, accesses in touched[memory].items():
                        for count, earlier, wrote in reversed(accesses):
                            if count <= clock.get(stream, 0):
                                break
                            if wrote or memory in op.writes:
                                races.add((earlier, index))
                    touched[memory][op.stream].append((clock[op.stream], index, memory in op.writes))
    return races


def bits_of_what_is_over(program: list[Op]) -> Pairs:
    """One long int an op: bit i is set when op i is over before it begins. Shared memory is found by bits, too."""
    over_on: dict[str, int] = {}
    over_at: dict[str | None, int] = {}
    host, readers, writers, races = 0, {}, {}, []
    for j, op in enumerate(program):
        over = over_on.get(op.stream, 0) | host
        if op.kind == "record":
            over_at[op.event] = over
        elif op.kind == "wait":
            over |= over_at.get(op.event, 0)
        elif op.kind == "host_sync":
            host = over
        else:
            others = 0
            for memory in op.reads:
                others |= writers.get(memory, 0)
            for memory in op.writes:
                others |= writers.get(memory, 0) | readers.get(memory, 0)
            others &= ~over
            while others:
                lowest = others & -others
                races.append((lowest.bit_length() - 1, j))
                others ^= lowest
            for memory in op.reads:
                readers[memory] = readers.get(memory, 0) | 1 << j
            for memory in op.writes:
                writers[memory] = writers.get(memory, 0) | 1 << j
            over |= 1 << j
        over_on[op.stream] = over
    return set(races)


class Detector:
    """Streams have numbers, a clock is a numpy row; readers and writers apart, where to begin is found by bisection.

    The clock holds indices into the program: all kernels of the stream up to that index are over.
    """

    def __init__(self, program: list[Op]) -> None:
        self.program = program
        self.number = {name: n for n, name in enumerate(dict.fromkeys(op.stream for op in program))}
        self.clock = np.full((len(self.number), len(self.number)), -1)
        self.host = np.full(len(self.number), -1)
        self.marks: dict[str | None, np.ndarray] = {}
        self.reads: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.writes: dict[tuple[str, int], list[int]] = defaultdict(list)

    def pairs(self) -> Iterator[tuple[int, int]]:
        for index, op in enumerate(self.program):
            s = self.number[op.stream]
            row = self.clock[s]
            np.maximum(row, self.host, out=row)
            if op.kind == "record":
                self.marks[op.event] = row.copy()
            if op.kind == "wait" and op.event in self.marks:
                np.maximum(row, self.marks[op.event], out=row)
            if op.kind == "host_sync":
                np.maximum(self.host, row, out=self.host)
            if op.kind == "kernel":
                yield from ((earlier, index) for earlier in self.not_over(op, row.tolist(), s))
                for memory in op.reads:
                    self.reads[memory, s].append(index)
                for memory in op.writes:
                    self.writes[memory, s].append(index)
                row[s] = index

    def not_over(self, op: Op, row: list[int], own: int) -> set[int]:
        found: set[int] = set()
        for other in set(self.number.values()) - {own}:
            lists = [self.writes[memory, other] for memory in op.reads | op.writes]
            lists += [self.reads[memory, other] for memory in op.writes]
            for indices in lists:
                found.update(indices[bisect.bisect_right(indices, row[other]) :])
        return found


def with_a_class(program: list[Op]) -> Pairs:
    return set(Detector(program).pairs())


def newest_first(program: list[Op], known: dict | None = None) -> Pairs:
    """Clocks are immutable pairs of tuples; kernels are looked at stream by stream, newest first, whatever they touch,
    until one is over."""
    known = {"host": frozenset()} if known is None else known
    kernels: dict[str, list[int]] = {}
    place: dict[int, int] = {}

    def highest(*clocks: frozenset) -> frozenset:
        most: dict[str, int] = {}
        for stream, count in itertools.chain(*clocks):
            most[stream] = max(count, most.get(stream, 0))
        return frozenset(most.items())

    def kept(j: int, over: dict[str, int]) -> Iterator[int]:
        for stream, indices in kernels.items():
            yield from itertools.takewhile(lambda i: place[i] > over.get(stream, 0), reversed(indices))  # noqa: B023

    races: Pairs = set()
    for j, op in enumerate(program):
        mine = highest(known.get(op.stream, frozenset()), known["host"])
        if op.kind == "kernel":
            over = dict(mine)
            place[j] = over[op.stream] = len(kernels.setdefault(op.stream, [])) + 1
            for i in kept(j, over):
                one = program[i]
                if not one.writes.isdisjoint(op.reads | op.writes) or not one.reads.isdisjoint(op.writes):
                    races |= {(i, j)}
            kernels[op.stream].append(j)
            mine = frozenset(over.items())
        elif op.kind == "wait":
            mine = highest(mine, known.get(("event", op.event), frozenset()))
        elif op.kind == "record":
            known["event", op.event] = mine
        else:
            known["host"] = highest(known["host"], mine)
        known[op.stream] = mine
    return races


def sets_of_what_is_over(program: list[Op]) -> Pairs:
    """For each stream, event and the host the set of kernels that are over; what is over on all streams is dropped."""
    over: dict[object, set[int]] = defaultdict(set)
    streams = {op.stream for op in program}
    alive: dict[int, Op] = {}
    races = set()
    for j, op in enumerate(program):
        over[op.stream] |= over["", "host"]
        if op.kind == "record":
            over["", op.event] = set(over[op.stream])
        elif op.kind == "wait":
            over[op.stream] |= over["", op.event]
        elif op.kind == "host_sync":
            over["", "host"] |= over[op.stream]
        else:
            for i in alive.keys() - over[op.stream]:
                if (alive[i].writes & (op.reads | op.writes)) or (alive[i].reads & op.writes):
                    races.add((i, j))
            over[op.stream].add(j)
            alive[j] = op
            for i in set.intersection(*(over[stream] for stream in streams)) & alive.keys():
                del alive[i]
    return races


def memory_by_memory(program: list[Op]) -> Pairs:
    """A new clock for each op; every earlier access of the memory is looked at."""

    def larger(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        return one | {stream: count for stream, count in other.items() if count > one.get(stream, 0)}

    streams, events, host, history, races = {}, {}, {}, {}, set()
    for index, op in enumerate(program):
        now = larger(streams.get(op.stream, {}), host)
        if op.kind == "kernel":
            now[op.stream] = now.get(op.stream, 0) + 1
            for memory in op.reads | op.writes:
                for earlier, stream, count, wrote in history.setdefault(memory, []):
                    if (wrote or memory in op.writes) and now.get(stream, 0) < count:
                        races.add((earlier, index))
                history[memory].append((index, op.stream, now[op.stream], memory in op.writes))
        elif op.kind == "record":
            events[op.event] = now
        elif op.kind == "wait":
            now = larger(now, events.get(op.event, {}))
        else:
            host = now
        streams[op.stream] = now
    return races


def all_kernels_compared(program: list[Op]) -> frozenset[tuple[int, int]]:
    """First the clock and the number of each kernel, as lists; then every pair of kernels."""
    names = sorted({op.stream for op in program})
    clock = {name: [0] * len(names) for name in names}
    marks, host, kernels = {}, [0] * len(names), []
    for index, op in enumerate(program):
        mine = clock[op.stream] = [*map(max, clock[op.stream], host)]
        if op.kind == "kernel":
            place = names.index(op.stream)
            mine[place] += 1
            kernels.append((index, op, place, mine[place], mine[:]))
        elif op.kind == "record":
            marks[op.event] = mine[:]
        elif op.kind == "wait" and op.event in marks:
            clock[op.stream] = [*map(max, mine, marks[op.event])]
        elif op.kind == "host_sync":
            host = mine[:]
    return frozenset(
        (i, j)
        for (i, one, place, number, _), (j, other, _, _, over) in itertools.combinations(kernels, 2)
        if over[place] < number
        and (one.writes & other.writes or one.writes & other.reads or one.reads & other.writes)
    )


RIGHT = [
    clocks_in_dicts,
    bits_of_what_is_over,
    with_a_class,
    newest_first,
    sets_of_what_is_over,
    memory_by_memory,
    all_kernels_compared,
]
