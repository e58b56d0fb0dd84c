"""Programs of lab 06: how they are written down, and four that teach something."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from helpers.streams.program import Op

KERNEL_US = 20.0


def kernel(
    stream: str,
    reads: Iterable[str] = (),
    writes: Iterable[str] = (),
    *,
    name: str = "",
    duration: float = KERNEL_US,
) -> Op:
    """A kernel on `stream`. reads, writes: names of memory, one letter each: "xy" is x and y."""
    return Op(stream, "kernel", frozenset(reads), frozenset(writes), None, duration, name)


def record(stream: str, event: str) -> Op:
    """`event.record(stream)`: marks all that was issued on `stream` so far."""
    return Op(stream, "record", event=event)


def wait(stream: str, event: str) -> Op:
    """`stream.wait_event(event)`: what comes next on `stream` begins after what the last record marked."""
    return Op(stream, "wait", event=event)


def host_sync(stream: str) -> Op:
    """`stream.synchronize()`: the host waits for all that was issued on `stream` so far."""
    return Op(stream, "host_sync")


def written(text: str) -> tuple[Op, ...]:
    """A program from one line: "s1 x>yz, s1 record e, s2 wait e, s3 host_sync, s2 z> again, s2 30".

    A kernel is its stream, then what it reads, ">", what it writes (one letter each), then its name, if it has one;
    or its stream and its duration in microseconds.
    """
    return tuple(_op(*part.split()) for part in text.split(", ") if part)


def _op(stream: str, what: str, name: str = "") -> Op:
    if ">" in what:
        reads, writes = what.split(">")
        return kernel(stream, reads, writes, name=name)
    if what[0].isdigit():
        return kernel(stream, name=name, duration=float(what))
    return Op(stream, what, event=name or None)


@dataclass(frozen=True)
class Example:
    """A program to look at. title: in a few words; story: what it is about, for a caption; ops: the program."""

    title: str
    story: str
    ops: tuple[Op, ...]

    def listing(self) -> str:
        return listing(self.ops)


def listing(program: Iterable[Op], describe: Callable[[Op], str] | None = None) -> str:
    """One line an op: its index, its stream, what it does: describe(op)."""
    describe = describe or described
    ops = list(program)
    width = max((len(op.stream) for op in ops), default=0)
    return "\n".join(f"{index:>3}  {op.stream:<{width}}  {describe(op)}" for index, op in enumerate(ops))


def described(op: Op) -> str:
    """What an op does, in a few words, without its stream."""
    if op.kind != "kernel":
        return f"{op.kind} {op.event}" if op.event else op.kind
    parts = [op.name or "kernel"]
    parts += [
        f"{verb} {', '.join(sorted(names))}"
        for verb, names in (("reads", op.reads), ("writes", op.writes))
        if names
    ]
    return ": ".join((parts[0], "; ".join(parts[1:]))) if parts[1:] else parts[0]


def _named(stream: str, name: str, reads: str = "", writes: str = "", duration: float = KERNEL_US) -> Op:
    """A kernel whose memory has names of several letters, parted by spaces."""
    return kernel(stream, reads.split(), writes.split(), name=name, duration=duration)


TWO_STREAMS = Example(
    "a side stream that nobody told",
    "A is filled on the default stream. The sum on the side stream does not wait for it, and begins at once.",
    (
        _named("default", "normal_", writes="A", duration=60.0),
        _named("side", "sum", reads="A", writes="B", duration=30.0),
    ),
)

RELAY = Example(
    "over two events",
    "The copy is followed by a kernel on another stream, and that by a copy back on a third one. No event leads "
    "from the first stream to the third: the order comes through the second.",
    (
        _named("copy in", "host to device", writes="x", duration=50.0),
        record("copy in", "here"),
        wait("compute", "here"),
        _named("compute", "forward", reads="x w", writes="y", duration=40.0),
        record("compute", "done"),
        wait("copy out", "done"),
        _named("copy out", "device to host", reads="y", writes="out", duration=30.0),
        _named("copy out", "checksum of x", reads="x", writes="sum", duration=20.0),
    ),
)

EARLY_RECORD = Example(
    "recorded before the work",
    "There is an event, and there is a wait. But the record stands one line too early: the kernel that should be "
    "waited for is issued after it.",
    (
        _named("compute", "forward", writes="y", duration=40.0),
        record("compute", "done"),
        _named("compute", "scale", reads="y", writes="y", duration=30.0),
        wait("copy out", "done"),
        _named("copy out", "device to host", reads="y", writes="out", duration=30.0),
    ),
)

ONE_EVENT_FOR_ALL = Example(
    "one event, recorded again",
    "Two batches go through two buffers, with one event for all. A wait sees the last record that was issued before "
    "it: the first wait is for batch 0, the second for batch 1. But nothing makes the third copy, into the first "
    "buffer, wait for the step that reads it.",
    (
        _named("copy", "copy batch 0", writes="buffer0", duration=40.0),
        record("copy", "copied"),
        wait("compute", "copied"),
        _named("copy", "copy batch 1", writes="buffer1", duration=40.0),
        record("copy", "copied"),
        _named("compute", "step 0", reads="buffer0", writes="w", duration=70.0),
        wait("compute", "copied"),
        _named("compute", "step 1", reads="buffer1 w", writes="w", duration=70.0),
        _named("copy", "copy batch 2", writes="buffer0", duration=40.0),
    ),
)

EXAMPLES = (TWO_STREAMS, RELAY, EARLY_RECORD, ONE_EVENT_FOR_ALL)
