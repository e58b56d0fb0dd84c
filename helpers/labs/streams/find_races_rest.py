"""Properties of 06.find_races, last part: edges, random programs, long ones."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from helpers.labs.streams.find_races import find_races
from helpers.labs.streams.find_races_order import no_record
from helpers.labs.streams.find_races_parts import (
    Answer,
    Case,
    asks,
    case,
    differing,
    hold,
    pairs_in,
    sentences,
)
from helpers.labs.streams.happens_before import races
from helpers.labs.streams.programs import kernel
from helpers.labs.streams.programs_drawn import drawn_program, pipeline
from helpers.streams.program import Op
from helpers.trial import Trial

BEFORE_EDGES = tuple(prop.check for prop in find_races.properties if prop.check is not no_record)


launched_again = asks(
    find_races,
    "a kernel that is launched again is another one",
    case("the reading kernel is launched twice", {(0, 1), (0, 2)}, "s1 >x, s2 x>, s2 x>"),
    case(
        "the writing kernel again after the record", {(3, 4)}, "s1 >x, s1 record e, s2 wait e, s1 >x, s2 x>"
    ),
    case(
        "both again after a host_sync", {(0, 1), (1, 3), (3, 4)}, "s1 >x, s2 x>, s1 host_sync, s1 >x, s2 x>"
    ),
    after=BEFORE_EDGES,
)

nothing = asks(
    find_races,
    "nothing races in an empty program, with one kernel, or without any",
    case("an empty program: []", set(), ""),
    case("one kernel that reads and writes x", set(), "s1 x>x"),
    case("no kernel", set(), "s1 record e, s2 wait e, s2 host_sync"),
    case("a host_sync with nothing to wait for", {(0, 2)}, "s1 >x, s3 host_sync, s2 x>"),
    after=BEFORE_EDGES,
)


@find_races.property(
    "durations say nothing: what does not meet in one run may meet in the next", after=BEFORE_EDGES
)
def durations(answer: Answer, trial: Trial) -> None:
    far = kernel("s1", writes="x", duration=1.0), kernel("s2", writes="z", duration=500.0), kernel("s2", "x")
    at_once = kernel("s1", writes="x", duration=0.0), kernel("s2", "x", duration=0.0)
    cases = [
        Case("1 us of work, and far away a read", frozenset({(0, 2)}), far),
        Case("kernels of 0 us", frozenset({(0, 1)}), at_once),
    ]
    hold(answer, trial, cases)


@find_races.property("the races of random programs, as trying all orders finds them", once_right=True)
def random_programs(answer: Answer, trial: Trial) -> None:
    cases = []
    for number in range(100):
        rng = trial.random
        streams, events, memories = rng.randint(2, 4), rng.randint(1, 3), rng.randint(1, 3)
        program = drawn_program(rng, 3 + number // 6, streams=streams, events=events, memories=memories)
        cases.append(Case(f"random program {number}", frozenset(races(program)), tuple(program)))
    hold(answer, trial, cases, observe_all=False)


LONG, LONGEST = 120, 625
"""Rounds of the pipeline: 16 ops each."""
BYTES_AN_OP = 4_000
CALLS = 300


@find_races.property("the memory grows with the length of the program, not with its square", once_right=True)
def memory(answer: Answer, trial: Trial) -> None:
    program = pipeline(LONG)
    trial.given(f"a pipeline of {len(program)} ops, on 4 streams; no race in it")
    try:
        with shallow():
            peak = peak_bytes(answer, program)
    except RecursionError:
        trial.fail(
            f"In a program of {len(program)} ops the answer's calls inside each other become too many: Python stops "
            "at some 1,000. Order goes through the program once, from front to back; keep what is known so far.",
            expected="a loop over the program",
            got="RecursionError",
            observed="recursion",
        )
    trial.true(
        peak <= BYTES_AN_OP * len(program),
        f"For {len(program)} ops the answer held more than {BYTES_AN_OP:,} bytes an op at one time. Does it keep for each "
        "op all that comes before it? With 10,000 ops these are some 50 million entries. On each stream kernels end in "
        "order: the number of those that are over says as much as the list of them.",
        expected=f"less than {BYTES_AN_OP:,} bytes an op; a clock of 4 streams takes some 200",
        got=f"more than {BYTES_AN_OP:,} bytes an op",
        observed="holds too much",
    )


@find_races.property("10,000 ops, among them three places where a wait was forgotten", once_right=True)
def longest(answer: Answer, trial: Trial) -> None:
    forgotten = sorted(trial.random.sample(range(2, LONGEST - 2), 3))
    program = pipeline(LONGEST, forgotten)
    trial.given(
        f"a pipeline of {len(program):,} ops on 4 streams; in rounds {forgotten} compute does not wait for the copy"
    )
    want = races(program)
    found = pairs_in(trial, trial.call(answer, program))
    if found != want:
        missing, extra = differing(want, found)
        trial.fail(
            sentences(program, want, found),
            expected=f"{len(want)} pairs",
            got=f"{len(found)} pairs",
            observed=(len(missing), len(extra)),
        )


@contextmanager
def shallow() -> Iterator[None]:
    """No more than CALLS calls inside each other. Which calls count for Python's own limit differs from version to version."""
    depth, limit, frame = 0, sys.getrecursionlimit(), sys._getframe()
    while frame := frame.f_back:
        depth += 1
    sys.setrecursionlimit(depth + CALLS)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def peak_bytes(answer: Answer, program: Sequence[Op]) -> int:
    """The most memory that the answer held at one time, in bytes of Python objects."""
    ops, was_on = list(program), tracemalloc.is_tracing()
    if not was_on:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        answer(ops)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not was_on:
            tracemalloc.stop()
