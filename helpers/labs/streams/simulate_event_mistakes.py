"""What people write for 06.simulate: what a record marks, and whom a wait holds back."""

from __future__ import annotations

from helpers.labs.streams.simulate import simulate
from helpers.labs.streams.simulate_parts import Timeline, Times, timeline
from helpers.streams.program import Op


@simulate.wrong_answer(
    "events_ignored",
    why="Record and wait left no trace: the waiting stream went on at once.",
    seen="Record and wait left no trace",
)
def _(ops: list[Op]) -> Times:
    return timeline([op for op in ops if op.kind != "wait"])


@simulate.another_form("events_ignored")
def _(ops: list[Op]) -> Times:
    class HostTime(Timeline):
        """The record notes when it was issued, not when the stream gets there."""

        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.host

    return timeline(ops, HostTime)


@simulate.wrong_answer(
    "wait_is_barrier",
    why="A wait was taken for a barrier at which all streams meet. It holds back one stream, until one record is "
    "passed.",
    seen="a barrier at which all streams meet",
)
def _(ops: list[Op]) -> Times:
    class Barrier(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.host = max([self.host, *self.tails.values()])

    return timeline(ops, Barrier)


@simulate.another_form("wait_is_barrier")
def _(ops: list[Op]) -> Times:
    class KnownStreams(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            latest = max([0.0, *self.tails.values()])
            self.tails = {stream: latest for stream in self.tails} | {op.stream: latest}

    return timeline(ops, KnownStreams)


@simulate.wrong_answer(
    "wait_stops_host",
    why="wait_event was taken for event.synchronize(): it holds back one stream, and the host goes on issuing to the "
    "others.",
    seen="taken for event.synchronize()",
)
def _(ops: list[Op]) -> Times:
    class Blocking(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.host = max(self.host, self.marks.get(op.event, 0.0))

    return timeline(ops, Blocking)


@simulate.another_form("wait_stops_host")
def _(ops: list[Op]) -> Times:
    class WaitThenSynchronise(Timeline):
        """The host waits for the waiting stream, too."""

        def wait(self, op: Op, ready: float) -> None:
            self.host = max(ready, self.marks.get(op.event, 0.0))

    return timeline(ops, WaitThenSynchronise)


@simulate.wrong_answer(
    "record_stops_host",
    why="A record was taken for a synchronisation: nothing began before it was passed. It makes nobody wait.",
    seen="It makes nobody wait",
)
def _(ops: list[Op]) -> Times:
    class Blocking(Timeline):
        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = self.host = ready

    return timeline(ops, Blocking)


@simulate.wrong_answer(
    "other_stream_waits",
    why="The stream that had recorded was held back until the waiting one got there. It is the other way round: who "
    "records goes on, who waits is held back.",
    seen="who records goes on",
)
def _(ops: list[Op]) -> Times:
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


@simulate.wrong_answer(
    "both_streams_wait",
    why="The two streams were taken to meet at the event. The one that recorded does not wait for the other.",
    seen="were taken to meet at the event",
)
def _(ops: list[Op]) -> Times:
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


@simulate.wrong_answer(
    "wait_replaces",
    why="The stream's time was set to the event's. If the stream is busy for longer, it does not go back: the larger "
    "of the two holds.",
    seen="The stream's time was set to the event's",
)
def _(ops: list[Op]) -> Times:
    class Replacing(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = self.marks.get(op.event, ready)

    return timeline(ops, Replacing)


@simulate.wrong_answer(
    "wait_adds",
    why="The time until the record was added to the stream's own. Both pass at the same time: the larger one holds.",
    seen="Both pass at the same time",
)
def _(ops: list[Op]) -> Times:
    class Adding(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = ready + self.marks.get(op.event, 0.0)

    return timeline(ops, Adding)


@simulate.wrong_answer(
    "record_marks_start",
    why="The record noted when the kernel before it begins. It is passed when that kernel has ended.",
    seen="noted when the kernel before it begins",
)
def _(ops: list[Op]) -> Times:
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


@simulate.wrong_answer(
    "from_kernel_to_kernel",
    why="The record noted the end of the last kernel on its stream. A stream that has waited, and has no kernel after "
    "that, gets to the record only when its wait is over.",
    seen="noted the end of the last kernel",
)
def _(ops: list[Op]) -> Times:
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


@simulate.wrong_answer(
    "whole_stream",
    why="The wait went on until the recording stream was free. It waits for the record; what was issued there later "
    "does not count.",
    seen="until the recording stream was free",
)
def _(ops: list[Op]) -> Times:
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
