"""A slow link in software: on one machine, messages take the time they would take between machines.

Each rank has one full-duplex port: it sends one message at a time and receives one at a time, each for
alpha + bytes * beta seconds. The bytes really go over gloo, at memory's speed and while the modelled time
passes; then `wait` sleeps for what is left of it, so the cores stay free. Between the ports lies a switch with
room for everything: a message leaves the sender's port as soon as that is free, and waits for the receiver's.
A computation between isend or irecv and its wait counts as overlapped.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from helpers.ranks.group_calls import COLLECTIVES, Method, exchanged, size_in_bytes
from helpers.ranks.ports import Board, Port, collective_seconds

_opened = itertools.count()


@dataclass(frozen=True)
class Link:
    """alpha: seconds a message; beta: seconds a byte (1e-8 is 100 MB a second)."""

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if self.alpha < 0 or self.beta < 0:
            raise ValueError(f"A link's times are not negative: alpha={self.alpha}, beta={self.beta}")

    def seconds(self, nbytes: int) -> float:
        """How long one message keeps the sender's port busy, and the receiver's."""
        return self.alpha + nbytes * self.beta

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Slows this rank down: its messages and its collectives, in every group. Inside a process group.

        All ranks enter it together. Not slowed are calls that C++ makes by itself: DistributedDataParallel's
        own all-reduces (with a Python communication hook they are), and the functional collectives.
        """
        wire = Wire(self, _shared_board())
        with exchanged(wire.wrapped):
            yield


class Request:
    """What isend, irecv and asynchronous collectives return: the real request and the port's time."""

    def __init__(self, work: Any, end: Callable[[], float], wire: Wire) -> None:
        self._work, self._wire = work, wire
        self._compute_end, self._end = end, None
        self._lock = threading.Lock()

    def wait(self, *args: Any, **kwargs: Any) -> bool:
        done = self._work is None or self._work.wait(*args, **kwargs)
        self._wire.sleep_until(self._over())
        return done

    def is_completed(self) -> bool:
        return self._work.is_completed() and self._wire.clock() >= self._over()

    def get_future(self) -> torch.futures.Future:
        future: torch.futures.Future = torch.futures.Future()

        def complete() -> None:
            try:
                value = self._work.get_future().wait()
                self.wait()
            except Exception as error:  # noqa: BLE001 - whoever waits for the future gets it
                future.set_exception(error)
            else:
                future.set_result(value)

        threading.Thread(target=complete, daemon=True).start()
        return future

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def _over(self) -> float:
        """The moment when the port is free again; known once the real transfer is done."""
        with self._lock:
            if self._end is None:
                self._end = self._compute_end()
            return self._end


class Wire:
    """One rank's end of the link: its two ports, and what it has sent and received so far."""

    def __init__(
        self,
        link: Link,
        board: Board,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.link, self.board, self.clock, self._sleep = link, board, clock, sleep
        self.outgoing, self.incoming = Port(), Port()
        self._count: Counter[tuple[Any, ...]] = Counter()
        self._lock = threading.Lock()  # ranks may have threads, and futures do

    def wrapped(self, name: str, method: Method) -> Method:
        """The method of process groups `name`, slowed down."""
        if name == "send":
            return lambda group, tensors, peer, tag=0: self.send(
                (group.group_name, group.rank(), peer, tag),
                size_in_bytes(tensors),
                lambda: method(group, tensors, peer, tag),
            )
        if name == "recv":
            return lambda group, tensors, peer, tag=0: self.receive(
                (group.group_name, peer, group.rank(), tag),
                size_in_bytes(tensors),
                lambda: method(group, tensors, peer, tag),
            )
        if name == "recv_anysource":
            return lambda group, tensors, tag=0: self.receive_any(
                lambda peer: (group.group_name, peer, group.rank(), tag),
                size_in_bytes(tensors),
                lambda: method(group, tensors, tag),
            )
        return lambda group, *args, **kwargs: self.collective(
            (group.group_name, COLLECTIVES[name]),
            group.rank(),
            group.size(),
            [size_in_bytes(arg) for arg in args if isinstance(arg, (list, tuple, torch.Tensor))],
            lambda: method(group, *args, **kwargs),
        )

    def send(self, road: tuple[Any, ...], nbytes: int, post: Callable[[], Any]) -> Request:
        """road: group, sender, receiver, tag. The start is noted before the message can arrive."""
        seconds = self.link.seconds(nbytes)
        with self._lock:
            begin = self.outgoing.first_gap(self.clock(), seconds)
            self.board.write((*road, self._count[road]), begin)
            work = post()  # may refuse: then nothing was sent
            self._count[road] += 1
            end = self.outgoing.book(begin, seconds)
        return Request(work, lambda: end, self)

    def receive(self, road: tuple[Any, ...], nbytes: int, post: Callable[[], Any]) -> Request:
        with self._lock:
            work = post()
            key = (*road, self._count[road])
            self._count[road] += 1
        return Request(work, lambda: self._arrival(key, nbytes), self)

    def receive_any(
        self, road_from: Callable[[int], tuple[Any, ...]], nbytes: int, post: Callable[[], Any]
    ) -> Request:
        """Who sent is known when it is here; then it is that sender's next message."""
        work = post()

        def end() -> float:
            road = road_from(work._source_rank())
            with self._lock:
                key = (*road, self._count[road])
                self._count[road] += 1
            return self._arrival(key, nbytes)

        return Request(work, end, self)

    def collective(
        self, what: tuple[Any, ...], rank: int, world: int, sizes: list[int], post: Callable[[], Any]
    ) -> Request:
        """It starts when the last rank has called it, and keeps both ports busy for its whole time."""
        with self._lock:
            number = self._count[what]
            self._count[what] += 1
        self.board.write((*what, number, rank), self.clock())
        work = post()
        seconds = collective_seconds(what[-1], sizes, world, self.link.alpha, self.link.beta)

        def end() -> float:
            called = [self.board.read((*what, number, other)) for other in range(world)]
            start = max((moment for moment in called if moment is not None), default=self.clock())
            with self._lock:
                begin = start
                while (later := max(port.first_gap(begin, seconds) for port in self._ports())) > begin:
                    begin = later  # until both ports have the same gap
                return max(port.book(begin, seconds) for port in self._ports())

        request = Request(work, end, self)
        if work is None:  # the method itself has waited
            request.wait()
        return request

    def sleep_until(self, moment: float) -> None:
        if (left := moment - self.clock()) > 0:
            self._sleep(left)

    def _arrival(self, key: tuple[Any, ...], nbytes: int) -> float:
        start = self.board.read(key)
        with self._lock:
            return self.incoming.take(self.clock() if start is None else start, self.link.seconds(nbytes))

    def _ports(self) -> tuple[Port, Port]:
        return self.outgoing, self.incoming


def _shared_board() -> Board:
    """One board for all ranks of the default group, in a file that has no name any more when they have it."""
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    name = f"slow-link-{next(_opened)}"
    if rank == 0:
        with tempfile.TemporaryDirectory(prefix="slow-link-") as folder:
            path = Path(folder) / "board"
            Board.make(path)
            store.set(name, str(path))
            board = Board(path)
            store.wait([f"{name}-{other}" for other in range(1, dist.get_world_size())])
            return board
    path = Path(store.get(name).decode())
    if not path.exists():
        raise RuntimeError("The slow link joins ranks of one machine; this rank runs on another than rank 0.")
    board = Board(path)
    store.set(f"{name}-{rank}", "open")
    return board
