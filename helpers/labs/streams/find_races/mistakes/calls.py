"""What people write for 06.find_races: what a call leaves behind, and programs that are nearly empty."""

from __future__ import annotations

from typing import Any

from helpers.labs.streams.find_races.compared import Pairs
from helpers.labs.streams.find_races.exercise import DURATIONS, HOST, LEFT, SET, find_races
from helpers.labs.streams.shared.happens_before import Clock, HappensBefore, join, races
from helpers.streams.program import Op

_marks: dict[str | None, Clock] = {}
_accesses: dict[str, Any] = {}


@find_races.mistake(breaks=LEFT)
def kept_between_calls(program: list[Op]) -> Pairs:
    """What a call finds depends on the calls before it. Perhaps a dict, a list or a set stands outside of the
    function, or is a default value of an argument: each of these is made once, and not in each call.
    """

    class Marks(HappensBefore):
        def __init__(self) -> None:
            super().__init__()
            self.marks = _marks

    return races(program, Marks)


@find_races.variant(kept_between_calls)
def _(program: list[Op]) -> Pairs:
    class Accesses(HappensBefore):
        def __init__(self) -> None:
            super().__init__()
            self.accesses = _accesses

    return races(program, Accesses)


@find_races.variant(kept_between_calls)
def _(program: list[Op], found: Pairs = set()) -> Pairs:  # noqa: B006  the mistake
    found |= races(program)
    return set(found)


@find_races.mistake(breaks=LEFT)
def empties_the_program(program: list[Op]) -> Pairs:
    """The list that was given has lost ops. Perhaps they were taken out with pop or remove. Read it with a `for`, or
    work on a copy.
    """
    found = HappensBefore()
    for index in range(len(program)):
        found.issue(index, program.pop(0))
    return found.pairs


@find_races.mistake(breaks=DURATIONS)
def no_time_no_race(program: list[Op]) -> Pairs:
    """Kernels that take no time are in no race. Perhaps they were left out, or compared by their times. What they
    read and write is the same.
    """
    found = races(program)
    return {pair for pair in found if all(program[index].duration for index in pair)}


@find_races.mistake(breaks=SET)
def empty_dict(program: list[Op]) -> Pairs:
    """Where there is nothing to find a dict was returned. {} is an empty dict, the empty set is written set()."""
    return races(program) if program else {}  # type: ignore[return-value]


@find_races.mistake(breaks=HOST)
def idle_stream_raises(program: list[Op]) -> Pairs:
    """A host_sync of a stream that was given nothing raises KeyError. A dict has no entry for a stream before its first
    op: ask with get(stream, {}), or take a defaultdict.
    """

    class Indexed(HappensBefore):
        def issue(self, index: int, op: Op) -> None:
            if op.kind == "host_sync":
                join(self.host, self.clocks[op.stream])
            else:
                super().issue(index, op)

    return races(program, Indexed)
