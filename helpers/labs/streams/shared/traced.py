"""The trace of the simulated device with the times beside it, and in words."""

from __future__ import annotations

from collections.abc import Iterable

from helpers import streams
from helpers.labs.streams.shared.happens_before import races
from helpers.streams.program import Op

OF_THE_ALLOCATOR = "free"  # its own events are called so: it looks at them when it gives a freed block away


class Traced:
    """What was issued since the last reset. Its indices are those of `ops`."""

    def __init__(self) -> None:
        self.ops: list[Op] = streams.trace()
        kernels = [index for index, op in enumerate(self.ops) if op.kind == "kernel"]
        self.times = {
            index: (kernel.start, kernel.end)
            for index, kernel in zip(kernels, streams.timeline(), strict=True)
        }

    def kernels(self, stream: str | None = None) -> list[int]:
        """The kernels of a stream, or of all."""
        return [index for index in self.times if stream in (None, self.ops[index].stream)]

    def streams(self) -> list[str]:
        """The streams that have kernels, in the order of their first one."""
        return list(dict.fromkeys(self.ops[index].stream for index in self.times))

    def names_on(self, some: Iterable[str]) -> set[str]:
        """The names of the kernels on these streams, without the mark of an in-place one."""
        return {self.ops[index].name.rstrip("_") for stream in some for index in self.kernels(stream)}

    def races(self) -> list[tuple[int, int]]:
        """The pairs of kernels that race, the earlier issued first."""
        return sorted(races(self.ops))

    def host_waits(self) -> list[int]:
        """Where the host waited; what the allocator does for itself when it gives a block away is left out."""
        own = {
            op.stream
            for op in self.ops
            if op.kind == "wait" and op.event is not None and op.event.startswith(OF_THE_ALLOCATOR)
        }
        return [index for index, op in enumerate(self.ops) if op.kind == "host_sync" and op.stream not in own]

    def latest_record(self, wait: int) -> int | None:
        """The record that a wait holds to: the last one of its event before it."""
        event = self.ops[wait].event
        found = [
            index for index, op in enumerate(self.ops[:wait]) if op.kind == "record" and op.event == event
        ]
        return found[-1] if found else None

    def overlap(self, some: Iterable[int], others: Iterable[int]) -> float:
        """Microseconds in which a kernel of `some` and one of `others` run at the same time."""
        others = list(others)
        return sum(
            max(0.0, min(self.times[i][1], self.times[j][1]) - max(self.times[i][0], self.times[j][0]))
            for i in some
            for j in others
        )

    def words(self, index: int) -> str:
        start, end = self.times[index]
        op = self.ops[index]
        return f"{op.name} on {op.stream}, {start:g} to {end:g} us"

    def table(self, only: Iterable[int] | None = None, limit: int = 16) -> str:
        """The kernels in the order of their start, one a line."""
        wanted = sorted(self.times if only is None else only, key=lambda index: self.times[index])
        lines = [self.words(index) for index in wanted[:limit]]
        return "; ".join([*lines, *(["..."] if len(wanted) > limit else [])])
