"""What people write for 06.simulate: queues, the host, and what is returned."""

from __future__ import annotations

from helpers.labs.streams.simulate import simulate
from helpers.labs.streams.simulate_parts import Timeline, Times, timeline
from helpers.streams.program import Op


@simulate.wrong_answer(
    "one_after_another",
    why="Durations were added up over all streams, in the order of issue. The host waits for no kernel: streams run "
    "side by side.",
    seen="Durations were added up over all streams",
)
def _(ops: list[Op]) -> Times:
    now, times = 0.0, []
    for op in ops:
        if op.kind == "kernel":
            times.append((now, now + op.duration))
            now += op.duration
    return times


@simulate.wrong_answer(
    "all_at_once",
    why="Every kernel begins at 0, as if each had a stream of its own and nothing waited for anything.",
    seen="as if each had a stream of its own",
)
def _(ops: list[Op]) -> Times:
    return [(0.0, op.duration) for op in ops if op.kind == "kernel"]


@simulate.wrong_answer(
    "no_queue",
    why="Waits were followed, but not the queue: a kernel begins only after those that stand before it on its stream.",
    seen="but not the queue",
)
def _(ops: list[Op]) -> Times:
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


@simulate.wrong_answer(
    "start_and_duration",
    why="The second number is how long a kernel takes. Asked for is when it ends: start + duration.",
    seen="The second number is how long a kernel takes",
)
def _(ops: list[Op]) -> Times:
    return [(start, end - start) for start, end in timeline(ops)]


@simulate.wrong_answer(
    "milliseconds",
    why="The times are in milliseconds. Durations are given in microseconds, and so are the times.",
    seen="The times are in milliseconds",
)
def _(ops: list[Op]) -> Times:
    return [(start / 1e3, end / 1e3) for start, end in timeline(ops)]


@simulate.wrong_answer(
    "all_ops_listed",
    why="Every op got a pair. Only kernels take time and are listed; a pair for a wait would have no width.",
    seen="Every op got a pair",
)
def _(ops: list[Op]) -> Times:
    class Listed(Timeline):
        def issue(self, op: Op) -> None:
            super().issue(op)
            if op.kind != "kernel":
                at = max(self.host, self.tails.get(op.stream, 0.0))
                self.times.append((at, at))

    return timeline(ops, Listed)


@simulate.wrong_answer(
    "sorted_by_start",
    why="The list is sorted by time. The pairs are asked for in the order of the program, so that the first pair "
    "belongs to the first kernel.",
    seen="The list is sorted by time",
)
def _(ops: list[Op]) -> Times:
    return sorted(timeline(ops))


@simulate.another_form("sorted_by_start")
def _(ops: list[Op]) -> Times:
    return sorted(timeline(ops), key=lambda pair: pair[0])


@simulate.another_form("sorted_by_start")
def _(ops: list[Op]) -> Times:
    return sorted(timeline(ops), key=lambda pair: pair[::-1])


@simulate.wrong_answer(
    "stream_by_stream",
    why="The list has the kernels of one stream after those of the other. The order of the program is asked for.",
    seen="has the kernels of one stream after those of the other",
)
def _(ops: list[Op]) -> Times:
    kernels = [op for op in ops if op.kind == "kernel"]
    by_stream: dict[str, Times] = {op.stream: [] for op in kernels}
    for op, pair in zip(kernels, timeline(ops), strict=True):
        by_stream[op.stream].append(pair)
    return [pair for times in by_stream.values() for pair in times]


@simulate.wrong_answer(
    "default_stream_waits",
    why="The default stream was taken to wait for all others, and they for it, as CUDA's legacy default stream does. "
    "torch's side streams are not of that kind.",
    seen="as CUDA's legacy default stream does",
)
def _(ops: list[Op]) -> Times:
    class Legacy(Timeline):
        def kernel(self, op: Op, ready: float) -> None:
            if op.stream == "default":
                ready = max([ready, *self.tails.values()])
            super().kernel(op, max(ready, self.tails.get("default", 0.0)))

    return timeline(ops, Legacy)


@simulate.wrong_answer(
    "host_sync_ignored",
    why="The host's wait was not counted. What it issues afterwards cannot begin before, on any stream.",
    seen="The host's wait was not counted",
)
def _(ops: list[Op]) -> Times:
    return timeline([op for op in ops if op.kind != "host_sync"])


@simulate.wrong_answer(
    "device_synchronised",
    why="host_sync was taken for torch.cuda.synchronize(), which waits for all streams. It waits for one.",
    seen="which waits for all streams",
)
def _(ops: list[Op]) -> Times:
    class Device(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.host = max([ready, *self.tails.values()])

    return timeline(ops, Device)


@simulate.wrong_answer(
    "known_streams_only",
    why="The synchronisation was told to the streams that had been used so far. One that is used for the first time "
    "afterwards cannot begin before either: keep a time for the host.",
    seen="keep a time for the host",
)
def _(ops: list[Op]) -> Times:
    class Told(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.tails = {stream: max(tail, ready) for stream, tail in self.tails.items()}

    return timeline(ops, Told)


@simulate.another_form("known_streams_only")
def _(ops: list[Op]) -> Times:
    class ToldAllNamed(Timeline):
        """A stream is known as soon as any op names it."""

        def issue(self, op: Op) -> None:
            self.tails.setdefault(op.stream, 0.0)
            super().issue(op)

        def host_sync(self, op: Op, ready: float) -> None:
            self.tails.update({stream: max(tail, ready) for stream, tail in self.tails.items()})

    return timeline(ops, ToldAllNamed)


@simulate.wrong_answer(
    "host_goes_back",
    why="A second synchronisation, with a stream that was free earlier, set the host's clock back. It only goes on.",
    seen="set the host's clock back",
)
def _(ops: list[Op]) -> Times:
    class Back(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            self.host = self.tails.get(op.stream, 0.0)

    return timeline(ops, Back)


@simulate.wrong_answer(
    "streams_pushed_on",
    why="The synchronisation moved the other streams on by as much as the host waited. They may be busy meanwhile, or "
    "free: their next kernel begins at the later of the two times.",
    seen="by as much as the host waited",
)
def _(ops: list[Op]) -> Times:
    class Pushed(Timeline):
        def host_sync(self, op: Op, ready: float) -> None:
            waited = max(0.0, ready - self.host)
            self.host = ready
            for stream, tail in self.tails.items():
                if stream != op.stream:
                    self.tails[stream] = tail + waited

    return timeline(ops, Pushed)
