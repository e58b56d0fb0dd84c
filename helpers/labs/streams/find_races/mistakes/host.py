"""What people write for 06.find_races: host_sync, and ops that are alike."""

from __future__ import annotations

from helpers.labs.streams.find_races.compared import Pairs
from helpers.labs.streams.find_races.exercise import HOST, SET, TWICE, find_races
from helpers.labs.streams.find_races.mistakes.reach import Everywhere
from helpers.labs.streams.shared.happens_before import Clock, HappensBefore, join, races
from helpers.streams.program import Op


@find_races.mistake(breaks=HOST)
def host_sync_ignored(program: list[Op]) -> Pairs:
    """What the host has waited for was still reported. Whatever it issues afterwards, on whichever
    stream, begins after that.
    """
    return races(
        [op if op.kind != "host_sync" else Op(op.stream, "record", event="unused") for op in program]
    )


@find_races.mistake(breaks=HOST)
def device_synchronised(program: list[Op]) -> Pairs:
    """Work on a different stream counts as over after a host_sync. Perhaps it was taken for
    torch.cuda.synchronize(), which waits for all streams. It waits for the one that it names, and work on
    the others goes on.
    """

    class Device(Everywhere):
        def host_sync(self, op: Op, clock: Clock) -> None:
            self.all_is_over()

    return races(program, Device)


@find_races.variant(device_synchronised)
def _(program: list[Op]) -> Pairs:
    class Forgetting(HappensBefore):
        def host_sync(self, op: Op, clock: Clock) -> None:
            self.accesses.clear()

    return races(program, Forgetting)


@find_races.mistake(breaks=HOST)
def host_knows_one_stream(program: list[Op]) -> Pairs:
    """After a host_sync the kernels of its stream count as over, and what that stream had waited for does
    not. When a stream is idle, all that it had waited for on other streams is over as well: the host
    takes over the whole clock.
    """

    class OwnNumber(HappensBefore):
        def host_sync(self, op: Op, clock: Clock) -> None:
            join(self.host, {op.stream: clock.get(op.stream, 0)})

    return races(program, OwnNumber)


@find_races.variant(host_knows_one_stream)
def _(program: list[Op]) -> Pairs:
    class Forgetting(HappensBefore):
        def host_sync(self, op: Op, clock: Clock) -> None:
            for by_stream in self.accesses.values():
                by_stream.pop(op.stream, None)

    return races(program, Forgetting)


@find_races.variant(host_knows_one_stream)
def _(program: list[Op]) -> Pairs:
    class OnlyTheLast(HappensBefore):
        def issue(self, index: int, op: Op) -> None:
            if op.kind == "host_sync":
                self.host = {op.stream: self.clocks.get(op.stream, {}).get(op.stream, 0)}
            else:
                super().issue(index, op)

    return races(program, OnlyTheLast)


@find_races.mistake(breaks=HOST)
def host_not_copied(program: list[Op]) -> Pairs:
    """What the stream is given after the host_sync counts as over, too. Perhaps the host holds the stream's clock itself,
    which goes on with the stream. Join it into the host's own, or copy it.
    """

    class Alias(HappensBefore):
        def host_sync(self, op: Op, clock: Clock) -> None:
            self.host = clock

    return races(program, Alias)


@find_races.mistake(breaks=HOST)
def known_streams_only(program: list[Op]) -> Pairs:
    """A stream that is used for the first time after a host_sync was not held back. Perhaps only the
    streams that had been used so far were told. Keep a clock for the host, which every op takes over.
    """

    class Told(HappensBefore):
        def host_sync(self, op: Op, clock: Clock) -> None:
            for other in self.clocks.values():
                join(other, clock)

    return races(program, Told)


@find_races.mistake(breaks=HOST)
def host_replaces(program: list[Op]) -> Pairs:
    """After the second host_sync, what the first one waited for does not count as over. What the host has
    once seen over stays over. Perhaps its clock was replaced, where it should take the larger number for
    each stream.
    """

    class Latest(HappensBefore):
        def issue(self, index: int, op: Op) -> None:
            if op.kind == "host_sync":
                self.host = dict(self.clocks.get(op.stream, {}))
            else:
                super().issue(index, op)

    return races(program, Latest)


@find_races.mistake(breaks=TWICE)
def found_by_equality(program: list[Op]) -> Pairs:
    """Of two launches of one kernel, one was found in place of the other. Perhaps by program.index(op),
    or by a dict with ops as keys: equal Ops are one to these. Number them with enumerate.
    """
    kernels = [op for op in program if op.kind == "kernel"]
    numbers = [index for index, op in enumerate(program) if op.kind == "kernel"]
    same = dict(zip(numbers, map(program.index, kernels), strict=True))
    return {(same[i], same[j]) for i, j in races(program)}


@find_races.variant(found_by_equality)
def _(program: list[Op]) -> Pairs:
    index = {op: number for number, op in enumerate(program)}
    return {(index[program[i]], index[program[j]]) for i, j in races(program)}


class ByOp(HappensBefore):
    """Of equal Ops the last one alone is kept, as in a dict with ops as keys."""

    def kernel(self, index: int, op: Op, clock: Clock) -> None:
        super().kernel(index, op, clock)
        for memory in op.reads | op.writes:
            kept = self.accesses[memory][op.stream]
            kept[:-1] = [access for access in kept[:-1] if access[2] != op]


@find_races.variant(found_by_equality)
def _(program: list[Op]) -> Pairs:
    return {(program.index(program[i]), program.index(program[j])) for i, j in races(program, ByOp)}


@find_races.mistake(breaks=SET)
def with_itself(program: list[Op]) -> Pairs:
    """A kernel that reads and writes the same memory was reported with itself. A pair has two kernels.
    Perhaps it was entered before it was compared with what was there.
    """
    own = {(k, k) for k, op in enumerate(program) if op.reads & op.writes}
    return races(program) | own
