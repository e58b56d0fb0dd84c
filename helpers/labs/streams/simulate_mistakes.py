"""What people write for 06.simulate: queues, the host, and what is returned."""

from __future__ import annotations

from helpers.labs.streams.simulate import simulate
from helpers.labs.streams.simulate_parts import Timeline, Times, timeline
from helpers.streams.program import Op


@simulate.mistake()
def one_after_another(ops: list[Op]) -> Times:
    """Durations were added up over all streams, in the order of issue. The host waits for no kernel: streams
    run side by side.
    """
    now, times = 0.0, []
    for op in ops:
        if op.kind == "kernel":
            times.append((now, now + op.duration))
            now += op.duration
    return times


@simulate.mistake()
def all_at_once(ops: list[Op]) -> Times:
    """Every kernel begins at 0, as if each had a stream of its own and nothing waited for anything."""
    return [(0.0, op.duration) for op in ops if op.kind == "kernel"]


@simulate.mistake()
def no_queue(ops: list[Op]) -> Times:
    """Waits were followed, but not the queue: a kernel begins only after those that stand before it on its
    stream.
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


@simulate.mistake()
def start_and_duration(ops: list[Op]) -> Times:
    """The second number is how long a kernel takes. Asked for is when it ends: start + duration."""
    return [(start, end - start) for start, end in timeline(ops)]


@simulate.mistake()
def milliseconds(ops: list[Op]) -> Times:
    """The times are in milliseconds. Durations are given in microseconds, and so are the times."""
    return [(start / 1e3, end / 1e3) for start, end in timeline(ops)]


@simulate.mistake()
def all_ops_listed(ops: list[Op]) -> Times:
    """Every op got a pair. Only kernels take time and are listed; a pair for a wait would have no width."""

    class Listed(Timeline):
        def issue(self, op: Op) -> None:
            super().issue(op)
            if op.kind != "kernel":
                at = max(self.host, self.tails.get(op.stream, 0.0))
                self.times.append((at, at))

    return timeline(ops, Listed)


@simulate.mistake()
def sorted_by_start(ops: list[Op]) -> Times:
    """The list is sorted by time. The pairs are asked for in the order of the program, so that the first pair
    belongs to the first kernel.
    """
    return sorted(timeline(ops))


@simulate.variant(sorted_by_start)
def _(ops: list[Op]) -> Times:
    return sorted(timeline(ops), key=lambda pair: pair[0])


@simulate.variant(sorted_by_start)
def _(ops: list[Op]) -> Times:
    return sorted(timeline(ops), key=lambda pair: pair[::-1])


@simulate.mistake()
def stream_by_stream(ops: list[Op]) -> Times:
    """The list has the kernels of one stream after those of the other. The order of the program is asked for."""
    kernels = [op for op in ops if op.kind == "kernel"]
    by_stream: dict[str, Times] = {op.stream: [] for op in kernels}
    for op, pair in zip(kernels, timeline(ops), strict=True):
        by_stream[op.stream].append(pair)
    return [pair for times in by_stream.values() for pair in times]


@simulate.mistake()
def default_stream_waits(ops: list[Op]) -> Times:
    """The default stream was taken to wait for all others, and they for it, as CUDA's legacy default stream
    does. torch's side streams are not of that kind.
    """

    class Legacy(Timeline):
        def kernel(self, op: Op, ready: float) -> None:
            if op.stream == "default":
                ready = max([ready, *self.tails.values()])
            super().kernel(op, max(ready, self.tails.get("default", 0.0)))

    return timeline(ops, Legacy)


@simulate.mistake()
def host_sync_ignored(ops: list[Op]) -> Times:
    """The host's wait was not counted. What it issues afterwards cannot begin before, on any stream."""
    return timeline([op for op in ops if op.kind != "host_sync"])


@simulate.mistake()
def device_synchronised(ops: list[Op]) -> Times:
    """host_sync was taken for torch.cuda.synchronize(), which waits for all streams. It waits for one."""

    class Device(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.host = max([ready, *self.tails.values()])

    return timeline(ops, Device)


@simulate.mistake()
def known_streams_only(ops: list[Op]) -> Times:
    """The synchronisation was told to the streams that had been used so far. One that is used for the first
    time afterwards cannot begin before either: keep a time for the host.
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


@simulate.mistake()
def host_goes_back(ops: list[Op]) -> Times:
    """A second synchronisation, with a stream that was free earlier, set the host's clock back. It only goes
    on.
    """

    class Back(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.host = self.tails.get(op.stream, 0.0)

    return timeline(ops, Back)


@simulate.mistake()
def streams_pushed_on(ops: list[Op]) -> Times:
    """The synchronisation moved the other streams on by as much as the host waited. They may be busy
    meanwhile, or free: their next kernel begins at the later of the two times.
    """

    class Pushed(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            waited = max(0.0, ready - self.host)
            self.host = ready
            for stream, tail in self.tails.items():
                if stream != op.stream:
                    self.tails[stream] = tail + waited

    return timeline(ops, Pushed)
