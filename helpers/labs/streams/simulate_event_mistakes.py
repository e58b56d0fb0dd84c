"""What people write for 06.simulate: what a record marks, and whom a wait holds back."""

from __future__ import annotations

from helpers.labs.streams.simulate import simulate
from helpers.labs.streams.simulate_parts import Timeline, Times, timeline
from helpers.streams.program import Op


@simulate.mistake()
def events_ignored(ops: list[Op]) -> Times:
    """Record and wait left no trace: the waiting stream went on at once."""
    return timeline([op for op in ops if op.kind != "wait"])


@simulate.variant(events_ignored)
def _(ops: list[Op]) -> Times:
    class HostTime(Timeline):
        """The record notes when it was issued, not when the stream gets there."""

        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.host

    return timeline(ops, HostTime)


@simulate.mistake()
def wait_is_barrier(ops: list[Op]) -> Times:
    """A wait was taken for a barrier at which all streams meet. It holds back one stream, until one record is
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


@simulate.mistake()
def wait_stops_host(ops: list[Op]) -> Times:
    """wait_event was taken for event.synchronize(): it holds back one stream, and the host goes on issuing to
    the others.
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


@simulate.mistake()
def record_stops_host(ops: list[Op]) -> Times:
    """A record was taken for a synchronisation: nothing began before it was passed. It makes nobody wait."""

    class Blocking(Timeline):
        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.host = ready

    return timeline(ops, Blocking)


@simulate.mistake()
def other_stream_waits(ops: list[Op]) -> Times:
    """The stream that had recorded was held back until the waiting one got there. It is the other way round:
    who records goes on, who waits is held back.
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


@simulate.mistake()
def both_streams_wait(ops: list[Op]) -> Times:
    """The two streams were taken to meet at the event. The one that recorded does not wait for the other."""

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


@simulate.mistake()
def wait_replaces(ops: list[Op]) -> Times:
    """The stream's time was set to the event's. If the stream is busy for longer, it does not go back: the
    larger of the two holds.
    """

    class Replacing(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = self.marks.get(op.event, ready)

    return timeline(ops, Replacing)


@simulate.mistake()
def wait_adds(ops: list[Op]) -> Times:
    """The time until the record was added to the stream's own. Both pass at the same time: the larger one
    holds.
    """

    class Adding(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = ready + self.marks.get(op.event, 0.0)

    return timeline(ops, Adding)


@simulate.mistake()
def record_marks_start(ops: list[Op]) -> Times:
    """The record noted when the kernel before it begins. It is passed when that kernel has ended."""

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


@simulate.mistake()
def from_kernel_to_kernel(ops: list[Op]) -> Times:
    """The record noted the end of the last kernel on its stream. A stream that has waited, and has no kernel
    after that, gets to the record only when its wait is over.
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


@simulate.mistake()
def whole_stream(ops: list[Op]) -> Times:
    """The wait went on until the recording stream was free. It waits for the record; what was issued there
    later does not count.
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
