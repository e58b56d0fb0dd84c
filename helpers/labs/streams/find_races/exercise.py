"""Exercise 06.find_races: which kernels of a program race."""

from __future__ import annotations

import itertools
import re
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.find_races.compared import (
    CASES,
    Answer,
    Case,
    asks,
    case,
    differing,
    found_in,
    hold,
    no_pair,
    pairs_in,
    sentences,
    still_there,
    text_of,
)
from helpers.labs.streams.shared.happens_before import races
from helpers.labs.streams.shared.random_programs import drawn_program, pipeline
from helpers.labs.streams.shown.programs import kernel, listing, record, written
from helpers.notebook.stubs import missing_exercise
from helpers.streams.program import Op

find_races = Exercise(
    "06.find_races",
    "A race detector",
    objective="Find all pairs of kernels in a program that nothing keeps in order, though they share memory.",
    minutes=45,
    difficulty="hard",
    hints=[
        "Forget time. For each kernel ask: which earlier kernels are certainly over when it begins? On its own stream "
        "all of them. On another stream t: the first so many, because t runs them one after the other. One number a "
        "stream is enough; a dict of such numbers is called a clock.",
        "Keep a clock for each stream (what is over before the next thing on it begins), one for each event, one for "
        "the host. record copies the stream's clock to the event, wait joins the event's clock into the stream's, "
        "host_sync joins the stream's into the host's, and every op first joins the host's into its stream's. To join "
        "is to take the larger number for each stream.",
        "Kernel number n of stream t races with a later one on s, if they conflict and n > clock of s at t. To find all "
        "of them without comparing every pair, keep for each memory and stream the list of (n, index, writes), and walk "
        "it from its end until one is over: all before it are over, too.",
        "for number, earlier, wrote in reversed(touched[memory][stream]): if number <= clock.get(stream, 0): break; "
        "if wrote or memory in op.writes: races.add((earlier, index)). The kernel's own number is "
        "clock[op.stream] = clock.get(op.stream, 0) + 1, so its own stream gives nothing.",
    ],
)


PAIRS = "All pairs of kernels in `program` that race."
SET = "The result is a set of (i, j), indices into `program`, i < j: each racing pair once, all of them."
LEFT = "The program is left as it is, and no call depends on an earlier one."
RACE = (
    "Two kernels race if one of them writes memory that the other reads or writes, and nothing makes the later one wait for "
    "the earlier one."
)
STREAM = "A stream runs its kernels one after the other, in order of issue."
DEFAULT = 'No stream is special, "default" neither.'
RECORD = "A record marks all that its stream was given so far, and what that had waited for in its turn."
WAIT = (
    "A wait lets what its stream is given later wait for all that the last record of its event marks, of those issued before "
    "the wait."
)
NO_RECORD_YET = "Without such a record it does nothing."
NOT_MOVED = "A later record does not move an earlier wait."
HOST = (
    "A host_sync lets all that is issued later, on any stream, wait for what its stream was given so far, which may be nothing, "
    "and for what that had waited for."
)
DURATIONS = "Durations say nothing: what does not meet in one run may meet in the next."
TWICE = "Two launches of one kernel are equal Ops, and two kernels all the same."
MANY = "10,000 ops, 3,000 of them kernels, take 5 seconds at most, and memory that grows with their number, not with its square."


# What comes back, and what a call leaves behind: that spoils everything else, and is found first.

_calls = itertools.count()
FROM_CALL_TO_CALL = (
    ("kernels and pairs", "s1 >x, s2 x>", "s1 >x, s1 x>"),
    ("records", "s1 >x, s1 record e, s2 wait e, s2 x>", "s2 wait e, s1 >x, s2 x>"),
    ("host_syncs", "s1 >x, s1 host_sync, s2 x>", "s1 >x, s2 x>"),
)


@find_races.property("a set of pairs of indices comes back", asks=SET)
def kind(answer: Answer, trial: Trial) -> None:
    found_in(answer, trial, [case("one race", {(0, 1)}, "s1 >x, s2 x>")])


@find_races.property("each call begins anew, and leaves the program as it is", asks=LEFT)
def alone(answer: Answer, trial: Trial) -> None:
    kept = []
    for what, between, text in FROM_CALL_TO_CALL:
        number = next(_calls)
        first, _, again = (_outcome(answer, trial, each, number) for each in (text, between, text))
        if first != again:
            kept.append((what, between, text, first, again))
    if kept:
        _, between, text, first, again = kept[0]
        trial.given(
            f"this program twice:\n{listing(written(text))}\nand between the two this one:\n{listing(written(between))}"
        )
        trial.fail(
            "The second call for one program gives something else than the first.",
            expected=f"both times the same; the first gave {first}",
            got=again,
            observed=[what for what, *_ in kept],
        )


def _outcome(answer: Answer, trial: Trial, text: str, number: int) -> str:
    """The pairs that the answer finds, or what else it does. Their indices are those of `text`.

    The names, and how far back the program stands, are those of `number`: what an earlier check left behind spoils nothing.
    """
    idle = [Op(f"idle.{number}", "record", event=f"idle.{number}")] * (1 + number % 60)
    ops = idle + [
        replace(
            op,
            stream=f"{op.stream}.{number}",
            event=op.event and f"{op.event}.{number}",
            reads=frozenset(f"{name}.{number}" for name in op.reads),
            writes=frozenset(f"{name}.{number}" for name in op.writes),
        )
        for op in written(text)
    ]
    program = list(ops)
    try:
        got = answer(program)
    except Exception as error:
        if missing_exercise(error):
            raise
        return type(error).__name__
    trial.given(text)
    still_there(trial, program, ops)
    if not isinstance(got, set | frozenset) or any(map(no_pair, got)):
        return f"something of type {type(got).__name__}"
    return text_of({(int(i) - len(idle), int(j) - len(idle)) for i, j in got})


two_streams = asks(
    find_races,
    "two kernels on two streams, each reads what the other writes: a set with their pair",
    case("nothing between them", {(0, 1)}, "s1 y>xz, s2 x>yz"),
    case("a kernel before them that touches nothing of theirs", {(1, 2)}, "s1 >w, s1 y>xz, s2 x>yz"),
    words=(PAIRS, RACE),
    after=[alone],
)

conflicts = asks(
    find_races,
    "two kernels race if one of them writes what the other reads or writes",
    case("a write, then a read", {(0, 1)}, "s1 >x, s2 x>"),
    case("a read, then a write", {(0, 1)}, "s1 x>, s2 >x"),
    case("two writes", {(0, 1)}, "s1 >x, s2 >x"),
    case("two reads", set(), "s1 x>, s2 x>"),
    case("two reads of x, and writes elsewhere", set(), "s1 x>y, s2 x>z"),
    case("nothing in common", set(), "s1 x>y, s2 z>w"),
    case("edited in place, then read", {(0, 1)}, "s1 x>x, s2 x>y"),
    case("read, then edited in place", {(0, 1)}, "s1 x>y, s2 x>x"),
    case("two conflicts in one pair", {(0, 1)}, "s1 xz>y, s2 yz>x"),
    case("the second of two names", {(0, 1)}, "s1 z>xy, s2 wy>u"),
    words=RACE,
    after=[alone, two_streams],
)

same_stream = asks(
    find_races,
    "kernels of one stream never race",
    case("a write and a read", set(), "s1 >x, s1 x>"),
    case("edited in place twice", set(), "s2 x>x, s2 x>x again"),
    case("another stream between", {(1, 3)}, "s1 x>y, s2 >z, s1 y>x, s1 z>y"),
    words=STREAM,
    after=[alone, two_streams],
)

all_pairs = asks(
    find_races,
    "all pairs are found, not only the first or the nearest",
    case("three streams write x", {(0, 1), (0, 2), (1, 2)}, "s1 >x, s2 >x, s3 >x"),
    case("one stream writes x twice, another reads it", {(0, 2), (1, 2)}, "s1 >x, s1 >x again, s2 x>"),
    case("a write, two reads, a write", {(0, 1), (0, 2), (1, 3), (2, 3)}, "s1 >x, s2 x>, s3 x>, s1 >x again"),
    case("a read between two writes", {(0, 1), (0, 2), (1, 2)}, "s1 >x, s2 x>, s3 >x"),
    words=SET,
    after=[alone, two_streams],
)

indices = asks(
    find_races,
    "a pair holds indices into the program, where records and waits count, too",
    case(
        "an event that is of no use stands first",
        {(3, 5)},
        "s3 record e, s2 wait e, s3 host_sync, s1 >x, s1 record f, s2 x>",
    ),
    words=SET,
    after=[alone, two_streams],
)

RACES = (alone, two_streams, conflicts, same_stream, all_pairs, indices)

event = asks(
    find_races,
    "after a wait a stream goes on when all is over that the event marked",
    case("kernel, record, wait, kernel", set(), "s1 >x, s1 record e, s2 wait e, s2 x>"),
    case("two streams wait for one event", set(), "s1 >x, s1 record e, s2 wait e, s3 wait e, s2 x>, s3 x>"),
    case(
        "the default stream waits, as any other does",
        set(),
        "s2 x>y, s2 record e, default wait e, default >x",
    ),
    case("two kernels marked, two that waited", set(), "s1 >x, s1 >y, s1 record e, s2 wait e, s2 y>z, s2 x>"),
    case("the first one marked is read first", set(), "s1 >x, s1 >y, s1 record e, s2 wait e, s2 x>z, s2 y>"),
    words=(WAIT, RECORD),
    after=RACES,
)

event_only = asks(
    find_races,
    "an event orders what stands before its record and what stands after the wait, nothing else",
    case("the record stands before the work", {(1, 3)}, "s1 record e, s1 >x, s2 wait e, s2 x>"),
    case("more work after the record", {(2, 4)}, "s1 >x, s1 record e, s1 >x again, s2 wait e, s2 x>"),
    case("more work after the wait", {(3, 4)}, "s1 >x, s1 record e, s2 wait e, s1 >x again, s2 x>"),
    case("two kernels after the wait", {(2, 4), (3, 4)}, "s1 record e, s2 wait e, s1 >x, s1 >x again, s2 x>"),
    case(
        "a read before the wait, one after it", {(0, 1)}, "s1 >x, s2 x> early, s1 record e, s2 wait e, s2 x>"
    ),
    case("another stream waits", {(0, 3)}, "s1 >x, s1 record e, s3 wait e, s2 x>"),
    case("the recording stream waits for nobody", {(3, 4)}, "s1 >x, s1 record e, s2 wait e, s2 x>y, s1 y>z"),
    case("nor for what the waiting stream did before", {(0, 3)}, "s2 >y, s1 record e, s2 wait e, s1 y>"),
    case("a record without a wait", {(0, 2)}, "s1 >x, s1 record e, s2 x>"),
    case("the stream waits for itself", {(0, 3)}, "s1 >x, s2 record e, s2 wait e, s2 x>"),
    case("the default stream waits for nobody", {(0, 1), (1, 2)}, "s1 >x, default x>y, s2 y>"),
    words=(WAIT, RECORD, DEFAULT),
    after=RACES,
)


# Events recorded again, chains of events, the host.


recorded_again = asks(
    find_races,
    "a wait sees the last record issued before it; a later one does not move it",
    case(
        "recorded again before the wait",
        set(),
        "s1 >x, s1 record e, s1 >x again, s1 record e, s2 wait e, s2 x>",
    ),
    case("recorded again after the wait", {(2, 4)}, "s1 record e, s2 wait e, s1 >x, s1 record e, s2 x>"),
    case(
        "recorded again on another stream",
        {(0, 5)},
        "s1 >x, s1 record e, s3 >y, s3 record e, s2 wait e, s2 xy>",
    ),
    case(
        "a wait before the second record, another after it",
        {(3, 6)},
        "s1 >x, s1 record e, s2 wait e, s1 >y, s1 record e, s3 wait e, s2 xy>, s3 xy>",
    ),
    words=(WAIT, NOT_MOVED),
    after=RACES,
)

transitive = asks(
    find_races,
    "order goes on from event to event",
    case("s1 to s2 to s3", set(), "s1 >x, s1 record e, s2 wait e, s2 x>y, s2 record f, s3 wait f, s3 xy>z"),
    case("no kernel on s2", set(), "s1 >x, s1 record e, s2 wait e, s2 record f, s3 wait f, s3 x>"),
    case(
        "s1 to s2, back to s1, to s3",
        set(),
        "s1 >x, s1 record e, s2 wait e, s2 x>y, s2 record f, s1 wait f, s1 record g, s3 wait g, s3 y>x",
    ),
    case(
        "s2 hears of s1 after its own record",
        {(0, 6)},
        "s1 >x, s1 record e, s2 >y, s2 record f, s2 wait e, s3 wait f, s3 xy>",
    ),
    words=RECORD,
    after=RACES,
)

adds = asks(
    find_races,
    "a wait adds to what the stream knows already",
    case(
        "s2 waits for s1 and for s3",
        set(),
        "s1 >x, s3 >y, s1 record e, s3 record f, s2 wait e, s2 wait f, s2 xy>",
    ),
    case(
        "first for the later record, then for the earlier one",
        set(),
        "s1 >x, s1 record e, s1 >x again, s1 record f, s2 wait f, s2 wait e, s2 x>",
    ),
    case(
        "s2 goes on and waits again",
        {(3, 6)},
        "s1 >x, s1 record e, s2 wait e, s3 >y, s2 x>, s2 wait e, s2 xy>",
    ),
    words=(WAIT, RECORD),
    after=RACES,
)

synced = asks(
    find_races,
    "what is issued after a host_sync comes after all that it waited for, on every stream",
    case("a stream that was used before", set(), "s2 >y, s1 >x, s1 host_sync, s2 x>"),
    case("a stream that is new", set(), "s1 >x, s1 host_sync, s2 x>"),
    case("a record and a wait stand after it", set(), "s1 >x, s1 host_sync, s3 record e, s2 wait e, s2 x>"),
    case(
        "the stream had waited for another one", set(), "s1 >x, s1 record e, s2 wait e, s2 host_sync, s3 x>"
    ),
    case("each stream in turn", set(), "s1 >x, s2 >y, s1 host_sync, s2 host_sync, s3 xy>"),
    words=HOST,
    once_right=True,
)

synced_only = asks(
    find_races,
    "a host_sync waits for its stream alone, and holds back only what is issued later",
    case("for another stream", {(0, 3)}, "s1 >x, s3 >y, s3 host_sync, s2 xy>"),
    case("one read before it, one after it", {(0, 1)}, "s1 >x, s2 x> early, s1 host_sync, s2 x>"),
    case("more work after it", {(2, 3)}, "s1 >x, s1 host_sync, s1 >x again, s2 x>"),
    case(
        "a wait for an older record",
        {(2, 5)},
        "s3 record e, s2 host_sync, s1 >x, s2 wait e, s2 host_sync, s2 x>",
    ),
    words=HOST,
    once_right=True,
)

NO_RECORD = (
    case("the event is never recorded", {(1, 2)}, "s2 wait e, s1 >x, s2 x>"),
    case("the wait stands before the record", {(1, 3)}, "s2 wait e, s1 >x, s1 record e, s2 x>"),
    case("one event is recorded, one is not", set(), "s1 >x, s1 record e, s2 wait e, s2 wait f, s2 x>"),
)


@find_races.property(
    "a wait for an event that has no record yet does nothing",
    asks=NO_RECORD_YET,
    after=(*RACES, event, event_only),
)
def no_record(answer: Answer, trial: Trial) -> None:
    for each in NO_RECORD:
        try:
            found_in(answer, trial, [each])
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            if missing_exercise(error):
                raise
            trial.fail(
                f"The answer raised {type(error).__name__}: {error}. A wait for an event without a record is allowed.",
                expected="nothing happens: the stream goes on at once",
                got=type(error).__name__,
                observed="raised",
            )
    hold(answer, trial, NO_RECORD)


CASES.extend(NO_RECORD)


# Edges, random programs, long ones.


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
    words=TWICE,
    after=BEFORE_EDGES,
)

nothing = asks(
    find_races,
    "nothing races in an empty program, with one kernel, or without any",
    case("an empty program: []", set(), ""),
    case("one kernel that reads and writes x", set(), "s1 x>x"),
    case("no kernel", set(), "s1 record e, s2 wait e, s2 host_sync"),
    case("a host_sync with nothing to wait for", {(0, 2)}, "s1 >x, s3 host_sync, s2 x>"),
    words=PAIRS,
    after=BEFORE_EDGES,
)


@find_races.property(
    "durations say nothing: what does not meet in one run may meet in the next",
    asks=DURATIONS,
    after=BEFORE_EDGES,
)
def durations(answer: Answer, trial: Trial) -> None:
    far = kernel("s1", writes="x", duration=1.0), kernel("s2", writes="z", duration=500.0), kernel("s2", "x")
    at_once = kernel("s1", writes="x", duration=0.0), kernel("s2", "x", duration=0.0)
    cases = [
        Case("1 us of work, and far away a read", frozenset({(0, 2)}), far),
        Case("kernels of 0 us", frozenset({(0, 1)}), at_once),
    ]
    hold(answer, trial, cases)


@find_races.property(
    "the races of random programs, as trying all orders finds them", asks=PAIRS, once_right=True
)
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
FEW_OPS, MANY_OPS = 2_000, 16_000  # eight times as many: tables and lists are as full then as before
BYTES_AN_OP = 4_000
CALLS = 300


@find_races.property(
    "the memory grows with the length of the program, not with its square", asks=MANY, once_right=True
)
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


@find_races.property("the memory of each op is the same in a longer program", asks=MANY, once_right=True)
def memory_of_longer(answer: Answer, trial: Trial) -> None:
    trial.given(f"pipelines of {FEW_OPS:,} and of {MANY_OPS:,} ops, on 4 streams; no race in them")
    few, many = (peak_bytes(answer, in_parts(count // 16)) / count for count in (FEW_OPS, MANY_OPS))
    trial.true(
        many <= 1.5 * few + 200,
        "In the longer program the answer holds more for each op. Is there something that is kept for each op and grows "
        "with all that stand before it, such as a set of them, or a bit for each? A number for each stream says as much.",
        expected=f"about as many bytes an op for {MANY_OPS:,} ops as for {FEW_OPS:,}",
        got="more than one and a half times as many",
        observed="more for each op in a longer program",
    )


def in_parts(rounds: int) -> list[Op]:
    """The pipeline with four events for the saved weights, and kernels in every eighth round only: what is kept for each
    event stays small, and who compares all kernels has few."""
    program = []
    for place, op in enumerate(pipeline(rounds)):
        if op.kind == "kernel" and place // 16 % 8:
            op = record(op.stream, "idle")
        event = op.event and re.sub(r"saved(-?\d+)", lambda found: f"saved{int(found[1]) % 4}", op.event)
        program.append(replace(op, event=event))
    return program


@find_races.property(
    "10,000 ops, among them three places where a wait was forgotten", asks=MANY, once_right=True
)
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
