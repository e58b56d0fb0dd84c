"""What people write for 06.simulate, and why it is wrong: what waits for what."""

from __future__ import annotations

from helpers.labs.streams.simulate.exercise import (
    EARLY,
    HOST,
    LAST_RECORD,
    LEFT,
    LIST,
    PASSED,
    SIDE_BY_SIDE,
    simulate,
)
from helpers.labs.streams.simulate.schedule import Timeline, Times, timeline
from helpers.streams.program import Op


@simulate.mistake(breaks=EARLY)
def events_ignored(ops: list[Op]) -> Times:
    """After its wait a stream goes on at once. Perhaps record and wait leave no trace, or the record notes
    when it is issued, and not when its stream gets there.
    """
    return timeline([op for op in ops if op.kind != "wait"])


@simulate.variant(events_ignored)
def _(ops: list[Op]) -> Times:
    class HostTime(Timeline):
        """The record notes when it was issued, not when the stream gets there."""

        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.host

    return timeline(ops, HostTime)


@simulate.mistake(breaks=EARLY)
def wait_is_barrier(ops: list[Op]) -> Times:
    """After its wait a stream goes on only when what was issued behind the record is over, too. Perhaps a
    wait was taken for a barrier at which all streams meet. It holds back one stream, until one record is
    passed.
    """

    class Barrier(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.host = max([self.host, *self.tails.values()])

    return timeline(ops, Barrier)


@simulate.variant(wait_is_barrier)
def _(ops: list[Op]) -> Times:
    class KnownStreams(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            latest = max([0.0, *self.tails.values()])
            self.tails = {stream: latest for stream in self.tails} | {op.stream: latest}

    return timeline(ops, KnownStreams)


@simulate.mistake(breaks=EARLY)
def wait_stops_host(ops: list[Op]) -> Times:
    """A stream that waits for nothing is held back by the wait of a different stream. Perhaps wait_event
    was taken for event.synchronize(). It holds back one stream, and the host goes on issuing to the others.
    """

    class Blocking(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.host = max(self.host, self.marks.get(op.event, 0.0))

    return timeline(ops, Blocking)


@simulate.variant(wait_stops_host)
def _(ops: list[Op]) -> Times:
    class WaitThenSynchronise(Timeline):
        """The host waits for the waiting stream, too."""

        def wait(self, op: Op, ready: float) -> None:
            self.host = max(ready, self.marks.get(op.event, 0.0))

    return timeline(ops, WaitThenSynchronise)


@simulate.mistake(breaks=EARLY)
def record_stops_host(ops: list[Op]) -> Times:
    """What is issued after a record begins only when that is passed, on other streams, too. Perhaps a
    record was taken for a synchronisation. It makes nobody wait.
    """

    class Blocking(Timeline):
        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.host = ready

    return timeline(ops, Blocking)


@simulate.mistake(breaks=EARLY)
def other_stream_waits(ops: list[Op]) -> Times:
    """After its wait a stream goes on, though the record is not passed. Perhaps the stream that recorded
    was held back in its place. It is the other way round: who records goes on, who waits is held back.
    """

    class Other(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.recorder: dict[str | None, str] = {}

        def record(self, op: Op, ready: float) -> None:
            super().record(op, ready)
            self.recorder[op.event] = op.stream

        def wait(self, op: Op, ready: float) -> None:
            if op.event in self.recorder:
                other = self.recorder[op.event]
                self.tails[other] = max(self.tails.get(other, 0.0), ready)

    return timeline(ops, Other)


@simulate.mistake(breaks=EARLY)
def both_streams_wait(ops: list[Op]) -> Times:
    """The stream that recorded waits for the one that waits for it. Perhaps the two were taken to meet at
    the event. Who records goes on.
    """

    class Meeting(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.recorder: dict[str | None, str] = {}

        def record(self, op: Op, ready: float) -> None:
            super().record(op, ready)
            self.recorder[op.event] = op.stream

        def wait(self, op: Op, ready: float) -> None:
            super().wait(op, ready)
            if op.event in self.recorder:
                other = self.recorder[op.event]
                self.tails[other] = max(self.tails.get(other, 0.0), self.tails[op.stream])

    return timeline(ops, Meeting)


@simulate.mistake(breaks=PASSED)
def wait_replaces(ops: list[Op]) -> Times:
    """A stream that is busy for longer goes back to the time of the record. Perhaps its time is set to the
    event's: the larger of the two holds.
    """

    class Replacing(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = self.marks.get(op.event, ready)

    return timeline(ops, Replacing)


@simulate.mistake(breaks=PASSED)
def wait_adds(ops: list[Op]) -> Times:
    """The time until the record is added to the stream's own. Both pass at the same time: the larger one
    holds.
    """

    class Adding(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = ready + self.marks.get(op.event, 0.0)

    return timeline(ops, Adding)


@simulate.mistake(breaks=PASSED)
def record_marks_start(ops: list[Op]) -> Times:
    """After its wait a stream goes on when the last kernel before the record begins. Perhaps the record
    notes that time. It is passed when that kernel has ended.
    """

    class Start(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.begun: dict[str, float] = {}

        def kernel(self, op: Op, ready: float) -> None:
            super().kernel(op, ready)
            self.begun[op.stream] = ready

        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.begun.get(op.stream, 0.0)

    return timeline(ops, Start)


@simulate.mistake(breaks=PASSED)
def from_kernel_to_kernel(ops: list[Op]) -> Times:
    """A stream that has waited, and has no kernel after that, passes its record too early. Perhaps the
    record notes the end of the last kernel on its stream. The stream gets there only when its wait is over.
    """

    class Tied(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.ended: dict[str, float] = {}

        def kernel(self, op: Op, ready: float) -> None:
            super().kernel(op, ready)
            self.ended[op.stream] = self.tails[op.stream]

        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.ended.get(op.stream, 0.0)

    return timeline(ops, Tied)


@simulate.mistake(breaks=PASSED)
def whole_stream(ops: list[Op]) -> Times:
    """After its wait a stream goes on only when the recording stream has done all that it was given so far.
    Perhaps it waits for that stream. It waits for the record; what was issued there later does not count.
    """

    class Whole(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.recorder: dict[str | None, str] = {}

        def record(self, op: Op, ready: float) -> None:
            self.recorder[op.event] = op.stream

        def wait(self, op: Op, ready: float) -> None:
            self.marks = {event: self.tails.get(stream, 0.0) for event, stream in self.recorder.items()}
            super().wait(op, ready)

    return timeline(ops, Whole)


# Queues, the host, and what is returned.


@simulate.mistake(breaks=SIDE_BY_SIDE)
def one_after_another(ops: list[Op]) -> Times:
    """Kernels of different streams run one after the other. Perhaps durations were added up over all
    streams, in the order of issue. The host waits for no kernel: streams run side by side.
    """
    now, times = 0.0, []
    for op in ops:
        if op.kind == "kernel":
            times.append((now, now + op.duration))
            now += op.duration
    return times


@simulate.mistake(breaks=SIDE_BY_SIDE)
def all_at_once(ops: list[Op]) -> Times:
    """Every kernel begins at 0. Perhaps each has a stream of its own, and nothing waits for anything."""
    return [(0.0, op.duration) for op in ops if op.kind == "kernel"]


@simulate.mistake(breaks=SIDE_BY_SIDE)
def no_queue(ops: list[Op]) -> Times:
    """A kernel does not wait for those that stand before it on its stream. Perhaps only waits were
    followed, and the queue was not.
    """

    class NoQueue(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.free: dict[str, float] = {}

        def kernel(self, op: Op, ready: float) -> None:
            start = max(self.host, self.free.get(op.stream, 0.0))
            self.times.append((start, start + op.duration))
            self.tails[op.stream] = max(self.tails.get(op.stream, 0.0), start + op.duration)

        def wait(self, op: Op, ready: float) -> None:
            self.free[op.stream] = max(self.free.get(op.stream, 0.0), self.marks.get(op.event, 0.0))

    return timeline(ops, NoQueue)


@simulate.mistake(breaks=LIST)
def start_and_duration(ops: list[Op]) -> Times:
    """The second number is how long a kernel takes. Asked for is when it ends: start + duration."""
    return [(start, end - start) for start, end in timeline(ops)]


@simulate.mistake(breaks=LIST)
def milliseconds(ops: list[Op]) -> Times:
    """The times are a thousand times too small. Perhaps they are in milliseconds: durations are given in
    microseconds, and so are the times.
    """
    return [(start / 1e3, end / 1e3) for start, end in timeline(ops)]


@simulate.mistake(breaks=LIST)
def all_ops_listed(ops: list[Op]) -> Times:
    """The list is as long as the program. Perhaps every op got a pair. Only kernels take time and are
    listed.
    """

    class Listed(Timeline):
        def issue(self, op: Op) -> None:
            super().issue(op)
            if op.kind != "kernel":
                at = max(self.host, self.tails.get(op.stream, 0.0))
                self.times.append((at, at))

    return timeline(ops, Listed)


@simulate.mistake(breaks=LIST)
def sorted_by_start(ops: list[Op]) -> Times:
    """The pairs are right, and in a different order. Perhaps they are sorted by time. The order of the
    program is asked for, so that the first pair belongs to the first kernel.
    """
    return sorted(timeline(ops))


@simulate.variant(sorted_by_start)
def _(ops: list[Op]) -> Times:
    return sorted(timeline(ops), key=lambda pair: pair[0])


@simulate.variant(sorted_by_start)
def _(ops: list[Op]) -> Times:
    return sorted(timeline(ops), key=lambda pair: pair[::-1])


@simulate.mistake(breaks=LIST)
def stream_by_stream(ops: list[Op]) -> Times:
    """The list has the kernels of one stream after those of the other. The order of the program is asked
    for.
    """
    kernels = [op for op in ops if op.kind == "kernel"]
    by_stream: dict[str, Times] = {op.stream: [] for op in kernels}
    for op, pair in zip(kernels, timeline(ops), strict=True):
        by_stream[op.stream].append(pair)
    return [pair for times in by_stream.values() for pair in times]


@simulate.mistake(breaks=SIDE_BY_SIDE)
def default_stream_waits(ops: list[Op]) -> Times:
    """The default stream waits for the other one, and that for it. Perhaps it was taken for CUDA's legacy
    default stream. torch's side streams are not of that kind: they wait for nobody.
    """

    class Legacy(Timeline):
        def kernel(self, op: Op, ready: float) -> None:
            if op.stream == "default":
                ready = max([ready, *self.tails.values()])
            super().kernel(op, max(ready, self.tails.get("default", 0.0)))

    return timeline(ops, Legacy)


@simulate.mistake(breaks=HOST)
def host_sync_ignored(ops: list[Op]) -> Times:
    """What is issued after a host_sync begins before that stream is free. Perhaps the host's wait was not
    counted: what it issues afterwards cannot begin before, on any stream.
    """
    return timeline([op for op in ops if op.kind != "host_sync"])


@simulate.mistake(breaks=HOST)
def device_synchronised(ops: list[Op]) -> Times:
    """A host_sync of a stream without work holds the host, while a different stream works. Perhaps it was
    taken for torch.cuda.synchronize(), which waits for all streams. It waits for one.
    """

    class Device(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.host = max([ready, *self.tails.values()])

    return timeline(ops, Device)


@simulate.mistake(breaks=HOST)
def known_streams_only(ops: list[Op]) -> Times:
    """A stream that is used for the first time after a host_sync begins at once. Perhaps only the streams
    that had been used so far were told. Keep a time for the host.
    """

    class Told(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.tails = {stream: max(tail, ready) for stream, tail in self.tails.items()}

    return timeline(ops, Told)


@simulate.variant(known_streams_only)
def _(ops: list[Op]) -> Times:
    class ToldAllNamed(Timeline):
        """A stream is known as soon as any op names it."""

        def issue(self, op: Op) -> None:
            self.tails.setdefault(op.stream, 0.0)
            super().issue(op)

        def host_sync(self, op: Op, ready: float) -> None:
            self.tails.update({stream: max(tail, ready) for stream, tail in self.tails.items()})

    return timeline(ops, ToldAllNamed)


@simulate.mistake(breaks=HOST)
def host_goes_back(ops: list[Op]) -> Times:
    """After a second host_sync, of a stream that was free earlier, kernels begin too early. Perhaps it sets
    the host's clock back. That only goes on.
    """

    class Back(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.host = self.tails.get(op.stream, 0.0)

    return timeline(ops, Back)


@simulate.mistake(breaks=HOST)
def streams_pushed_on(ops: list[Op]) -> Times:
    """What the host waited is added to the other streams' own time. They may be busy meanwhile, or free:
    their next kernel begins at the later of the two times.
    """

    class Pushed(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            waited = max(0.0, ready - self.host)
            self.host = ready
            for stream, tail in self.tails.items():
                if stream != op.stream:
                    self.tails[stream] = tail + waited

    return timeline(ops, Pushed)


# Which record of an event a wait sees.


@simulate.mistake(breaks=LAST_RECORD)
def first_record_wins(ops: list[Op]) -> Times:
    """A wait goes by the first record of its event, though there is a second one. Perhaps the event keeps
    what it has. A wait sees the last one that was issued before it.
    """

    class First(Timeline):
        def record(self, op: Op, ready: float) -> None:
            self.marks.setdefault(op.event, ready)

    return timeline(ops, First)


@simulate.mistake(breaks=LAST_RECORD)
def latest_record_wins(ops: list[Op]) -> Times:
    """Of two records of an event the one that is passed later holds. Perhaps the larger time is kept. A new
    record replaces the old one, even if it is passed earlier.
    """

    class Latest(Timeline):
        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = max(ready, self.marks.get(op.event, 0.0))

    return timeline(ops, Latest)


@simulate.mistake(breaks=LAST_RECORD)
def event_read_late(ops: list[Op]) -> Times:
    """A record that is issued after the wait moves it. Perhaps the event was looked up after the whole
    program was read. A wait takes what the event holds when the wait is issued.
    """

    class Late(Timeline):
        final: dict[str | None, float] = {}

        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = max(ready, self.final.get(op.event, 0.0))

    for _ in ops:  # when an event is passed depends on other events: again and again
        first = Late()
        for op in ops:
            first.issue(op)
        if first.marks == Late.final:
            break
        Late.final = first.marks
    return timeline(ops, Late)


@simulate.variant(event_read_late)
def _(ops: list[Op]) -> Times:
    first = Timeline()
    for op in ops:
        first.issue(op)

    class Looked(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = max(ready, first.marks.get(op.event, 0.0))

    return timeline(ops, Looked)


@simulate.mistake(breaks=LAST_RECORD)
def waits_for_next_record(ops: list[Op]) -> Times:
    """A wait that stands before any record waits for the record that comes later. In CUDA it does nothing:
    the stream goes on at once.
    """

    class Patient(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.waiting: dict[str | None, list[str]] = {}

        def wait(self, op: Op, ready: float) -> None:
            super().wait(op, ready)
            if op.event not in self.marks:
                self.waiting.setdefault(op.event, []).append(op.stream)

        def record(self, op: Op, ready: float) -> None:
            super().record(op, ready)
            for stream in self.waiting.pop(op.event, []):
                self.tails[stream] = max(self.tails[stream], ready)

    return timeline(ops, Patient)


@simulate.mistake(breaks=LAST_RECORD)
def record_uses_up(ops: list[Op]) -> Times:
    """The second stream that waits for an event goes on at once. Perhaps the first wait takes the record
    away. Any number of streams may wait for one record.
    """

    class Once(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            super().wait(op, ready)
            self.marks.pop(op.event, None)

    return timeline(ops, Once)


@simulate.mistake(breaks=LAST_RECORD)
def no_record_raises(ops: list[Op]) -> Times:
    """A wait for an event without a record raised an error. In CUDA it does nothing. Perhaps the event is
    looked up as marks[event]; `marks.get(event, 0.0)` knows what to say.
    """

    class Strict(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = max(ready, self.marks[op.event])

    return timeline(ops, Strict)


@simulate.mistake(breaks=LAST_RECORD)
def no_record_blocks(ops: list[Op]) -> Times:
    """A kernel behind a wait without a record begins at infinity. Perhaps the stream was taken to stand
    still for ever. Such a wait does nothing.
    """

    class Blocked(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = max(ready, self.marks.get(op.event, float("inf")))

    return timeline(ops, Blocked)


@simulate.mistake(breaks=LEFT)
def empties_the_list(ops: list[Op]) -> Times:
    """The list that was given has lost ops. Perhaps they were taken out with pop or remove. Read it with a `for`, or
    work on a copy.
    """
    run = Timeline()
    while ops:
        run.issue(ops.pop(0))
    return run.times
