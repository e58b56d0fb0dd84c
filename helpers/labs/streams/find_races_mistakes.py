"""What people write for 06.find_races: which pairs conflict, and which of them are returned."""

from __future__ import annotations

from itertools import combinations, pairwise

from helpers.labs.streams.find_races import find_races
from helpers.labs.streams.find_races_parts import Pairs
from helpers.labs.streams.happens_before import Access, Clock, HappensBefore, races
from helpers.streams.program import Op


def conflicts(one: Op, other: Op) -> bool:
    return bool(one.writes & (other.reads | other.writes) or one.reads & other.writes)


def unordered(program: list[Op], only_some: bool = False) -> Pairs:
    """All pairs of kernels on different streams that share memory and that nothing orders, conflict or not."""

    class AnyShared(HappensBefore):
        def conflict(self, memory: str, before: Op, op: Op) -> bool:
            return True

    return races(program, AnyShared)


@find_races.wrong_answer(
    "read_read",
    why="Two kernels that only read do not disturb each other, in whatever order they run. At least one of the two "
    "must write what both touch.",
    seen="that only read do not disturb each other",
)
def _(program: list[Op]) -> Pairs:
    return unordered(program)


@find_races.wrong_answer(
    "write_after_read_missed",
    why="A write that does not wait for an earlier read overwrites what is still being read: the buffer that is "
    "filled again too early. The reader comes first in the program, and it is a race all the same.",
    seen="overwrites what is still being read",
)
def _(program: list[Op]) -> Pairs:
    return {
        (i, j) for i, j in unordered(program) if program[i].writes & (program[j].reads | program[j].writes)
    }


@find_races.wrong_answer(
    "write_write_missed",
    why="Two writes to the same memory race, too: which of them is the last one is what the next reader sees.",
    seen="which of them is the last one",
)
def _(program: list[Op]) -> Pairs:
    return {
        (i, j)
        for i, j in unordered(program)
        if program[i].writes & program[j].reads or program[i].reads & program[j].writes
    }


@find_races.wrong_answer(
    "write_then_read_only",
    why="Only reads that come after a write were looked at. A write after a read and a write after a write need an "
    "order as much.",
    seen="Only reads that come after a write",
)
def _(program: list[Op]) -> Pairs:
    return {(i, j) for i, j in unordered(program) if program[i].writes & program[j].reads}


@find_races.wrong_answer(
    "read_then_write_only",
    why="The two sides were taken the wrong way round: what the earlier kernel reads was held against what the later "
    "one writes, and the other two kinds of race were left out.",
    seen="the other two kinds of race were left out",
)
def _(program: list[Op]) -> Pairs:
    return {(i, j) for i, j in unordered(program) if program[i].reads & program[j].writes}


@find_races.wrong_answer(
    "in_place_only_reads",
    why="An `if ... in reads ... elif ... in writes` takes a kernel that edits memory in place for one that only "
    "reads it. It does both.",
    seen="takes a kernel that edits memory in place",
)
def _(program: list[Op]) -> Pairs:
    class ReadsFirst(HappensBefore):
        def conflict(self, memory: str, before: Op, op: Op) -> bool:
            return memory not in before.reads or memory not in op.reads

    return races(program, ReadsFirst)


@find_races.wrong_answer(
    "any_two_streams",
    why="Two kernels on two streams were reported whatever they touch. A race needs memory that both touch, and one "
    "of the two must write it.",
    seen="were reported whatever they touch",
)
def _(program: list[Op]) -> Pairs:
    everything = frozenset({"all"})
    touched = [
        Op(op.stream, op.kind, everything, everything, op.event) if op.kind == "kernel" else op
        for op in program
    ]
    return races(touched)


@find_races.wrong_answer(
    "same_stream",
    why="A stream is a queue: its kernels run one after the other, in order of issue, and never race with each other.",
    seen="A stream is a queue",
)
def _(program: list[Op]) -> Pairs:
    class NoQueue(HappensBefore):
        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            super().kernel(index, op, clock)
            for memory in op.reads | op.writes:
                for _, earlier, before in self.accesses[memory][op.stream][:-1]:
                    if self.conflict(memory, before, op):
                        self.pairs.add((earlier, index))

    return races(program, NoQueue)


@find_races.wrong_answer(
    "order_of_issue",
    why="The host issues kernels in order, and waits for none of them: a later one on another stream may begin at "
    "once. Order of issue is no order of execution.",
    seen="is no order of execution",
)
def _(program: list[Op]) -> Pairs:
    return set()


@find_races.wrong_answer(
    "numbered_from_zero",
    why="The first kernel of a stream was numbered 0, and 0 also said that none of its kernels is over: it looked over "
    "from the beginning. Number them from 1, or let `nothing` be -1.",
    seen="Number them from 1",
)
def _(program: list[Op]) -> Pairs:
    class FromZero(HappensBefore):
        def not_over(self, accesses: list[Access], over: int) -> list:
            return list(super().not_over(accesses, max(over, 1)))

    return races(program, FromZero)


@find_races.wrong_answer(
    "on_a_timeline",
    why="Kernels that overlap on one timeline do race, but those that did not meet this time may meet the next: on "
    "another machine, with other data, with another program on the GPU. What counts is what makes one wait for the "
    "other, no duration.",
    seen="may meet the next",
)
def _(program: list[Op]) -> Pairs:
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


@find_races.wrong_answer(
    "later_index_first",
    why="A pair was written (j, i). The smaller index comes first: the kernel that was issued earlier.",
    seen="A pair was written (j, i)",
)
def _(program: list[Op]) -> Pairs:
    return {(j, i) for i, j in races(program)}


@find_races.wrong_answer(
    "both_ways",
    why="Each race was written twice, as (i, j) and as (j, i). It is one pair; the kernel issued earlier comes first.",
    seen="was written twice",
)
def _(program: list[Op]) -> Pairs:
    return {pair for i, j in races(program) for pair in ((i, j), (j, i))}


@find_races.wrong_answer(
    "counts_kernels_only",
    why="The numbers count kernels. An index into the program counts every op, records and waits, too: enumerate the "
    "program before anything is left out.",
    seen="An index into the program counts every op",
)
def _(program: list[Op]) -> Pairs:
    numbers = [index for index, op in enumerate(program) if op.kind == "kernel"]
    return {(numbers.index(i), numbers.index(j)) for i, j in races(program)}


@find_races.wrong_answer(
    "first_pair_only",
    why="The search ended at the first race. All are asked for: who mends one wants to see the next.",
    seen="ended at the first race",
)
def _(program: list[Op]) -> Pairs:
    return set(sorted(races(program))[:1])


@find_races.another_form("first_pair_only")
def _(program: list[Op]) -> Pairs:
    return set(sorted(races(program), key=lambda pair: pair[::-1])[:1])


@find_races.wrong_answer(
    "one_for_each_kernel",
    why="For each kernel the first race with an earlier one was kept, and the loop left. It may race with several.",
    seen="It may race with several",
)
def _(program: list[Op]) -> Pairs:
    first: dict[int, int] = {}
    for i, j in sorted(races(program)):
        first.setdefault(j, i)
    return {(i, j) for j, i in first.items()}


@find_races.another_form("one_for_each_kernel")
def _(program: list[Op]) -> Pairs:
    return set({j: (i, j) for i, j in sorted(races(program))}.values())


@find_races.wrong_answer(
    "neighbours_only",
    why="Only kernels that follow each other in the program were compared. Two may race with a hundred others between "
    "them.",
    seen="that follow each other in the program",
)
def _(program: list[Op]) -> Pairs:
    kernels = [index for index, op in enumerate(program) if op.kind == "kernel"]
    return races(program) & set(pairwise(kernels))


@find_races.wrong_answer(
    "last_access_only",
    why="For each memory only the last kernel that touched it was remembered. An older one may still be running.",
    seen="only the last kernel that touched it",
)
def _(program: list[Op]) -> Pairs:
    last: dict[str, int] = {}
    compared = set()
    for index, op in enumerate(program):
        for memory in op.reads | op.writes:
            if memory in last:
                compared.add((last[memory], index))
            last[memory] = index
    return races(program) & compared


@find_races.wrong_answer(
    "last_of_each_stream",
    why="For each memory and stream only the newest kernel was remembered. It is the most dangerous one, which is "
    "enough to say whether there is a race, but the older ones that are not over race as well.",
    seen="It is the most dangerous one",
)
def _(program: list[Op]) -> Pairs:
    class Newest(HappensBefore):
        def not_over(self, accesses: list[Access], over: int) -> list:
            return list(super().not_over(accesses, over))[:1]

    return races(program, Newest)


@find_races.wrong_answer(
    "a_write_clears",
    why="When a kernel wrote, what had touched this memory before was forgotten. A kernel that races with the write "
    "has not come to an end by it, and races with what follows, too.",
    seen="has not come to an end by it",
)
def _(program: list[Op]) -> Pairs:
    class Clearing(HappensBefore):
        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            super().kernel(index, op, clock)
            for memory in op.writes:
                self.accesses[memory] = {op.stream: self.accesses[memory][op.stream][-1:]}

    return races(program, Clearing)
