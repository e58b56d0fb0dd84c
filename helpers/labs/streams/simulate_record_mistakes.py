"""What people write for 06.simulate: which record of an event a wait sees."""

from __future__ import annotations

from helpers.labs.streams.simulate import simulate
from helpers.labs.streams.simulate_parts import Timeline, Times, timeline
from helpers.streams.program import Op


@simulate.mistake()
def first_record_wins(ops: list[Op]) -> Times:
    """The event kept its first record. A wait sees the last one that was issued before it."""

    class First(Timeline):
        def record(self, op: Op, ready: float) -> None:
            self.marks.setdefault(op.event, ready)

    return timeline(ops, First)


@simulate.mistake()
def latest_record_wins(ops: list[Op]) -> Times:
    """Of two records of an event the one that is passed later was kept. A new record replaces the old one,
    even if it is passed earlier.
    """

    class Latest(Timeline):
        def record(self, op: Op, ready: float) -> None:
            self.marks[op.event] = max(ready, self.marks.get(op.event, 0.0))

    return timeline(ops, Latest)


@simulate.mistake()
def event_read_late(ops: list[Op]) -> Times:
    """The event was looked up after the whole program was read, when it held its last record. A wait takes
    what the event holds at the moment of its own issue.
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


@simulate.mistake()
def waits_for_next_record(ops: list[Op]) -> Times:
    """A wait without a record behind it was kept until a record came. In CUDA it does nothing: the stream
    goes on at once.
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


@simulate.mistake()
def record_uses_up(ops: list[Op]) -> Times:
    """The first wait took the record away, and the next stream that waits for the event found none. Any
    number of streams may wait for one record.
    """

    class Once(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            super().wait(op, ready)
            self.marks.pop(op.event, None)

    return timeline(ops, Once)


@simulate.mistake()
def no_record_raises(ops: list[Op]) -> Times:
    """An event without a record is no error: in CUDA a wait for it does nothing. `marks.get(event, 0.0)`."""

    class Strict(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = max(ready, self.marks[op.event])

    return timeline(ops, Strict)


@simulate.mistake()
def no_record_blocks(ops: list[Op]) -> Times:
    """A stream that waits for an event without a record was taken to stand still for ever. Such a wait does
    nothing.
    """

    class Blocked(Timeline):
        def wait(self, op: Op, ready: float) -> None:
            self.tails[op.stream] = max(ready, self.marks.get(op.event, float("inf")))

    return timeline(ops, Blocked)
