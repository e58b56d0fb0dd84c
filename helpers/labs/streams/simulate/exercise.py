"""Exercise 06.simulate: when each kernel of a program runs."""

from __future__ import annotations

import itertools
from dataclasses import replace

from helpers import streams
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.shared.random_programs import drawn_program
from helpers.labs.streams.shown.simulate_device import device_times
from helpers.labs.streams.simulate.schedule import (
    CASES,
    Answer,
    Case,
    asks,
    case,
    given,
    hold,
    text_of,
    timeline,
    times_in,
)
from helpers.notebook.stubs import missing_exercise

simulate = Exercise(
    "06.simulate",
    "A timeline",
    objective="Say when each kernel of a program runs, from the durations and the events alone.",
    minutes=20,
    difficulty="medium",
    core=False,
    prepare=streams.install,
    hints=[
        "Go through the program once, as the host does. When an op is issued, all that it depends on has been issued "
        "before: its start can be computed at once.",
        "Keep one number for each stream: when all that it was given so far is over. One for each event: what that "
        "number was at its last record. One for the host: until when it has waited.",
        "An op is ready at max(its stream's number, the host's). A kernel starts then, and its end is the stream's new "
        "number; a record notes it; a wait raises the stream's number to the event's, if that is larger; a host_sync "
        "makes it the host's.",
    ],
)

WHEN = "When each kernel of a program runs."
LIST = (
    "The result is a list with one tuple (start, end) for each kernel, in microseconds, in the order of the program (not of "
    "time): records, waits and host_syncs have no entry."
)
ZERO = "All begins at 0."
LASTS = "A kernel takes `duration` microseconds (0 or more), and nothing else takes any time."
EARLY = (
    "A kernel begins as early as it may: when its stream is free, when all records are passed that its stream waits for, "
    "and not before the host issued it."
)
PASSED = "A record is passed when its stream gets there."
SIDE_BY_SIDE = "Streams run side by side, however many there are."
LAST_RECORD = "A wait sees the last record of its event issued before it, or does nothing."
HOST = "A host_sync holds the host until `stream` is free; the host's clock never goes back."
LEFT = "The list of ops is left as it is, and no call depends on an earlier one."


_calls = itertools.count()


def _outcome(answer: Answer, each: Case) -> str:
    """The times that the answer gives, or what else it does: other properties judge that."""
    try:
        return text_of(answer(list(each.ops)))
    except Exception as error:
        if missing_exercise(error):
            raise
        return type(error).__name__


@simulate.property("a list of pairs comes back, and the ops are left as they are", asks=(LIST, LEFT))
def kind(answer: Answer, trial: Trial) -> None:
    text = "s1 30, s1 record e, s2 wait e, s2 10, s1 host_sync"
    times_in(answer, trial, [case("a program with an op of each kind", [(0, 30), (30, 40)], text)])
    again = case(
        "one program, given twice",
        [(0, 10), (0, 30), (30, 35), (30, 37)],
        "s2 wait e, s2 10, s1 30, s1 record e, s2 wait e, s2 5, s1 host_sync, s3 7",
    )
    # An event that no call before has seen: what an earlier check left behind spoils nothing.
    number = next(_calls)
    anew = replace(again, ops=tuple(replace(op, event=op.event and f"e.{number}") for op in again.ops))
    first, second = (_outcome(answer, anew) for _ in range(2))
    given(trial, again)
    trial.true(
        first == second,
        "The second call for one program gives something else than the first.",
        expected=f"both times the same; the first gave {first}",
        got=second,
        observed="depends on the call before",
    )


queues = asks(
    simulate,
    "kernels of one stream run one after the other, those of two streams at the same time, from 0 on",
    case("one kernel", [(0, 30)], "s1 30"),
    case("two on one stream", [(0, 30), (30, 40)], "s1 30, s1 10"),
    case("two streams", [(0, 30), (0, 50)], "s1 30, s2 50"),
    case("three on two streams", [(0, 20), (0, 50), (20, 25)], "s1 20, s2 50, s1 5"),
    case(
        "the default stream is one like others", [(0, 20), (0, 50), (20, 50)], "default 20, s1 50, default 30"
    ),
    words=(ZERO, EARLY, SIDE_BY_SIDE),
)

order = asks(
    simulate,
    "the list holds a pair for each kernel, in the order of the program",
    case("the second begins last", [(0, 30), (30, 40), (0, 20)], "s1 30, s1 10, s2 20"),
    case("other ops before", [(0, 30), (0, 10)], "s3 record e, s3 wait e, s3 host_sync, s1 30, s2 10"),
    after=[queues],
    words=LIST,
)

ALONE = (queues, order)

waits = asks(
    simulate,
    "after a wait a stream goes on when it is free and the event's record is passed",
    case(
        "the record is passed later",
        [(0, 30), (0, 10), (30, 50)],
        "s1 30, s1 record e, s2 10, s2 wait e, s2 20",
    ),
    case(
        "two kernels before the record",
        [(0, 30), (30, 40), (40, 45)],
        "s1 30, s1 10, s1 record e, s2 wait e, s2 5",
    ),
    case(
        "the stream is free later",
        [(0, 10), (0, 50), (50, 70)],
        "s1 10, s1 record e, s2 50, s2 wait e, s2 20",
    ),
    case(
        "the record comes before more work",
        [(0, 30), (30, 70), (30, 40)],
        "s1 30, s1 record e, s1 40, s2 wait e, s2 10",
    ),
    case("the record comes before any work", [(0, 30), (0, 10)], "s1 record e, s1 30, s2 wait e, s2 10"),
    case(
        "two streams wait",
        [(0, 30), (30, 40), (30, 35)],
        "s1 30, s1 record e, s2 wait e, s3 wait e, s2 10, s3 5",
    ),
    case(
        "two waits on one stream",
        [(0, 30), (0, 45), (45, 50)],
        "s1 30, s2 45, s1 record e, s2 record f, s3 wait f, s3 wait e, s3 5",
    ),
    case(
        "from stream to stream",
        [(0, 30), (30, 40), (40, 45)],
        "s1 30, s1 record e, s2 wait e, s2 10, s2 record f, s3 wait f, s3 5",
    ),
    case(
        "from stream to stream, without a kernel between",
        [(0, 30), (30, 35)],
        "s1 30, s1 record e, s2 wait e, s2 record f, s3 wait f, s3 5",
    ),
    case("the stream waits for itself", [(0, 30), (30, 40)], "s1 30, s1 record e, s1 wait e, s1 10"),
    words=(EARLY, PASSED),
)

only = asks(
    simulate,
    "a wait holds back nothing but what comes later on its stream",
    case("other streams go on", [(0, 30), (0, 5), (30, 40)], "s1 30, s1 record e, s2 wait e, s3 5, s2 10"),
    case(
        "the recording stream goes on",
        [(0, 10), (0, 40), (40, 45), (10, 15)],
        "s1 10, s1 record e, s2 40, s2 wait e, s2 5, s1 5",
    ),
    case("a stream that is used later", [(0, 30), (0, 7)], "s1 30, s1 record e, s2 wait e, s4 7"),
    case("a record without a wait", [(0, 30), (0, 10)], "s1 30, s1 record e, s2 10"),
    after=ALONE,
    words=(EARLY, SIDE_BY_SIDE),
)

recorded_again = asks(
    simulate,
    "a wait sees the last record issued before it; a later one does not move it",
    case(
        "recorded again before the wait",
        [(0, 10), (10, 40), (40, 45)],
        "s1 10, s1 record e, s1 30, s1 record e, s2 wait e, s2 5",
    ),
    case(
        "recorded again after the wait",
        [(0, 10), (10, 40), (10, 15)],
        "s1 10, s1 record e, s2 wait e, s1 30, s1 record e, s2 5",
    ),
    case(
        "recorded again on another stream, which is free earlier",
        [(0, 40), (0, 10), (10, 15)],
        "s1 40, s1 record e, s3 10, s3 record e, s2 wait e, s2 5",
    ),
    after=ALONE,
    words=LAST_RECORD,
)

synced = asks(
    simulate,
    "what is issued after a host_sync begins when that stream is free, or later",
    case("on another stream", [(0, 30), (30, 40)], "s1 30, s1 host_sync, s2 10"),
    case("on a stream that is free earlier", [(0, 30), (0, 5), (30, 40)], "s1 30, s2 5, s1 host_sync, s2 10"),
    case("on a stream that is free later", [(0, 30), (0, 50), (50, 60)], "s1 30, s2 50, s1 host_sync, s2 10"),
    case(
        "the stream has only waited",
        [(0, 30), (30, 40)],
        "s1 30, s1 record e, s2 wait e, s2 host_sync, s3 10",
    ),
    case(
        "the second one is over at once",
        [(0, 50), (0, 10), (50, 55)],
        "s1 50, s2 10, s1 host_sync, s2 host_sync, s3 5",
    ),
    case("a stream without work", [(0, 30), (0, 10)], "s1 30, s2 host_sync, s3 10"),
    case(
        "a record after it, on a stream without work",
        [(0, 30), (30, 40), (40, 45)],
        "s1 30, s1 host_sync, s2 record e, s3 wait e, s3 10, s3 host_sync, s2 5",
    ),
    once_right=True,
    words=HOST,
)

equal = asks(
    simulate,
    "kernels that are equal Ops are kernels of their own",
    case("the same kernel three times", [(0, 10), (10, 20), (20, 30)], "s1 10, s1 10, s1 10"),
    case(
        "the same kernel on both sides of a wait",
        [(0, 10), (0, 30), (30, 40)],
        "s1 10, s2 30, s2 record e, s1 wait e, s1 10",
    ),
    once_right=True,
    words=LIST,
)

TAKE_NO_TIME = case(
    "a record, a wait and a host_sync whose Ops have a duration, of 7 us",
    [(0, 30), (30, 40), (30, 35)],
    "s1 30, s1 record e, s2 wait e, s2 10, s1 host_sync, s3 5",
)
TAKE_NO_TIME = replace(
    TAKE_NO_TIME,
    ops=tuple(op if op.kind == "kernel" else replace(op, duration=7.0) for op in TAKE_NO_TIME.ops),
)

edges = asks(
    simulate,
    "programs without kernels, waits without a record, kernels of no duration",
    case("an empty program: []", [], ""),
    case("no kernel", [], "s1 record e, s2 wait e, s2 host_sync"),
    case("kernels of 0 us, and of half a microsecond", [(0, 0), (0, 0.5), (0.5, 0.5)], "s1 0, s1 0.5, s1 0"),
    TAKE_NO_TIME,
    once_right=True,
    words=LASTS,
)


@simulate.property(
    "a wait for an event that has no record yet does nothing", asks=LAST_RECORD, after=(*ALONE, waits, only)
)
def no_record(answer: Answer, trial: Trial) -> None:
    for each in NO_RECORD:
        try:
            times_in(answer, trial, [each])
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            if missing_exercise(error):
                raise
            trial.fail(
                f"The answer raised {type(error).__name__}: {error}. A wait for an event without a record is allowed.",
                expected=text_of(each.times),
                got=type(error).__name__,
                observed="raised",
            )
    hold(answer, trial, NO_RECORD)


NO_RECORD = (
    case("the event is never recorded", [(0, 30), (0, 10)], "s1 30, s2 wait e, s2 10"),
    case("the wait stands before the record", [(0, 30), (0, 10)], "s2 wait e, s1 30, s1 record e, s2 10"),
    case(
        "one event is recorded, one is not",
        [(0, 30), (30, 40)],
        "s1 30, s1 record e, s2 wait e, s2 wait f, s2 10",
    ),
)
CASES.extend(NO_RECORD)


@simulate.property("random programs", asks=(WHEN, LEFT), once_right=True)
def random_programs(answer: Answer, trial: Trial) -> None:
    hold(answer, trial, [_drawn(trial, number, 3 + number // 6) for number in range(100)], observe_all=False)


def _drawn(trial: Trial, number: int, length: int) -> Case:
    rng = trial.random
    program = drawn_program(rng, length, streams=rng.randint(2, 4), events=rng.randint(1, 3))
    return Case(f"random program {number}", tuple(timeline(program)), tuple(program))


@simulate.property(
    "the same times as on the simulated device, where each kernel sleeps", asks=WHEN, once_right=True
)
def on_the_device(answer: Answer, trial: Trial) -> None:
    drawn = [_drawn(trial, number, 20) for number in range(5)]
    cases = [replace(each, times=tuple(device_times(each.ops))) for each in drawn]
    hold(answer, trial, cases, observe_all=False)
