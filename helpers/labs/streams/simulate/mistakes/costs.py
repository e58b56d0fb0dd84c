"""What people write for 06.simulate, and why it is wrong: what takes time, and what is kept of a kernel or a call."""

from __future__ import annotations

from dataclasses import replace

from helpers.check.spec import returned
from helpers.labs.streams.simulate.exercise import (
    LASTS,
    LEFT,
    LIST,
    SIDE_BY_SIDE,
    ZERO,
    simulate,
)
from helpers.labs.streams.simulate.schedule import Timeline, Times, timeline
from helpers.streams.program import Op

built = simulate.bank(returned)


def launching(first: float, kinds: tuple[str, ...], cost: float = 5.0):
    """An answer in which the host needs a while for each op of these kinds. first: when it begins."""

    class Launching(Timeline):
        def issue(self, op: Op) -> None:
            if not self.tails and not self.marks:
                self.host = max(self.host, first)
            self.host += cost * (op.kind in kinds)
            super().issue(op)

    return lambda ops: timeline(ops, Launching)


@built.mistake(breaks=ZERO)
def launches_cost():
    """The first kernel begins 5 us late. Perhaps each launch, or the first, takes its time on the host, as it does on the
    device of this lab. Here nothing but kernels takes any.
    """
    return launching(0.0, ("kernel",))


ALL_KINDS = ("kernel", "record", "wait", "host_sync")
for form in (launching(0.0, ALL_KINDS), launching(5.0, ())):
    simulate.variant(launches_cost)(form)


@built.mistake(breaks=ZERO)
def launches_cost_afterwards():
    """The first kernel begins at 0, and one on a second stream 5 us late. Perhaps each launch takes its time on the host,
    as it does on the device of this lab. Here nothing but kernels takes any.
    """

    class Launching(Timeline):
        def issue(self, op: Op) -> None:
            super().issue(op)
            self.host += 5.0

    return lambda ops: timeline(ops, Launching)


@simulate.mistake(breaks=SIDE_BY_SIDE)
def default_stream_waits_for_others(ops: list[Op]) -> Times:
    """The default stream waits for the other one, which does not wait for it. Perhaps that is one half of CUDA's legacy
    default stream, or "default" is taken for a barrier. No stream is special here.
    """

    class Half(Timeline):
        def kernel(self, op: Op, ready: float) -> None:
            super().kernel(op, max([ready, *self.tails.values()]) if op.stream == "default" else ready)

    return timeline(ops, Half)


@simulate.mistake(breaks=LASTS)
def whole_microseconds(ops: list[Op]) -> Times:
    """A kernel of half a microsecond takes no time. Perhaps its duration was made a whole number, by int() or //."""
    return timeline([replace(op, duration=float(int(op.duration))) for op in ops])


@simulate.mistake(breaks=LASTS)
def no_duration_no_kernel(ops: list[Op]) -> Times:
    """Kernels of 0 us have no pair. Perhaps an `if` asks for the duration, and 0 is false: ask for the kind."""
    return timeline([op for op in ops if op.kind != "kernel" or op.duration])


def with_default(ops: list[Op], default: float) -> Times:
    return timeline([replace(op, duration=op.duration or default) for op in ops])


@simulate.mistake(breaks=LASTS)
def default_for_zero(ops: list[Op]) -> Times:
    """A kernel of 0 us takes time. Perhaps `duration or ...` gives a duration where none was said: 0 is one."""
    return with_default(ops, 20.0)


simulate.variant(default_for_zero)(lambda ops: with_default(ops, 1.0))
simulate.variant(default_for_zero)(lambda ops: with_default(ops, 10.0))


@simulate.mistake(breaks=LASTS)
def all_durations(ops: list[Op]) -> Times:
    """A record, a wait or a host_sync with a duration takes time. Perhaps `duration` is added for each op: only a kernel takes
    its own.
    """

    class Taken(Timeline):
        def issue(self, op: Op) -> None:
            super().issue(op)
            if op.kind != "kernel":
                self.tails[op.stream] = max(self.host, self.tails.get(op.stream, 0.0)) + op.duration

    return timeline(ops, Taken)


@simulate.mistake(breaks=LIST)
def equal_kernels_share(ops: list[Op]) -> Times:
    """Kernels that are equal share one pair. Perhaps a dict is kept by Op: two launches of one kernel are equal Ops. Keep a
    list, or go by the index.
    """
    kernels = [op for op in ops if op.kind == "kernel"]
    return list(dict(zip(kernels, timeline(ops), strict=True)).values())


@simulate.variant(equal_kernels_share)
def _(ops: list[Op]) -> Times:
    kernels = [op for op in ops if op.kind == "kernel"]
    times = dict(zip(kernels, timeline(ops), strict=True))
    return [times[op] for op in kernels]


_marks: dict[str | None, float] = {}


@simulate.mistake(breaks=LEFT)
def records_stay(ops: list[Op]) -> Times:
    """The second call for one program gives something else than the first. Perhaps something is kept from call to call, in a
    global or as a default value (`marks={}`): begin anew in each call.
    """

    class Kept(Timeline):
        def __init__(self) -> None:
            super().__init__()
            self.marks = _marks

    return timeline(ops, Kept)
