"""Programs for streams that do not race, and what is true of any: values in order, times, conflicts."""

from __future__ import annotations

import itertools
import random

from helpers.labs.streams.shared.happens_before import races
from helpers.labs.streams.shared.random_programs import drawn_program
from helpers.labs.streams.shown.programs import host_sync, record, wait
from helpers.streams.program import Op

Values = dict[str, int]


def kernels(program: list[Op]) -> list[int]:
    """The places of the kernels."""
    return [at for at, op in enumerate(program) if op.kind == "kernel"]


def race_free(first_seed: int, count: int, length: int) -> list[list[Op]]:
    """Programs without a race that would race if nothing were recorded, waited for and synchronised."""
    found: list[list[Op]] = []
    for seed in itertools.count(first_seed):
        rng = random.Random(seed)
        program = ordered(rng, drawn_program(rng, length))
        if races([program[place] for place in kernels(program)]):
            found.append(program)
        if len(found) == count:
            break
    return found


def ordered(rng: random.Random, program: list[Op]) -> list[Op]:
    """The program with records, waits and synchronisations put in until no pair races."""
    for _ in range(4 * len(program)):
        found = sorted(races(program))
        if not found:
            return program
        program = _with_order(rng, program, *rng.choice(found))
    raise AssertionError("a race was left after many tries")


def _with_order(rng: random.Random, program: list[Op], first: int, second: int) -> list[Op]:
    """Puts something between two kernels of different streams that orders them.

    An event may be one that the program has: its new record takes away what other waits saw.
    """
    before, after = program[first].stream, program[second].stream
    if rng.random() < 0.2:
        at = rng.randint(first + 1, second)
        return [*program[:at], host_sync(before), *program[at:]]
    event = rng.choice(["e1", "e2", f"new{len(program)}"])
    at, then = sorted(rng.randint(first + 1, second) for _ in range(2))
    return [*program[:at], record(before, event), *program[at:then], wait(after, event), *program[then:]]


def first_values(program: list[Op]) -> Values:
    """What the memories hold before the first op."""
    names = sorted(set().union(*(op.reads | op.writes for op in program)))
    return {name: 1 + at for at, name in enumerate(names)}


def outputs(place: int, op: Op, inputs: list[int]) -> Values:
    """What the kernel at a place of a program writes: it depends on the place, the memory and everything read.

    inputs: what the memories hold that it reads, in order of their names.
    """
    value = 1 + place * 7919
    for weight, given in enumerate(inputs, 3):
        value = (value * 31 + weight * given) % 2147483629
    return {name: value + 104729 * at for at, name in enumerate(sorted(op.writes))}


def sequential_values(program: list[Op]) -> Values:
    """What the memories hold after the ops have run one after the other."""
    values = first_values(program)
    for place in kernels(program):
        op = program[place]
        values |= outputs(place, op, [values[name] for name in sorted(op.reads)])
    return values


def times(program: list[Op], launch: float) -> list[tuple[float, float]]:
    """Start and end of each kernel in microseconds, when every launch keeps the host for so long."""
    host, tails, marks = 0.0, dict[str, float](), dict[str | None, float]()
    found = []
    for op in program:
        tail = tails.get(op.stream, 0.0)
        if op.kind == "kernel":
            host += launch
            start = max(tail, host)
            tails[op.stream] = start + op.duration
            found.append((start, start + op.duration))
        elif op.kind == "record":
            marks[op.event] = max(tail, host)
        elif op.kind == "wait":
            tails[op.stream] = max(tail, marks.get(op.event, 0.0))
        else:
            host = max(host, tail)
    return found
