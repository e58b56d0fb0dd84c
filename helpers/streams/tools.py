"""What programs on the simulated device use beside torch: its clock, its costs, its trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from helpers.streams.arrivals import value_in_order
from helpers.streams.costs import Cost
from helpers.streams.extents import names_of_parts
from helpers.streams.kernels import queue
from helpers.streams.machine import machine
from helpers.streams.program import Op
from helpers.streams.queues import forget_streams
from helpers.streams.tensor import DEVICE, SimTensor


class Run(NamedTuple):
    """A kernel of the timeline; times in microseconds since the last reset."""

    name: str
    stream: str
    start: float
    end: float


def reset() -> None:
    """As if the device were new: time 0, no trace, no work, no memory to reuse, the default stream current."""
    with machine.lock:
        machine.clear()
        forget_streams()


def empty(*size: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """`torch.empty(*size, dtype=dtype, device="sim")`."""
    return torch.empty(*size, dtype=dtype, device=DEVICE)


def sleep(ms: float) -> None:
    """Queues a kernel that does nothing for so many milliseconds of virtual time."""
    with machine.lock:
        queue("sleep", [], [], lambda: None, lambda: None, cost=ms * 1e3)


def host_works(ms: float) -> None:
    """The host is busy for so many milliseconds of virtual time: it reads a file, it runs Python."""
    with machine.lock:
        machine.host += ms * 1e3
        machine.execute()


def clock() -> float:
    """The host's virtual time in seconds since the last reset."""
    return machine.host / 1e6


@contextmanager
def costs(
    kernels: Mapping[str, Cost] | None = None,
    *,
    kernel: Cost | None = None,
    launch: float | None = None,
    pinned: float | None = None,
    pageable: float | None = None,
    query: float | None = None,
    **named: Cost,
) -> Iterator[None]:
    """A block in which things cost something else: `with costs(launch=0, mm=300.0): ...`.

    kernel: microseconds, or a function from bytes touched to microseconds, of kernels not named.
    launch, query: what issuing a kernel and asking an event or stream cost the host, in microseconds.
    pinned, pageable: GB/s of copies between the host and the device.
    kernels, and other keywords: costs of kernels by name, as `timeline()` shows it ("mm", "normal_").
    """
    before = machine.costs
    machine.costs = before.changed(
        {**(kernels or {}), **named},
        kernel=kernel,
        launch=launch,
        pinned=pinned,
        pageable=pageable,
        query=query,
    )
    try:
        yield
    finally:
        machine.costs = before


def truth(tensor: torch.Tensor) -> torch.Tensor:
    """What a tensor would hold had everything run in program order: a CPU tensor; the host does not wait.

    The host's own decisions are taken as they were: a number that it read, the length of what `nonzero` found.
    """
    with machine.lock:
        if isinstance(tensor, SimTensor):
            return tensor.shadow.detach().clone()
        return value_in_order(tensor)


def timeline() -> list[Run]:
    """The kernels and copies issued since the last reset, in the order of issue, with their times."""
    return [
        Run(entry.name, entry.stream, entry.start, entry.end)
        for entry in machine.entries
        if entry.kind == "kernel"
    ]


def trace() -> list[Op]:
    """All that was issued since the last reset, in the order of issue.

    Memory has the name of the physical block ("b1"; "h1": page-locked memory of the host). Where parts of a block
    were used apart, each part is named by its bytes ("b1[0:512]"; "b1[0:4 and 9 more]": a column of ten rows).
    A tensor that lies in more than 4096 runs of bytes counts as all from its first byte to its last.
    """
    names = names_of_parts(part for entry in machine.entries for part in (*entry.reads, *entry.writes))
    return [
        Op(
            entry.stream,
            entry.kind,
            frozenset(name for part in entry.reads for name in names[part]),
            frozenset(name for part in entry.writes for name in names[part]),
            entry.event,
            entry.duration,
            entry.name,
        )
        for entry in machine.entries
    ]
