"""What people write for 06.find_races: how far a wait or a synchronisation of the host reaches."""

from __future__ import annotations

from helpers.labs.streams.find_races.compared import Pairs
from helpers.labs.streams.find_races.exercise import DEFAULT, NO_RECORD_YET, RECORD, WAIT, find_races
from helpers.labs.streams.shared.happens_before import Clock, HappensBefore, join, races
from helpers.streams.program import Op


class Everywhere(HappensBefore):
    """Can make everything that was issued over for everything that comes."""

    def all_is_over(self) -> None:
        for clock in self.clocks.values():
            join(self.host, clock)


@find_races.mistake(breaks=WAIT)
def wait_is_barrier(program: list[Op]) -> Pairs:
    """After a wait all that was issued before it counts as over, also what the event does not mark.
    Perhaps it was taken for a barrier. It concerns one stream, and what one record marked.
    """

    class Barrier(Everywhere):
        def wait(self, op: Op, clock: Clock) -> None:
            self.all_is_over()
            join(clock, self.host)

    return races(program, Barrier)


@find_races.variant(wait_is_barrier)
def _(program: list[Op]) -> Pairs:
    class OnceRecorded(Everywhere):
        def wait(self, op: Op, clock: Clock) -> None:
            if op.event in self.marks:
                self.all_is_over()
                join(clock, self.host)

    return races(program, OnceRecorded)


@find_races.mistake(breaks=RECORD)
def record_is_barrier(program: list[Op]) -> Pairs:
    """A race is missing where a record, a wait and a host_sync stand in the program that order neither
    kernel. Perhaps a record was taken for the end of what it marks. It makes nobody wait, until a stream
    waits for its event.
    """

    class Barrier(Everywhere):
        def record(self, op: Op, clock: Clock) -> None:
            super().record(op, clock)
            join(self.host, clock)

    return races(program, Barrier)


@find_races.mistake(breaks=WAIT)
def wait_stops_host(program: list[Op]) -> Pairs:
    """A stream that waits for nothing counts as held back where a different stream waits for the event.
    Perhaps wait_event was taken for event.synchronize(): it holds back one stream, and the host goes on
    issuing to the others.
    """

    class Blocking(HappensBefore):
        def wait(self, op: Op, clock: Clock) -> None:
            super().wait(op, clock)
            join(self.host, self.marks.get(op.event, {}))

    return races(program, Blocking)


@find_races.mistake(breaks=WAIT)
def both_streams_wait(program: list[Op]) -> Pairs:
    """What the waiting stream did before its wait counts as over for the stream that recorded. Perhaps
    the two were taken to meet at the event. Only the waiting one waits: the one that recorded goes on,
    and knows nothing of the other.
    """

    class Meeting(HappensBefore):
        def __init__(self) -> None:
            super().__init__()
            self.recorder: dict[str | None, str] = {}

        def record(self, op: Op, clock: Clock) -> None:
            super().record(op, clock)
            self.recorder[op.event] = op.stream

        def wait(self, op: Op, clock: Clock) -> None:
            super().wait(op, clock)
            if op.event in self.recorder:
                join(self.clocks[self.recorder[op.event]], clock)

    return races(program, Meeting)


@find_races.mistake(breaks=WAIT)
def next_kernel_only(program: list[Op]) -> Pairs:
    """The first kernel behind the wait was held back, the second one was not. It comes after the first,
    so it comes after the event as well. Perhaps the wait is used up by one kernel.
    """

    class OneKernel(HappensBefore):
        def __init__(self) -> None:
            super().__init__()
            self.pending: dict[str, Clock] = {}

        def wait(self, op: Op, clock: Clock) -> None:
            join(self.pending.setdefault(op.stream, {}), self.marks.get(op.event, {}))

        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.event] = dict(clock)
            join(self.marks[op.event], self.pending.get(op.stream, {}))

        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            with_pending = dict(clock)
            join(with_pending, self.pending.pop(op.stream, {}))
            super().kernel(index, op, with_pending)
            clock[op.stream] = with_pending[op.stream]

    return races(program, OneKernel)


@find_races.mistake(breaks=WAIT)
def wait_reaches_back(program: list[Op]) -> Pairs:
    """The race with a kernel that stands on the waiting stream before its wait is missing. Perhaps
    streams were put in order as a whole. What was issued before the wait waits for nothing.
    """
    found = set()
    for i, j in races(program):
        stream, marked, awaited = program[j].stream, set(), set()
        for index, op in enumerate(program):
            if op.kind == "record" and op.stream == program[i].stream and index > i:
                marked.add(op.event)
            elif op.kind == "wait" and op.stream == stream and op.event in marked:
                awaited.add(op.event)
        if not awaited:
            found.add((i, j))
    return found


@find_races.mistake(breaks=RECORD)
def from_kernel_to_kernel(program: list[Op]) -> Pairs:
    """The order is lost where a stream waits and then records, without a kernel between. Perhaps record
    and wait were tied to the kernels next to them. A stream may hand on what it has waited for, without
    one of its own.
    """

    class Tied(HappensBefore):
        """What a stream has waited for counts from its next kernel on."""

        def __init__(self) -> None:
            super().__init__()
            self.pending: dict[str, Clock] = {}

        def wait(self, op: Op, clock: Clock) -> None:
            join(self.pending.setdefault(op.stream, {}), self.marks.get(op.event, {}))

        def kernel(self, index: int, op: Op, clock: Clock) -> None:
            join(clock, self.pending.pop(op.stream, {}))
            super().kernel(index, op, clock)

    return races(program, Tied)


@find_races.mistake(breaks=DEFAULT)
def default_stream_waits(program: list[Op]) -> Pairs:
    """The kernel on the default stream is in no race, though nothing orders it. Perhaps that stream was
    taken to wait for all others, and they for it, as CUDA's legacy default stream does with streams that
    were made to block. torch's side streams are not of that kind.
    """

    class Legacy(Everywhere):
        def issue(self, index: int, op: Op) -> None:
            if op.stream == "default" and op.kind == "kernel":
                for clock in list(self.clocks.values()):
                    join(self.clocks.setdefault("default", {}), clock)
            elif "default" in self.clocks:
                join(self.clocks.setdefault(op.stream, {}), self.clocks["default"])
            super().issue(index, op)

    return races(program, Legacy)


@find_races.mistake(breaks=NO_RECORD_YET)
def no_record_raises(program: list[Op]) -> Pairs:
    """An event without a record is no error: in CUDA a wait for it does nothing. Perhaps the event is
    looked up as marks[event]; `marks.get(event, {})` gives an empty clock.
    """

    class Strict(HappensBefore):
        def wait(self, op: Op, clock: Clock) -> None:
            join(clock, self.marks[op.event])

    return races(program, Strict)


@find_races.mistake(breaks=NO_RECORD_YET)
def no_record_blocks(program: list[Op]) -> Pairs:
    """Behind a wait without a record no race was found. Perhaps the stream was taken to stand still for
    ever. Such a wait does nothing: the stream goes on, and races as before.
    """
    recorded, stuck, running = set(), set(), []
    for op in program:
        if op.kind == "record":
            recorded.add(op.event)
        if op.kind == "wait" and op.event not in recorded:
            stuck.add(op.stream)
        running.append(op if op.stream not in stuck else Op(op.stream, "record", event="never"))
    return races(running)


@find_races.mistake(breaks=RECORD)
def ordered_for_good(program: list[Op]) -> Pairs:
    """Whatever the recording stream is given later counts as over, too, after the wait. Perhaps two streams were put
    in order for good: an event marks what its stream was given before the record, and no more.
    """

    class ForGood(HappensBefore):
        def wait(self, op: Op, clock: Clock) -> None:
            join(clock, {stream: number + 10**9 for stream, number in self.marks.get(op.event, {}).items()})

        def record(self, op: Op, clock: Clock) -> None:
            self.marks[op.event] = {op.stream: 0} | clock

    return races(program, ForGood)
