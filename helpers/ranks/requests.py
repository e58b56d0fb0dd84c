"""Messages and collectives under way, and what a program holds of them: for groups in memory (see thread_group.py)."""

from __future__ import annotations

import linecache
import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.ranks import collectives
from helpers.ranks.scheduler import Disagreement, Scheduler

LIBRARY = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)


@dataclass
class Wires:
    """What the ranks of one run share: messages under way, and collectives in which they meet.

    late: bytes are copied when a wait forces it; otherwise as soon as both sides are there.
    """

    scheduler: Scheduler
    late: bool
    sends: dict[Any, deque[Message]] = field(default_factory=lambda: defaultdict(deque))
    receives: dict[Any, deque[Message]] = field(default_factory=lambda: defaultdict(deque))
    meetings: dict[Any, list[Meeting]] = field(default_factory=lambda: defaultdict(list))
    works: list[Work] = field(default_factory=list)


class Message:
    """One side of a message, and the other once it is there."""

    def __init__(self, rank: int, peer: int | None, tensor: Tensor) -> None:
        self.rank, self.peer, self.tensor = rank, peer, tensor
        self.partner: Message | None = None
        self.copied = False

    def meets(self, receiver: Message) -> None:
        self.partner, receiver.partner = receiver, self

    def deliver(self) -> None:
        """Copies the bytes, once; called on either side."""
        if self.copied or self.partner is None:
            return
        sender, receiver = (self, self.partner) if self.sends else (self.partner, self)
        sender.copied = receiver.copied = True
        _bytes(receiver.tensor).copy_(_bytes(sender.tensor))

    sends = False


class Meeting:
    """One collective: what each rank brought. deliver: copies what comes out of it into a rank's tensors."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.brought: dict[int, collectives.Call] = {}
        self.outcome: Any = None

    def join(self, rank: int, call: collectives.Call) -> None:
        for other, theirs in self.brought.items():
            if found := call.differs_from(theirs):
                what, mine, its = found
                raise Disagreement(
                    f"Ranks {other} and {rank} meet in a collective and differ in its {what}: "
                    f"rank {other} calls {its}, rank {rank} calls {mine}.",
                    what,
                )
        self.brought[rank] = call

    def complete(self) -> bool:
        return len(self.brought) == self.size

    def deliver(self, rank: int) -> None:
        """Works out the result from what the ranks hold now, the first time; then fills this rank's tensors."""
        if self.outcome is None:
            self.outcome = self.brought[rank].outcome([self.brought[r] for r in range(self.size)])
        self.brought[rank].fill(self.outcome[rank])


class Work(dist.Work):
    """A request. done: makes its data visible; called once."""

    def __init__(
        self, wires: Wires, kind: str, peer: int | None, ready: Callable[[], bool], done: Callable[[], None]
    ) -> None:
        super().__init__()
        self.wires, self.kind, self.peer, self.place = wires, kind, peer, _place()
        self.ready, self._done = ready, done
        self.seen = self.finished = False
        self.rank = wires.scheduler._me().number
        self.source: Message | None = None
        self.tensors: list[Tensor] = []
        self._then: list[Callable[[], None]] = []
        wires.works.append(self)

    def wait(self, timeout: Any = None) -> bool:
        self.wires.scheduler.wait_until(self.ready, self.kind, self.peer, self.place)
        self.finish()
        if not self.seen:
            self.seen = True
            done = {"send": "sent", "isend": "sent", "recv": "received", "irecv": "received"}
            self.wires.scheduler.tell(done.get(self.kind, "waited"), self.peer, what=self.kind)
        return True

    def finish(self) -> None:
        if not self.finished:
            self.finished = True
            self._done()
            for then in self._then:
                then()

    def is_completed(self) -> bool:
        if not self.ready() and not self.wires.scheduler.let_others() and not self.ready():
            self.wires.scheduler.fail_by_deadlock(self.kind, self.peer, self.place)
        if self.ready():
            self.finish()
            self.seen = True
        return self.finished

    is_success = is_completed

    def synchronize(self) -> None:
        self.wait()

    block_current_stream = synchronize

    def exception(self) -> None:
        return None

    def source_rank(self) -> int:
        assert self.source is not None and self.source.partner is not None
        return self.source.partner.rank

    _source_rank = source_rank

    def result(self) -> list[Tensor]:
        return self.tensors

    def get_future(self) -> Future:
        return Future(self)


class Future:
    """As torch.futures.Future, but it lets other ranks run while it waits."""

    def __init__(self, work: Work, earlier: Future | None = None, step: Callable[[Any], Any] | None = None):
        self._work, self._earlier, self._step = work, earlier, step
        self._values: list[Any] = []
        self._error: BaseException | None = None

    def wait(self) -> Any:
        self._work.wait()
        return self.value()

    def value(self) -> Any:
        if not self._values and self._error is None:
            self._run()
        if self._error is not None:
            raise self._error
        return self._values[0]

    def then(self, callback: Callable[[Any], Any]) -> Future:
        future = Future(self._work, self, callback)
        if self._work.finished:
            future._run()
        else:
            self._work._then.append(future._run)
        return future

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        self.then(callback)

    def done(self) -> bool:
        return self._work.is_completed()

    def _run(self) -> None:
        if self._values or self._error is not None:
            return
        try:
            value = self._work.tensors if self._step is None else self._step(self._earlier)
            self._values.append(value)
        except Exception as error:
            self._error = error


def _bytes(tensor: Tensor) -> Tensor:
    """Of a contiguous tensor. One element of a column is contiguous too, whatever its stride says."""
    return tensor.as_strided((tensor.numel(),), (1,)).view(torch.uint8)


def nbytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _place() -> str:
    """The line of the program that made a request, as text."""
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename.startswith(LIBRARY):
        frame = frame.f_back
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() if frame else ""
