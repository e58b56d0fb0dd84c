"""Which kernels of a program race, by trying: every order in which host and streams can run it is walked through.

The machine: a host that issues ops in order, a first-in-first-out queue for each stream; a kernel begins and ends in
two steps; a wait keeps the record that it saw when it was issued. It is slow and simple, and knows nothing of clocks:
the quick way (happens_before) is held against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helpers.streams.program import Op

State = tuple[int, tuple[tuple[int, bool], ...]]
"""How many ops the host has issued, and for each stream how many ops are over and whether a kernel is running."""


class Machine:
    """All states that a program can be in."""

    def __init__(self, program: Sequence[Op]) -> None:
        self.program = program
        self.streams = sorted({op.stream for op in program})
        self.queues = [
            [index for index, op in enumerate(program) if op.stream == stream and op.kind != "host_sync"]
            for stream in self.streams
        ]
        self.place = {index: at for queue in self.queues for at, index in enumerate(queue)}
        self.seen_record: dict[int, int] = {}
        last: dict[str | None, int] = {}
        for index, op in enumerate(program):
            if op.kind == "record":
                last[op.event] = index
            elif op.kind == "wait" and op.event in last:
                self.seen_record[index] = last[op.event]

    def is_over(self, state: State, index: int) -> bool:
        done, _ = state[1][self.streams.index(self.program[index].stream)]
        return self.place[index] < done

    def steps(self, state: State) -> Iterator[tuple[State, int | None]]:
        """Each state that can come next, and the index of the kernel that begins, if one does."""
        issued, streams = state
        if issued < len(self.program) and self.host_may_go_on(state):
            yield (issued + 1, streams), None
        for at, (done, running) in enumerate(streams):
            queue = self.queues[at]
            if done == len(queue) or queue[done] >= issued:
                continue
            index = queue[done]
            op = self.program[index]
            if op.kind == "kernel" and not running:
                yield (issued, _with(streams, at, (done, True))), index
            elif op.kind != "wait" or index not in self.seen_record:
                yield (issued, _with(streams, at, (done + 1, False))), None
            elif self.is_over(state, self.seen_record[index]):
                yield (issued, _with(streams, at, (done + 1, False))), None

    def host_may_go_on(self, state: State) -> bool:
        op = self.program[state[0]]
        if op.kind != "host_sync":
            return True
        at = self.streams.index(op.stream)
        return state[1][at][0] == sum(index < state[0] for index in self.queues[at])


def racing_pairs(program: Sequence[Op]) -> set[tuple[int, int]]:
    """All pairs (i, j), i < j, of kernels that touch the same memory, one of them writing, where in some order j begins
    before i has ended."""
    machine = Machine(program)
    partners = {
        j: [i for i in range(j) if _conflict(program[i], program[j])]
        for j, op in enumerate(program)
        if op.kind == "kernel"
    }
    first: State = (0, ((0, False),) * len(machine.streams))
    found, known, left = set(), {first}, [first]
    while left:
        state = left.pop()
        for after, begins in machine.steps(state):
            if begins is not None:
                found |= {(i, begins) for i in partners[begins] if not machine.is_over(state, i)}
            if after not in known:
                known.add(after)
                left.append(after)
    return found


def _conflict(one: Op, other: Op) -> bool:
    return bool(one.writes & (other.reads | other.writes) or one.reads & other.writes)


def _with(streams: tuple[tuple[int, bool], ...], at: int, value: tuple[int, bool]) -> tuple:
    return (*streams[:at], value, *streams[at + 1 :])
