"""What people write for 06.find_races: which pairs conflict, and which of them are returned."""

from __future__ import annotations

from itertools import combinations, pairwise

from helpers.labs.streams.find_races.compared import Pairs
from helpers.labs.streams.find_races.exercise import DURATIONS, RACE, SET, STREAM, find_races
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


@find_races.mistake(breaks=RACE)
def read_read(program: list[Op]) -> Pairs:
    """Two kernels that only read what they share are reported. They do not disturb each other, in
    whatever order they run: at least one of the two must write it.
    """
    return unordered(program)


@find_races.mistake(breaks=RACE)
def write_after_read_missed(program: list[Op]) -> Pairs:
    """A kernel that reads, and a later one that writes, are not reported. The write may overwrite what is
    still being read: the buffer that is filled again too early. The reader comes first in the program,
    and it is a race all the same.
    """
    return {
        (i, j) for i, j in unordered(program) if program[i].writes & (program[j].reads | program[j].writes)
    }


@find_races.mistake(breaks=RACE)
def write_write_missed(program: list[Op]) -> Pairs:
    """Two kernels that both write some memory, and do not read it, are not reported. They race: which of
    them is the last one is what the next reader sees.
    """
    return {
        (i, j)
        for i, j in unordered(program)
        if program[i].writes & program[j].reads or program[i].reads & program[j].writes
    }


@find_races.mistake(breaks=RACE)
def write_then_read_only(program: list[Op]) -> Pairs:
    """Reported is only a read that comes after a write. A write after a read and a write after a write
    need an order as much.
    """
    return {(i, j) for i, j in unordered(program) if program[i].writes & program[j].reads}


@find_races.mistake(breaks=RACE)
def read_then_write_only(program: list[Op]) -> Pairs:
    """Reported is only what the earlier kernel reads and the later one writes. Perhaps the two sides were
    taken the wrong way round: a read after a write is a race, and two writes are one, too.
    """
    return {(i, j) for i, j in unordered(program) if program[i].reads & program[j].writes}


@find_races.mistake(breaks=RACE)
def in_place_only_reads(program: list[Op]) -> Pairs:
    """A kernel that edits memory in place and one that only reads it are not reported. Perhaps an `if ...
    in reads ... elif ... in writes` takes the first for one that only reads. It does both.
    """

    class ReadsFirst(HappensBefore):
        def conflict(self, memory: str, before: Op, op: Op) -> bool:
            return memory not in before.reads or memory not in op.reads

    return races(program, ReadsFirst)


@find_races.mistake(breaks=RACE)
def any_two_streams(program: list[Op]) -> Pairs:
    """A pair was reported that has no memory in common. Perhaps any two kernels on two streams were taken
    for a race. It needs memory that both touch, and one of the two must write it.
    """
    everything = frozenset({"all"})
    touched = [
        Op(op.stream, op.kind, everything, everything, op.event) if op.kind == "kernel" else op
        for op in program
    ]
    return races(touched)


@find_races.mistake(breaks=STREAM)
def same_stream(program: list[Op]) -> Pairs:
    """Two kernels of one stream were reported. A stream is a queue: its kernels run one after the other,
    in order of issue, and never race with each other.
    """

    class NoQueue(HappensBefore):
        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            super().kernel(index, op, clock)
            for memory in op.reads | op.writes:
                for _, earlier, before in self.accesses[memory][op.stream][:-1]:
                    if self.conflict(memory, before, op):
                        self.pairs.add((earlier, index))

    return races(program, NoQueue)


@find_races.mistake(breaks=RACE)
def order_of_issue(program: list[Op]) -> Pairs:
    """The set is empty, though nothing orders these two. Perhaps the order of issue was taken for the
    order in which they run: the host issues kernels in order and waits for none of them, so a later one
    on a different stream may begin at once.
    """
    return set()


@find_races.mistake(breaks=RACE)
def numbered_from_zero(program: list[Op]) -> Pairs:
    """The race is missing where its first kernel is the first one on its stream, and found where a kernel
    stands before that. Perhaps the number or the index 0 also says that none is over: number from 1, or
    let `nothing` be -1.
    """

    class FromZero(HappensBefore):
        def not_over(self, accesses: list[Access], over: int) -> list:
            return list(super().not_over(accesses, max(over, 1)))

    return races(program, FromZero)


@find_races.mistake(breaks=DURATIONS)
def on_a_timeline(program: list[Op]) -> Pairs:
    """The race is found where both kernels may begin at once, and missing where a kernel stands before
    one of them. Perhaps the durations decide: two kernels that did not meet this time may meet the next,
    with other data or a different program on the GPU. What counts is what makes one wait for the other.
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


@find_races.mistake(breaks=SET)
def later_index_first(program: list[Op]) -> Pairs:
    """The pairs are written (j, i). The smaller index comes first: the kernel that was issued earlier."""
    return {(j, i) for i, j in races(program)}


@find_races.mistake(breaks=SET)
def both_ways(program: list[Op]) -> Pairs:
    """Each race stands there twice, as (i, j) and as (j, i). It is one pair; the kernel issued earlier
    comes first.
    """
    return {pair for i, j in races(program) for pair in ((i, j), (j, i))}


@find_races.mistake(breaks=SET)
def counts_kernels_only(program: list[Op]) -> Pairs:
    """The numbers in the pair count kernels. An index into the program counts every op, records and
    waits, too. Perhaps the kernels were picked out first, and numbered then: number the program with
    enumerate before anything is left out.
    """
    numbers = [index for index, op in enumerate(program) if op.kind == "kernel"]
    return {(numbers.index(i), numbers.index(j)) for i, j in races(program)}


@find_races.mistake(breaks=SET)
def first_pair_only(program: list[Op]) -> Pairs:
    """Of several races one was reported for each program. Perhaps the search ends at the first race, with
    a `return` or a `break`. All are asked for: who mends one wants to see the next.
    """
    return set(sorted(races(program))[:1])


@find_races.variant(first_pair_only)
def _(program: list[Op]) -> Pairs:
    return set(sorted(races(program), key=lambda pair: pair[::-1])[:1])


@find_races.mistake(breaks=SET)
def one_for_each_kernel(program: list[Op]) -> Pairs:
    """Each kernel was reported with one earlier kernel at most, and it may race with several. Perhaps the
    loop was left at the first one found, or a dict holds one for each kernel.
    """
    first: dict[int, int] = {}
    for i, j in sorted(races(program)):
        first.setdefault(j, i)
    return {(i, j) for j, i in first.items()}


@find_races.variant(one_for_each_kernel)
def _(program: list[Op]) -> Pairs:
    return set({j: (i, j) for i, j in sorted(races(program))}.values())


@find_races.mistake(breaks=SET)
def neighbours_only(program: list[Op]) -> Pairs:
    """A race is missing where a kernel on a different stream stands between the two. Perhaps only kernels
    that follow each other in the program were compared. Two may race with a hundred others between them.
    """
    kernels = [index for index, op in enumerate(program) if op.kind == "kernel"]
    return races(program) & set(pairwise(kernels))


@find_races.mistake(breaks=SET)
def last_access_only(program: list[Op]) -> Pairs:
    """Two kernels were reported only where no other one between them touches the same memory. Perhaps for
    each memory the last kernel alone was remembered. An older one may still be running.
    """
    last: dict[str, int] = {}
    compared = set()
    for index, op in enumerate(program):
        for memory in op.reads | op.writes:
            if memory in last:
                compared.add((last[memory], index))
            last[memory] = index
    return races(program) & compared


@find_races.mistake(breaks=SET)
def last_of_each_stream(program: list[Op]) -> Pairs:
    """Of two kernels of one stream that race with a third, the older one is missing. Perhaps for each
    memory and stream only the newest kernel was remembered. That is enough to say whether there is a
    race, and not to say which.
    """

    class Newest(HappensBefore):
        def not_over(self, accesses: list[Access], over: int) -> list:
            return list(super().not_over(accesses, over))[:1]

    return races(program, Newest)


@find_races.mistake(breaks=SET)
def a_write_clears(program: list[Op]) -> Pairs:
    """A kernel is missing where a later one writes the same memory before the third comes. Perhaps a
    write makes the answer forget who touched this memory before. A kernel that races with the write has
    not come to an end by it, and races with what follows, too.
    """

    class Clearing(HappensBefore):
        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            super().kernel(index, op, clock)
            for memory in op.writes:
                self.accesses[memory] = {op.stream: self.accesses[memory][op.stream][-1:]}

    return races(program, Clearing)
