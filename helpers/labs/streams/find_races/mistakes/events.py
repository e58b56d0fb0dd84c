"""What people write for 06.find_races: what a record marks, and what a wait waits for."""

from __future__ import annotations

from helpers.labs.streams.find_races.compared import Pairs
from helpers.labs.streams.find_races.exercise import NO_RECORD_YET, NOT_MOVED, RECORD, WAIT, find_races
from helpers.labs.streams.shared.happens_before import Access, Clock, HappensBefore, join, races
from helpers.streams.program import Op


@find_races.mistake(breaks=WAIT)
def events_ignored(program: list[Op]) -> Pairs:
    """What stands behind a wait was still reported with what the event marked. Perhaps record and wait
    leave no trace, or a stream looks for a record of its own only.
    """
    return races([op if op.kind != "wait" else Op(op.stream, "record", event="unused") for op in program])


@find_races.variant(events_ignored)
def _(program: list[Op]) -> Pairs:
    class ByStream(HappensBefore):
        """Marks under (stream, event): the waiting stream looks for its own record."""

        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.stream + str(op.event)] = dict(clock)

        def wait(self, op: Op, clock: Clock) -> None:
            join(clock, self.marks.get(op.stream + str(op.event), {}))

    return races(program, ByStream)


@find_races.mistake(breaks=WAIT)
def first_record_wins(program: list[Op]) -> Pairs:
    """After a second record of the event, a wait still goes by the first one. Each record moves the event
    to a new place; a wait sees the last one that was issued before it.
    """

    class First(HappensBefore):
        def record(self, op: Op, clock: Clock) -> None:
            self.marks.setdefault(op.event, dict(clock))

    return races(program, First)


@find_races.mistake(breaks=WAIT)
def records_add_up(program: list[Op]) -> Pairs:
    """What only an older record marked, on a different stream, counts as over. Perhaps the new record was
    added to the old one. It replaces it: what the old one marked is not waited for any more.
    """

    class Adding(HappensBefore):
        def record(self, op: Op, clock: Clock) -> None:
            join(self.marks.setdefault(op.event, {}), clock)

    return races(program, Adding)


@find_races.mistake(breaks=NOT_MOVED)
def event_read_late(program: list[Op]) -> Pairs:
    """A record that was issued after the wait moves it: what this record marks counts as over. Perhaps
    the event was looked up after the program was read, or a record moves those who wait already. A wait takes what the event holds when the
    wait is issued.
    """

    class Late(HappensBefore):
        """Knows from a first pass what each event holds in the end."""

        final: dict[str | None, Clock] = {}

        def wait(self, op: Op, clock: Clock) -> None:
            join(clock, self.final.get(op.event, {}))

    for _ in range(len(program)):  # what an event holds depends on other events: until nothing changes
        Late.final = _marks_at_the_end(program, Late)
    return races(program, Late)


@find_races.variant(event_read_late)
def _(program: list[Op]) -> Pairs:
    final = _marks_at_the_end(program, HappensBefore)

    class Looked(HappensBefore):
        def wait(self, op: Op, clock: Clock) -> None:
            join(clock, final.get(op.event, {}))

    return races(program, Looked)


def _marks_at_the_end(program: list[Op], machine: type[HappensBefore]) -> dict[str | None, Clock]:
    first = machine()
    for index, op in enumerate(program):
        first.issue(index, op)
    return first.marks


@find_races.mistake(breaks=NO_RECORD_YET)
def waits_for_next_record(program: list[Op]) -> Pairs:
    """A wait that stands before any record counts as waiting for the record that comes later. In CUDA it
    does nothing: the stream goes on at once.
    """

    class Patient(HappensBefore):
        def __init__(self) -> None:
            super().__init__()
            self.waiting: dict[str | None, list[Clock]] = {}

        def wait(self, op: Op, clock: Clock) -> None:
            super().wait(op, clock)
            if op.event not in self.marks:
                self.waiting.setdefault(op.event, []).append(clock)

        def record(self, op: Op, clock: Clock) -> None:
            super().record(op, clock)
            for other in self.waiting.pop(op.event, []):
                join(other, clock)

    return races(program, Patient)


@find_races.mistake(breaks=WAIT)
def record_uses_up(program: list[Op]) -> Pairs:
    """The second stream that waits for an event was not held back. Perhaps the first wait takes the
    record away. Any number of streams may wait for one record.
    """

    class Once(HappensBefore):
        def wait(self, op: Op, clock: Clock) -> None:
            join(clock, self.marks.pop(op.event, {}))

    return races(program, Once)


@find_races.mistake(breaks=RECORD)
def clock_not_copied(program: list[Op]) -> Pairs:
    """What the stream was given between the record and the wait counts as over after the wait. Perhaps
    the event holds the stream's clock itself and no copy of it, which goes on with the stream; or the
    wait waits for the stream, as wait_stream does.
    """

    class Alias(HappensBefore):
        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.event] = clock

    return races(program, Alias)


@find_races.variant(clock_not_copied)
def _(program: list[Op]) -> Pairs:
    class WholeStream(HappensBefore):
        """wait_event as wait_stream: what the recording stream has been given until the wait."""

        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.event] = {op.stream: 0}

        def wait(self, op: Op, clock: Clock) -> None:
            for stream in self.marks.get(op.event, {}):
                join(clock, self.clocks[stream])

    return races(program, WholeStream)


@find_races.mistake(breaks=RECORD)
def one_short(program: list[Op]) -> Pairs:
    """The kernel that stands last before the record does not count as over after the wait, and the one
    before that does. Perhaps off by one: with n kernels over, number n is over, too.
    """

    class Short(HappensBefore):
        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.event] = clock | {op.stream: clock.get(op.stream, 0) - 1}

    return races(program, Short)


@find_races.mistake(breaks=RECORD)
def only_the_last_marked(program: list[Op]) -> Pairs:
    """The kernel that stands last before the record counts as over after the wait, those before it do not. Perhaps
    the event holds one kernel, and not all that the stream was given so far: these end before it.
    """

    class Last(HappensBefore):
        def not_over(self, accesses: list[Access], over: int) -> list:
            return [(index, op) for number, index, op in accesses if number != over]

        def conflict(self, memory: str, before: Op, op: Op) -> bool:
            return before.stream != op.stream and super().conflict(memory, before, op)

    return races(program, Last)


@find_races.mistake(breaks=RECORD)
def one_too_many(program: list[Op]) -> Pairs:
    """The first kernel after the record counts as over after the wait, the second one does not. Perhaps
    off by one: the number was raised before the kernel was issued, not with it.
    """

    class Many(HappensBefore):
        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.event] = clock | {op.stream: clock.get(op.stream, 0) + 1}

    return races(program, Many)


@find_races.mistake(breaks=WAIT)
def wait_replaces(program: list[Op]) -> Pairs:
    """At the second wait a stream loses what it had waited for at the first, all of it or a part. Perhaps
    its clock is replaced by the event's, or updated with it. A wait adds: for each stream the larger
    number.
    """

    class Replacing(HappensBefore):
        def wait(self, op: Op, clock: Clock) -> None:
            if op.event in self.marks:
                own = clock.get(op.stream, 0)
                clock.clear()
                clock.update(self.marks[op.event])
                clock[op.stream] = own

    return races(program, Replacing)


@find_races.variant(wait_replaces)
def _(program: list[Op]) -> Pairs:
    class Updating(HappensBefore):
        """`clock.update(mark)`: streams that the mark does not name stay as they were."""

        def wait(self, op: Op, clock: Clock) -> None:
            clock.update(self.marks.get(op.event, {}))

    return races(program, Updating)


@find_races.mistake(breaks=RECORD)
def not_transitive(program: list[Op]) -> Pairs:
    """The order goes over one event, and no further. Perhaps the record carries the number of its own
    stream only. Whoever waits for it has also waited for all that its stream had waited for before: the
    whole clock travels.
    """

    class OwnNumber(HappensBefore):
        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.event] = {op.stream: clock.get(op.stream, 0)}

    return races(program, OwnNumber)
