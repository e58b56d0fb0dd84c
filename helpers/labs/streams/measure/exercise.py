"""Exercise 06.measure: what a call takes on the device, and not what its launch takes on the host."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from helpers import streams
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.measure.inputs import (
    ALLOWED,
    ROUNDED,
    Work,
    in_words,
    kind_of_list,
    kind_of_readings,
    unit_of,
)
from helpers.streams import threads

measure = Exercise(
    "06.measure",
    "A clock for the device",
    objective="Time what is queued on a stream: each call on its own, without the warm-up and without earlier work.",
    minutes=20,
    difficulty="easy",
    prepare=streams.install,
    hints=[
        "fn() returns when its kernels are queued, not when they are over. Who has to wait for whom before you read "
        "the clock for the second time? And before you read it for the first time?",
        "One reading: stream.synchronize(), read the clock, fn(), stream.synchronize(), read the clock. The first "
        "synchronisation keeps out what was queued before: the warm-up, and work of others.",
        "Two loops: one of `warmup` calls without a clock, one of `repeats` calls with it. The clock gives seconds, "
        "and milliseconds are wanted.",
        "Or with events: stream.record_event(before), fn(), stream.record_event(after) for each call, each event made "
        "by type(stream.record_event())(enable_timing=True), the class that belongs to the stream; "
        "stream.synchronize() once at the end; then before.elapsed_time(after), in ms.",
    ],
)

RESULT = "What each of `repeats` calls of fn takes on `stream`: floats, in milliseconds, in order."
CALLS = "fn is called warmup + repeats times; the first `warmup` calls are not in the list."
EARLIER = "Work that was queued on `stream` before is in no reading."
OTHERS = "Work on other streams is in none either, also what fn queues there."
TIME = "The time comes from `clock`, or from two timing events on `stream`."
KINDS = (
    "Any kind of stream is right: use the methods of `stream`, and make events of the class that belongs to it, "
    "type(stream.record_event())(enable_timing=True)."
)
THREADS = "The next cells have threads."
LAUNCHES = "A reading may be up to 0.1 ms more than that, for the launches of its call."


def readings(
    answer: Callable[..., Any], trial: Trial, work: Work, *, warmup: int, repeats: int
) -> list[float]:
    """What the answer returns for this work. Its clock does not begin at 0, as a real one does not."""
    return trial.call(
        answer, work, work.stream, warmup=warmup, repeats=repeats, clock=lambda: work.reads_clock() + 1000.0
    )


def compare(trial: Trial, work: Work, got: Sequence[float], want: Sequence[float], **others: Any) -> None:
    """Fails unless each reading is the device's time of its call, or a little more."""
    if len(got) == len(want) and all(
        -ROUNDED <= value - own <= ALLOWED for value, own in zip(got, want, strict=True)
    ):
        return
    kind = kind_of_readings(got, want, tiny=work.tiny(), **others)
    trial.fail(
        f"The readings are not what the calls take on the stream: {in_words(kind)}.",
        expected=f"{[round(ms, 3) for ms in want]} ms, each with up to {ALLOWED:g} ms more for the launches",
        got=f"{[round(ms, 6) for ms in got]}",
        observed=kind if kind != "something else" else (kind, [float(ms) for ms in got]),
    )


@measure.property("returns a list with one number for each of the `repeats` calls", asks=RESULT)
def listed(answer: Any, trial: Trial) -> None:
    trial.given("fn queues a kernel of some milliseconds on a side stream; warmup=2, repeats=4")
    streams.reset()
    work = Work(trial, streams.Stream(), (2, 3, 7, 13, 27, 55))
    got = readings(answer, trial, work, warmup=2, repeats=4)
    kind = kind_of_list(got, 4, work.ms, work.ms[2:])
    trial.true(
        not kind,
        f"Expected a list of 4 floats, got {kind}.",
        expected="a list of 4 floats: the readings in milliseconds, in the order of the calls",
        got=got,
        observed=kind,
    )


@measure.property("fn is called warmup + repeats times", asks=CALLS, after=(listed,))
def counted(answer: Any, trial: Trial) -> None:
    found = []
    for warmup, repeats in ((0, 1), (2, 4), (5, 2)):
        streams.reset()
        work = Work(trial, streams.Stream(), (1,) * 20)
        readings(answer, trial, work, warmup=warmup, repeats=repeats)
        found.append((warmup, repeats, work.calls))
    for warmup, repeats, calls in found:
        trial.given(f"warmup={warmup}, repeats={repeats}")
        trial.true(
            calls == warmup + repeats,
            f"fn was called {calls} times, not {warmup} + {repeats}. Who measures pays for each call, and it may "
            "change what it works on.",
            expected=warmup + repeats,
            got=calls,
            observed=found,
        )
    trial.given("measure called twice with one fn; warmup=2, repeats=3 each time")
    streams.reset()
    work = Work(trial, streams.Stream(), (1,) * 20)
    readings(answer, trial, work, warmup=2, repeats=3)
    first, work.calls = work.calls, 0
    readings(answer, trial, work, warmup=2, repeats=3)
    trial.true(
        work.calls == first,
        f"fn was called {first} times by the first measure, and {work.calls} times by the second. No call of measure "
        "depends on an earlier one.",
        expected=first,
        got=work.calls,
        observed=("second measure", work.calls - first),
    )


@measure.property("reads the clock that it is given, or events of the stream", asks=TIME, after=(listed,))
def timed(answer: Any, trial: Trial) -> None:
    trial.given("a clock of its own; fn queues a kernel of some milliseconds; warmup=0, repeats=2")
    streams.reset()
    work = Work(trial, streams.Stream(), (2, 3))
    readings(answer, trial, work, warmup=0, repeats=2)
    trial.true(
        work.clock_reads > 0 or work.records() > 0,
        "The answer neither calls `clock` nor records events. It reads a different clock, and that one knows nothing of "
        "this device: here time is simulated.",
        expected="clock() before and after each call, or two timing events around it",
        got="no call of clock, no event recorded",
        observed="no clock",
    )


@measure.property("the readings are milliseconds", asks=RESULT, after=(listed, counted, timed))
def milliseconds(answer: Any, trial: Trial) -> None:
    trial.given("an idle side stream; fn queues a kernel of some milliseconds there; warmup=0, repeats=3")
    streams.reset()
    work = Work(trial, streams.Stream(), (2, 3, 7))
    got = readings(answer, trial, work, warmup=0, repeats=3)
    if unit := unit_of(got, work.ms):
        trial.fail(
            f"The readings are {unit}, not milliseconds.",
            expected=f"{[round(ms, 3) for ms in work.ms]} ms",
            got=f"{[float(ms) for ms in got]}",
            observed=unit,
        )


VALID = (listed, counted, timed, milliseconds)


@measure.property("each reading is the device's time of its own call", asks=(RESULT, LAUNCHES), after=VALID)
def own(answer: Any, trial: Trial) -> None:
    trial.given(
        "an idle side stream; each call of fn queues two kernels there, longer ones each time in a different order; "
        "warmup=0, repeats=4"
    )
    streams.reset()
    work = Work(trial, streams.Stream(), (2, 3, 7, 13), kernels=2)
    got = readings(answer, trial, work, warmup=0, repeats=4)
    compare(trial, work, got, work.ms)
    trial.given("an idle side stream; the one call of fn queues a kernel of some 400 ms; warmup=0, repeats=1")
    streams.reset()
    work = Work(trial, streams.Stream(), (300,))
    (got,), (want,) = readings(answer, trial, work, warmup=0, repeats=1), work.ms
    trial.true(
        -ROUNDED <= got - want <= ALLOWED,
        f"The reading of a long call is {abs(got - want):.2g} ms {'above' if got > want else 'below'} its time; those of short "
        "calls are right.",
        expected=f"{want:.3f} ms, with up to {ALLOWED:g} ms more for the launches",
        got=f"{got:.3f} ms",
        observed="a long call",
    )


@measure.property("right, too, when the stream is the current one", asks=RESULT, after=VALID)
def current(answer: Any, trial: Trial) -> None:
    trial.given("stream is the current stream, and idle; warmup=0, repeats=3")
    streams.reset()
    work = Work(trial, streams.current_stream(), (2, 3, 7))
    got = readings(answer, trial, work, warmup=0, repeats=3)
    compare(trial, work, got, work.ms)


@measure.property("no call of the warm-up is in a reading, and no slow first call", asks=CALLS, after=VALID)
def warmed(answer: Any, trial: Trial) -> None:
    trial.given("the first call of fn keeps the host busy for 400 ms; warmup=2, repeats=3")
    streams.reset()
    work = Work(trial, streams.Stream(), (2, 3, 7, 13, 27), first_call=400.0)
    got = readings(answer, trial, work, warmup=2, repeats=3)
    compare(trial, work, got, work.ms[2:], calls=work.ms, first_call=400.0)


@measure.property("work that was queued on the stream before is in no reading", asks=EARLIER, after=VALID)
def earlier(answer: Any, trial: Trial) -> None:
    trial.given("a kernel of 50 ms is on its way on the stream when measure is called; warmup=0, repeats=3")
    streams.reset()
    work = Work(trial, streams.Stream(), (2, 3, 7))
    with streams.stream(work.stream):
        streams.sleep(50.0)
    got = readings(answer, trial, work, warmup=0, repeats=3)
    compare(trial, work, got, work.ms, before=50.0)


@measure.property(
    "work on other streams is in no reading", asks=OTHERS, after=(*VALID, own, current, warmed, earlier)
)
def others(answer: Any, trial: Trial) -> None:
    for before, given in (
        (60.0, "a kernel of 60 ms is on its way on a different stream when measure is called"),
        (0.0, "each call of fn also queues a kernel of 40 ms on a different stream"),
    ):
        trial.given(f"{given}; warmup=1, repeats=3")
        streams.reset()
        other = streams.Stream()
        work = Work(trial, streams.Stream(), (2, 3, 7, 13), other=None if before else other)
        with streams.stream(other):
            if before:
                streams.sleep(before)
        got = readings(answer, trial, work, warmup=1, repeats=3)
        compare(trial, work, got, work.ms[1:], elsewhere=True)


@measure.property(
    "right, too, on a stream of a different kind: a thread",
    asks=(KINDS, THREADS),
    after=(*VALID, own, current, warmed, earlier, others),
)
def of_another_kind(answer: Any, trial: Trial) -> None:
    trial.given(
        "a stream of helpers.streams.threads; each call of fn sleeps 5 ms there; clock=time.perf_counter, warmup=1, repeats=2"
    )
    side = threads.Stream(name="thread")

    def fn() -> None:
        with threads.stream(side):
            threads.sleep(5.0)

    try:
        got = answer(fn, side, warmup=1, repeats=2, clock=time.perf_counter)
    except NotImplementedError:
        raise
    except Exception as error:
        trial.fail(
            f"On a stream of a different kind the answer raises {type(error).__name__}: {error}",
            expected="two readings of 5 ms or more",
            got=type(error).__name__,
            observed=("raised", type(error).__name__),
        )
    finally:
        threads.shutdown()
    trial.true(
        len(got) == 2 and min(got) > 4.5,
        "On a stream of a different kind the readings are less than its work takes.",
        expected="two readings of 5 ms or more",
        got=f"{[float(ms) for ms in got]}",
        observed=("short", len(got)),
    )
