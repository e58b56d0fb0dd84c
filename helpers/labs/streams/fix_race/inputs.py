"""What raced in a run of 06.fix_race, and what each stream had waited for."""

from __future__ import annotations

from typing import Any

from helpers import streams
from helpers.labs.streams.shared.traced import OF_THE_ALLOCATOR, Traced

VALUE = 142_000.0  # (a ** 5 + 5 a + d).sum() for 1000 numbers with a = 2 and d = 100

# Which side stream, in the order of their first kernels, is still at work when a's block is asked for again.
COSTS: dict[str, int | None] = {
    "each kernel takes as long": None,
    "the second side stream is late": 1,
    "the first side stream is late": 0,
    "the third side stream is late": 2,
}


def costs_by_stream(late: int | None, main: str) -> dict[str, Any]:
    """What kernels cost, whatever they are called; all but one side stream are done at once."""
    if late is None:
        return {}
    sides: list[str] = []

    def cost(_: int) -> float:
        name = streams.current_stream().name
        if name == main:
            return 20.0
        if name not in sides:
            sides.append(name)
        return 200.0 if sides.index(name) == late else 0.0

    return {"kernel": cost, "kernels": {"fill": 2.0}}


START = {
    "nothing": "No stream waits for any other.",
    "only record_stream": "record_stream keeps memory from being given away. It makes no stream wait.",
    "none": "The side stream does not wait for the current one.",
    "backwards": "Here the current stream waits for the side stream, before anything is queued there.",
    "never recorded": "The side stream waits for an event that nobody has recorded: such a wait does nothing.",
    "too early": "The event that it waits for was recorded before a.fill_ was queued, so it marks an earlier place.",
    "itself": "The side stream waits for itself. Inside `with api.stream(s)`, current_stream() is s.",
    "late": "It waits, but only behind its kernels. What is queued already waits for nothing.",
    "another": "It waits for something else.",
}
JOIN = {
    "none": "The current stream does not wait for the side stream.",
    "never recorded": "The current stream waits for an event that nobody has recorded: such a wait does nothing.",
    "too early": "The event was recorded on the side stream before the last kernel there was queued.",
    "itself": "The current stream waits for itself.",
    "late": "It waits, but only behind the sum. What is queued already waits for nothing.",
    "another": "It waits for something else.",
}
KEPT = {
    "not told": "The block of a was free since `del a`, and the allocator gave it to d at once.",
    "one of two": "One of the two side streams is done before d is written into a's block. Nothing waits for the other.",
    "told for others": "record_stream was called, but the block of a is not among those that it keeps.",
    "told nobody else": "record_stream was called with the stream that owns the block anyway: that changes nothing.",
}

Pair = tuple[int, int]


class Sides:
    """A run, seen as one stream `main` and side streams. Of a racing pair the first was issued first."""

    def __init__(self, main: str) -> None:
        self.traced, self.main = Traced(), main
        self.ops = self.traced.ops
        self.names = [name for name in self.traced.streams() if name != main]
        pairs = sorted(self.traced.races(), key=self._gap)  # first those where one sees that it went wrong
        # A side stream uses what the current one writes before.
        self.early = [(i, j) for i, j in pairs if self._on_main(i) and not self._on_main(j)]
        second = [(i, j) for i, j in pairs if not self._on_main(i) and self._on_main(j)]
        # The current stream reads what a side stream writes before, or writes what a side stream reads before.
        self.unjoined = [(i, j) for i, j in second if self.ops[i].writes & self.ops[j].reads]
        self.overwritten = [pair for pair in second if pair not in self.unjoined]
        self.other = [pair for pair in pairs if pair not in [*self.early, *second]]

    def _on_main(self, index: int) -> bool:
        return self.ops[index].stream == self.main

    def _gap(self, pair: Pair) -> float:
        """Microseconds from the end of the first to the start of the second; below 0 if they overlap."""
        return self.traced.times[pair[1]][0] - self.traced.times[pair[0]][1]

    def words(self, pair: Pair) -> str:
        one, other = map(self.traced.words, pair)
        luck = " This time they ran one after the other, by luck." if self._gap(pair) >= 0 else ""
        return f"Nothing orders these two: {one}; {other}.{luck}"

    def start_kind(self, recorded: bool) -> tuple[str, int]:
        """Why side streams began too early, a key of START; and how many, if they wait for nothing.

        recorded: whether record_stream was called.
        """
        if not any(op.kind == "wait" for op in self.ops):
            return ("only record_stream" if recorded else "nothing"), 0
        first = {self.ops[j].stream: (i, j) for i, j in sorted(self.early, reverse=True)}
        return _together([self._before_start(side, *first[side]) for side in sorted(first)])

    def _before_start(self, side: str, written: int, used: int) -> str:
        """What `side` waited for before its kernel `used`, which needs what the kernel `written` writes."""
        waits = self._waits(side)
        kinds = [self._kind_of_wait(wait, side, self.main, written) for wait in waits if wait < used]
        if kinds:
            return kinds[0]
        begins = self.traced.kernels(side)[0]
        asked = [self.traced.latest_record(wait) for wait in self._waits(self.main)]
        early = [record for record in asked if record is not None and record < begins]
        if any(self.ops[record].stream == side for record in early):
            return "backwards"
        return "late" if waits else "none"

    def join_kind(self) -> tuple[str, int]:
        """Why the current stream did not wait, a key of JOIN; and for how many, if it waits for nothing of theirs."""
        last = {self.ops[i].stream: (i, j) for i, j in sorted(self.unjoined)}
        return _together([self._before_sum(side, *last[side]) for side in sorted(last)])

    def _before_sum(self, side: str, written: int, used: int) -> str:
        """What the current stream waited for before its kernel `used`, as far as `side` is meant."""
        meant = {wait: self._kind_of_wait(wait, self.main, side, written) for wait in self._waits(self.main)}
        meant = {wait: kind for wait, kind in meant.items() if kind != "another"}
        before = [kind for wait, kind in meant.items() if wait < used]
        return before[0] if before else "late" if meant else "none"

    def _waits(self, stream: str) -> list[int]:
        return [
            index
            for index, op in enumerate(self.ops)
            if op.kind == "wait" and op.stream == stream and not str(op.event).startswith(OF_THE_ALLOCATOR)
        ]

    def _kind_of_wait(self, wait: int, waiting: str, wanted: str, written: int) -> str:
        record = self.traced.latest_record(wait)
        if record is None:
            return "never recorded"
        if self.ops[record].stream == wanted:
            return "too early" if record < written else "in order"
        return "itself" if self.ops[record].stream == waiting else "another"

    def overwritten_sides(self) -> list[str]:
        return sorted({self.ops[i].stream for i, _ in self.overwritten})

    def freed_for(self) -> set[str]:
        """The streams that the allocator asks before it gives a block away."""
        return {
            op.stream for op in self.ops if op.kind == "record" and str(op.event).startswith(OF_THE_ALLOCATOR)
        }


def _together(kinds: list[str]) -> tuple[str, int]:
    """One kind for all streams, and how many there are if it is the plain one."""
    known = sorted(set(kinds) - {"none"})
    return (known[0], 0) if known else ("none", len(kinds))
