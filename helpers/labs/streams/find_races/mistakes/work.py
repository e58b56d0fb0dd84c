"""What people write for 06.find_races: right on every small program, hopeless on a long one."""

from __future__ import annotations

from functools import cache, reduce
from operator import or_

from helpers.labs.streams.find_races.compared import Pairs
from helpers.labs.streams.find_races.exercise import MANY, find_races
from helpers.labs.streams.find_races.mistakes.pairs import conflicts
from helpers.streams.program import Op


def comes_after(program: list[Op]) -> list[list[int]]:
    """For each op those that directly stand before it: on its stream, over an event, over the host."""
    last, recorded, synced, before = {}, {}, [], []
    for index, op in enumerate(program):
        edges = [*synced, *([last[op.stream]] if op.stream in last else [])]
        if op.kind == "wait" and op.event in recorded:
            edges.append(recorded[op.event])
        if op.kind == "record":
            recorded[op.event] = index
        if op.kind == "host_sync":
            synced = [index]
        last[op.stream] = index
        before.append(edges)
    return before


@find_races.mistake(breaks=MANY)
def keeps_all_before(program: list[Op]) -> Pairs:
    """The pairs are right, and what is held at one time is too much. Perhaps for each op the set of all
    ops before it was kept: 10,000 sets of up to 10,000 numbers.
    """
    over: list[frozenset[int]] = []
    for index, edges in enumerate(comes_after(program)):
        over.append(frozenset({index}).union(*(over[edge] for edge in edges)))
    everyone: dict[str, set[int]] = {}
    found = set()
    for j, op in enumerate(program):
        near = set().union(*(everyone.get(memory, set()) for memory in op.reads | op.writes)) - over[j]
        found |= {(i, j) for i in near if conflicts(program[i], op)}
        for memory in op.reads | op.writes:
            everyone.setdefault(memory, set()).add(j)
    return found


@find_races.mistake(breaks=MANY)
def recursion(program: list[Op]) -> Pairs:
    """Calls stand inside each other, as many as the program is long, and Python stops at some 1,000.
    Perhaps a function asks the op before, which asks the op before.
    """
    before = comes_after(program)

    @cache
    def over(index: int) -> frozenset[int]:
        return frozenset({index}).union(*(over(edge) for edge in before[index]))

    kernels = [index for index, op in enumerate(program) if op.kind == "kernel"]
    return {
        (i, j)
        for j in reversed(kernels)
        for i in kernels
        if i < j and i not in over(j) and conflicts(program[i], program[j])
    }


@find_races.mistake(breaks=MANY)
def a_bit_for_each_op(program: list[Op]) -> Pairs:
    """In a longer program more is kept for each op. Perhaps a set of all ops before it, as the bits of one number: few bytes
    each in a short program, and the square of its length all the same.
    """
    over: list[int] = []
    for index, edges in enumerate(comes_after(program)):
        over.append(reduce(or_, (over[edge] for edge in edges), 1 << index))
    touching: dict[str, list[int]] = {}
    found = set()
    for j, op in enumerate(program):
        for memory in op.reads | op.writes:
            near = touching.setdefault(memory, [])
            found |= {(i, j) for i in near if not over[j] >> i & 1 and conflicts(program[i], op)}
            near.append(j)
    return found
