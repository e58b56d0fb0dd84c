"""The simulated machine: the host's clock, the queues of the device, and what was issued.

The host *issues* a kernel: its start and end are known at once, since all that it waits for was issued before.
It is *executed* later, in the order of virtual time: it reads its inputs at `start` and writes its outputs at
`end`. Nothing sleeps and nothing runs beside Python, so every run of a program is the same, its races too.
All times here are microseconds since the last reset.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from helpers.streams.costs import Costs
from helpers.streams.extents import Extent

_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
SEED = 0  # of the device's generator after a reset


@dataclass(frozen=True)
class Entry:
    """One line of the trace: an Op before its memory has got its final names, and its times."""

    stream: str
    kind: str
    reads: tuple[Extent, ...] = ()
    writes: tuple[Extent, ...] = ()
    event: str | None = None
    name: str = ""
    start: float = 0.0
    end: float = 0.0
    duration: float = 0.0


@dataclass(frozen=True)
class Mark:
    """One record of an event: when the stream gets there. A mark from before a reset counts for nothing."""

    time: float
    epoch: int


class Machine:
    """Everything that a reset clears."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.epoch = 0
        self.generator = torch.Generator(device="cpu")
        self.clear()

    def clear(self) -> None:
        self.epoch += 1
        self.host = 0.0
        self.costs = Costs()
        self.tails: dict[int, float] = {}  # of each stream used: when it will have done all that it was given
        self.entries: list[Entry] = []
        self.pending: list[tuple[float, int, int, Callable[[], None]]] = []
        self.arriving: list[tuple[torch.Tensor, torch.Tensor]] = []  # copies to the host (arrivals.py)
        self.issued = 0
        self.error: BaseException | None = None
        self.pool: dict[tuple[int, int], list[Any]] = {}
        self.labels: dict[tuple[str, int], str] = {}
        self.taken: set[str] = set()
        self.generator.manual_seed(SEED)

    def label(self, kind: str, serial: int, name: str = "") -> str:
        """What the trace calls this thing: its own name, or `kind` and a number, unlike all others."""
        known = self.labels.get((kind, serial))
        if known is None:
            number = 1
            known = name or f"{kind}{number}"
            while known in self.taken:
                number += 1
                known = f"{name} ({number})" if name else f"{kind}{number}"
            self.taken.add(known)
            self.labels[kind, serial] = known
        return known

    def tail(self, stream: Any) -> float:
        """When this stream will have done all that it was given so far."""
        return self.tails.get(stream.stream_id, 0.0)

    def launch(
        self,
        stream: Any,
        name: str,
        cost: float,
        begin: Callable[[], None],
        finish: Callable[[], None],
        reads: Iterable[Extent] = (),
        writes: Iterable[Extent] = (),
    ) -> float:
        """Issues a kernel on `stream`; gives the time of its end."""
        self.host += self.costs.launch
        start = max(self.tail(stream), self.host)
        end = self.tails[stream.stream_id] = start + cost
        self.entries.append(
            Entry(stream.label, "kernel", tuple(reads), tuple(writes), None, name, start, end, float(cost))
        )
        self.issued += 1
        # At one time, what was issued first comes first: whoever waits was issued later than what it waits for.
        heapq.heappush(self.pending, (start, self.issued, 0, begin))
        heapq.heappush(self.pending, (end, self.issued, 1, finish))
        self.execute()
        return end

    def execute(self) -> None:
        """Does every read and write up to the host's present."""
        if not self.pending or self.pending[0][0] > self.host:
            return
        # Keeps autograd, version counters and modes out of the kernels' own work. Some of these act when they are
        # made, others when they are entered: made beforehand, they would not undo each other.
        with (
            torch._C._AutoDispatchBelowADInplaceOrView(),
            torch._C._DisableTorchDispatch(),
            torch._C.DisableTorchFunction(),
            torch._C._ExcludeDispatchKeyGuard(_AUTOCAST),
            torch.no_grad(),
        ):
            while self.pending and self.pending[0][0] <= self.host:
                act = heapq.heappop(self.pending)[3]
                try:
                    act()
                except Exception as error:
                    self.error = self.error or error

    def wait_until(self, time: float) -> None:
        """The host waits; the error of a kernel that failed meanwhile surfaces here."""
        self.host = max(self.host, time)
        self.execute()
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def wait_for_stream(self, stream: Any) -> None:
        """The host waits for all that was issued on `stream`."""
        self.entries.append(Entry(stream.label, "host_sync"))
        self.wait_until(self.tail(stream))

    def saw(self, event: str) -> None:
        """Notes that the host knows the last mark of `event` to be passed: a wait, on a stream of its own."""
        own = self.label("host", len(self.entries))
        self.entries.append(Entry(own, "wait", event=event))
        self.entries.append(Entry(own, "host_sync"))


machine = Machine()
