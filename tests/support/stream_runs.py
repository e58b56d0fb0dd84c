"""Runs the programs of stream_programs.py: on threads in real time, and on the simulated device in virtual time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import torch
from torch import Tensor

from helpers import streams
from helpers.streams import threads
from helpers.streams.program import Op
from helpers.streams.tools import Run as Kernel
from tests.support.stream_programs import Values, first_values, outputs

COSTS = (0, 1, 7, 20, 50, 300)  # of a kernel, in microseconds: whole, so that times are exact


def with_costs(draw: random.Random, program: list[Op]) -> list[Op]:
    """The program with other durations."""
    return [replace(op, duration=float(draw.choice(COSTS))) if op.kind == "kernel" else op for op in program]


def issue(program: list[Op], api: ModuleType, launch: Callable[[int, Op], None]) -> None:
    """Issues a program to streams and waits for them. launch(place, op) queues a kernel on the current stream.

    One thing is written in several ways, in turn: as a method of the stream or of the event, with a stream given or
    the current one.
    """
    queues = {name: api.Stream(name=name) for name in sorted({op.stream for op in program})}
    events = {name: api.Event() for name in sorted({op.event for op in program if op.event})}
    for place, op in enumerate(program):
        stream, event = queues[op.stream], events.get(op.event)
        if op.kind == "kernel":
            with api.stream(stream):
                launch(place, op)
        elif op.kind == "host_sync":
            stream.synchronize() if place % 2 else stream.record_event().synchronize()
        elif place % 3 == 0:
            stream.record_event(event) if op.kind == "record" else stream.wait_event(event)
        elif place % 3 == 1:
            event.record(stream) if op.kind == "record" else event.wait(stream)
        else:
            with stream:
                event.record() if op.kind == "record" else event.wait()
    api.synchronize()


def values_on_threads(program: list[Op], draw: random.Random) -> Values:
    """What the memories hold after a run whose kernels take up to a third of a millisecond each."""
    values = first_values(program)

    def compute(place: int, op: Op, seconds: float) -> None:
        inputs = [values[name] for name in sorted(op.reads)]
        time.sleep(seconds)
        values.update(outputs(place, op, inputs))

    issue(program, threads, lambda *which: threads.launch(compute, *which, draw.random() / 3e3))
    return values


@dataclass(frozen=True)
class Run:
    """What came out of a run on the simulated device. truth: the values in program order, as the device tells them.

    Everything is plain data: it travels from the process that has the device.
    """

    values: Values
    truth: Values
    trace: list[Op]
    timeline: list[Kernel]
    clock: float


def runs_on_device(programs: Sequence[list[Op]], launch: float = 5.0) -> list[Run]:
    """One run a program. launch: microseconds that a launch keeps the host. The device is installed."""
    return [_on_device(program, launch) for program in programs]


def _on_device(program: list[Op], launch: float) -> Run:
    compute = _kernel()
    memory = {name: torch.tensor(value).to(streams.DEVICE) for name, value in first_values(program).items()}
    own = [torch.empty((), dtype=torch.int64, device=streams.DEVICE) for _ in program]  # each kernel writes

    def queue(place: int, op: Op) -> None:
        reads = [memory[name] for name in sorted(op.reads)]
        writes = [memory[name] for name in sorted(op.writes)]
        with streams.costs(compute=op.duration, launch=launch):
            compute(reads, [*writes, own[place]], place)

    streams.synchronize()
    streams.reset()
    issue(program, streams, queue)
    trace, timeline, clock = streams.trace(), streams.timeline(), streams.clock()
    values = {name: tensor.item() for name, tensor in memory.items()}
    truth = {name: streams.truth(tensor).item() for name, tensor in memory.items()}
    return Run(values, truth, trace, timeline, clock)


_libraries: list[torch.library.Library] = []  # a registration lives as long as this


def _kernel() -> Callable[[list[Tensor], list[Tensor], int], None]:
    """An operation that computes as a kernel of a program does, and knows nothing of the device."""
    if not _libraries:
        library = torch.library.Library("stream_runs", "DEF")
        library.define("compute(Tensor[] reads, Tensor(a!)[] writes, int place) -> ()")
        library.impl("compute", _compute, "CPU")
        _libraries.append(library)
    return torch.ops.stream_runs.compute.default


def _compute(reads: list[Tensor], writes: list[Tensor], place: int) -> None:
    op = Op("", "kernel", writes=frozenset(map(str, range(len(writes)))))
    computed = outputs(place, op, [tensor.item() for tensor in reads])
    for at, tensor in enumerate(writes):
        tensor.fill_(computed[str(at)])
