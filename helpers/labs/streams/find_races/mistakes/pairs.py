"""What people write for 06.find_races: which pairs conflict, and which of them are returned."""

from __future__ import annotations

from itertools import combinations, pairwise

from helpers.labs.streams.find_races.compared import Pairs
from helpers.labs.streams.find_races.exercise import find_races
from helpers.labs.streams.shared.happens_before import Access, Clock, HappensBefore, races
from helpers.streams.program import Op


def conflicts(one: Op, other: Op) -> bool:
    return bool(one.writes & (other.reads | other.writes) or one.reads & other.writes)


def unordered(program: list[Op], only_some: bool = False) -> Pairs:
    """All pairs of kernels on different streams that share memory and that nothing orders, conflict or not."""

    class AnyShared(HappensBefore):
        def conflict(self, memory: str, before: Op, op: Op) -> bool:
            return True

    return races(program, AnyShared)


@find_races.mistake()
def read_read(program: list[Op]) -> Pairs:
    """Two kernels that only read do not disturb each other, in whatever order they run. At least one of the
    two must write what both touch.
    """
    return unordered(program)


@find_races.mistake()
def write_after_read_missed(program: list[Op]) -> Pairs:
    """A write that does not wait for an earlier read overwrites what is still being read: the buffer that is
    filled again too early. The reader comes first in the program, and it is a race all the same.
    """
    return {
        (i, j) for i, j in unordered(program) if program[i].writes & (program[j].reads | program[j].writes)
    }


@find_races.mistake()
def write_write_missed(program: list[Op]) -> Pairs:
    """Two writes to the same memory race, too: which of them is the last one is what the next reader sees."""
    return {
        (i, j)
        for i, j in unordered(program)
        if program[i].writes & program[j].reads or program[i].reads & program[j].writes
    }


@find_races.mistake()
def write_then_read_only(program: list[Op]) -> Pairs:
    """Only reads that come after a write were looked at. A write after a read and a write after a write need
    an order as much.
    """
    return {(i, j) for i, j in unordered(program) if program[i].writes & program[j].reads}


@find_races.mistake()
def read_then_write_only(program: list[Op]) -> Pairs:
    """The two sides were taken the wrong way round: what the earlier kernel reads was held against what the
    later one writes, and the other two kinds of race were left out.
    """
    return {(i, j) for i, j in unordered(program) if program[i].reads & program[j].writes}


@find_races.mistake()
def in_place_only_reads(program: list[Op]) -> Pairs:
    """An `if ... in reads ... elif ... in writes` takes a kernel that edits memory in place for one that only
    reads it. It does both.
    """

    class ReadsFirst(HappensBefore):
        def conflict(self, memory: str, before: Op, op: Op) -> bool:
            return memory not in before.reads or memory not in op.reads

    return races(program, ReadsFirst)


@find_races.mistake()
def any_two_streams(program: list[Op]) -> Pairs:
    """Two kernels on two streams were reported whatever they touch. A race needs memory that both touch, and
    one of the two must write it.
    """
    everything = frozenset({"all"})
    touched = [
        Op(op.stream, op.kind, everything, everything, op.event) if op.kind == "kernel" else op
        for op in program
    ]
    return races(touched)


@find_races.mistake()
def same_stream(program: list[Op]) -> Pairs:
    """A stream is a queue: its kernels run one after the other, in order of issue, and never race with each
    other.
    """

    class NoQueue(HappensBefore):
        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            super().kernel(index, op, clock)
            for memory in op.reads | op.writes:
                for _, earlier, before in self.accesses[memory][op.stream][:-1]:
                    if self.conflict(memory, before, op):
                        self.pairs.add((earlier, index))

    return races(program, NoQueue)


@find_races.mistake()
def order_of_issue(program: list[Op]) -> Pairs:
    """The host issues kernels in order, and waits for none of them: a later one on another stream may begin
    at once. Order of issue is no order of execution.
    """
    return set()


@find_races.mistake()
def numbered_from_zero(program: list[Op]) -> Pairs:
    """The first kernel of a stream was numbered 0, and 0 also said that none of its kernels is over: it
    looked over from the beginning. Number them from 1, or let `nothing` be -1.
    """

    class FromZero(HappensBefore):
        def not_over(self, accesses: list[Access], over: int) -> list:
            return list(super().not_over(accesses, max(over, 1)))

    return races(program, FromZero)


@find_races.mistake()
def on_a_timeline(program: list[Op]) -> Pairs:
    """Kernels that overlap on one timeline do race, but those that did not meet this time may meet the next:
    on another machine, with other data, with another program on the GPU. What counts is what makes one wait
    for the other, no duration.
    """
    host, tails, marks, ran = 0.0, {}, {}, []
    for index, op in enumerate(program):
        ready = max(host, tails.get(op.stream, 0.0))
        if op.kind == "kernel":
            tails[op.stream] = ready + op.duration
            ran.append((index, op, ready, tails[op.stream]))
        elif op.kind == "record":
            marks[op.event] = ready
        elif op.kind == "wait":
            tails[op.stream] = max(ready, marks.get(op.event, 0.0))
        else:
            host = ready
    return {
        (i, j)
        for (i, one, begin, end), (j, other, start, stop) in combinations(ran, 2)
        if one.stream != other.stream and conflicts(one, other) and begin < stop and start < end
    }


@find_races.mistake()
def later_index_first(program: list[Op]) -> Pairs:
    """A pair was written (j, i). The smaller index comes first: the kernel that was issued earlier."""
    return {(j, i) for i, j in races(program)}


@find_races.mistake()
def both_ways(program: list[Op]) -> Pairs:
    """Each race was written twice, as (i, j) and as (j, i). It is one pair; the kernel issued earlier comes
    first.
    """
    return {pair for i, j in races(program) for pair in ((i, j), (j, i))}


@find_races.mistake()
def counts_kernels_only(program: list[Op]) -> Pairs:
    """The numbers count kernels. An index into the program counts every op, records and waits, too: enumerate
    the program before anything is left out.
    """
    numbers = [index for index, op in enumerate(program) if op.kind == "kernel"]
    return {(numbers.index(i), numbers.index(j)) for i, j in races(program)}


@find_races.mistake()
def first_pair_only(program: list[Op]) -> Pairs:
    """The search ended at the first race. All are asked for: who mends one wants to see the next."""
    return set(sorted(races(program))[:1])


@find_races.variant(first_pair_only)
def _(program: list[Op]) -> Pairs:
    return set(sorted(races(program), key=lambda pair: pair[::-1])[:1])


@find_races.mistake()
def one_for_each_kernel(program: list[Op]) -> Pairs:
    """For each kernel the first race with an earlier one was kept, and the loop left. It may race with
    several.
    """
    first: dict[int, int] = {}
    for i, j in sorted(races(program)):
        first.setdefault(j, i)
    return {(i, j) for j, i in first.items()}


@find_races.variant(one_for_each_kernel)
def _(program: list[Op]) -> Pairs:
    return set({j: (i, j) for i, j in sorted(races(program))}.values())


@find_races.mistake()
def neighbours_only(program: list[Op]) -> Pairs:
    """Only kernels that follow each other in the program were compared. Two may race with a hundred others
    between them.
    """
    kernels = [index for index, op in enumerate(program) if op.kind == "kernel"]
    return races(program) & set(pairwise(kernels))


@find_races.mistake()
def last_access_only(program: list[Op]) -> Pairs:
    """For each memory only the last kernel that touched it was remembered. An older one may still be running."""
    last: dict[str, int] = {}
    compared = set()
    for index, op in enumerate(program):
        for memory in op.reads | op.writes:
            if memory in last:
                compared.add((last[memory], index))
            last[memory] = index
    return races(program) & compared


@find_races.mistake()
def last_of_each_stream(program: list[Op]) -> Pairs:
    """For each memory and stream only the newest kernel was remembered. It is the most dangerous one, which
    is enough to say whether there is a race, but the older ones that are not over race as well.
    """

    class Newest(HappensBefore):
        def not_over(self, accesses: list[Access], over: int) -> list:
            return list(super().not_over(accesses, over))[:1]

    return races(program, Newest)


@find_races.mistake()
def a_write_clears(program: list[Op]) -> Pairs:
    """When a kernel wrote, what had touched this memory before was forgotten. A kernel that races with the
    write has not come to an end by it, and races with what follows, too.
    """

    class Clearing(HappensBefore):
        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            super().kernel(index, op, clock)
            for memory in op.writes:
                self.accesses[memory] = {op.stream: self.accesses[memory][op.stream][-1:]}

    return races(program, Clearing)
