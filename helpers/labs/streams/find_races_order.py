"""Properties of 06.find_races, second part: events recorded again, chains of events, the host."""

from __future__ import annotations

from helpers.labs.streams.find_races import RACES, event, event_only, find_races
from helpers.labs.streams.find_races_parts import CASES, Answer, asks, case, found_in, hold
from helpers.trial import Trial
from helpers.waits import missing_exercise

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
    once_right=True,
)

NO_RECORD = (
    case("the event is never recorded", {(1, 2)}, "s2 wait e, s1 >x, s2 x>"),
    case("the wait stands before the record", {(1, 3)}, "s2 wait e, s1 >x, s1 record e, s2 x>"),
    case("one event is recorded, one is not", set(), "s1 >x, s1 record e, s2 wait e, s2 wait f, s2 x>"),
)


@find_races.property(
    "a wait for an event that has no record yet does nothing", after=(*RACES, event, event_only)
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
