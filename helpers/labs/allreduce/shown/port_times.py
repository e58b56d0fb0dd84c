"""When the ports of the ranks are busy: a run's log, replayed on a network with latency and bandwidth."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from helpers.ranks.in_threads import Event, in_threads


@dataclass(frozen=True)
class Transfer:
    """One message on its way: the sender's port is busy with it, and the receiver's."""

    sender: int
    receiver: int
    nbytes: int
    start: float
    end: float


def transfers(
    allreduce: Callable[[torch.Tensor, int, int], None], world: int, nbytes: int, alpha: float, beta: float
) -> list[Transfer]:
    """The messages of `allreduce(x, rank, world)` on ranks that are threads, as long as a network would take for them.

    What is sent, in which order, and who waits for what, is that of the run; the times are worked out: a message
    begins when both sides have asked for it and both ports are free, and takes alpha + bytes * beta. Adding takes no
    time here.
    """

    def on_rank() -> None:
        allreduce(torch.ones(nbytes // 4), dist.get_rank(), world)

    return replayed(in_threads(on_rank, ranks=world).log, alpha, beta)


@dataclass
class _Side:
    """A send or a receive that was asked for. when: at which time; end: of the message, once both sides are there."""

    when: float
    nbytes: int
    end: float | None = None


@dataclass
class _Network:
    alpha: float
    beta: float
    clock: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    out_free: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    in_free: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    done: list[Transfer] = field(default_factory=list)

    def carry(self, sender: int, receiver: int, send: _Side, receive: _Side) -> None:
        start = max(send.when, receive.when, self.out_free[sender], self.in_free[receiver])
        end = start + self.alpha + send.nbytes * self.beta
        send.end = receive.end = self.out_free[sender] = self.in_free[receiver] = end
        self.done.append(Transfer(sender, receiver, send.nbytes, start, end))


def replayed(log: Sequence[Event], alpha: float, beta: float) -> list[Transfer]:
    """The messages of a log, with times. Messages between the same two ranks keep their order."""
    network = _Network(alpha, beta)
    waiting: dict[Any, deque[_Side]] = defaultdict(deque)  # no partner yet
    unseen: dict[Any, deque[_Side]] = defaultdict(deque)  # no wait saw it yet
    for event in log:
        sends, peer = event.kind in ("send", "isend", "sent"), event.peer
        here, there = (event.rank, peer, sends), (peer, event.rank, not sends)
        if event.kind in ("send", "isend", "recv", "irecv"):
            side = _Side(network.clock[event.rank], event.nbytes)
            unseen[*here, event.kind].append(side)
            if not waiting[there]:
                waiting[here].append(side)
                continue
            other = waiting[there].popleft()
            pair = (side, other) if sends else (other, side)
            network.carry(*((event.rank, peer) if sends else (peer, event.rank)), *pair)
        elif event.kind in ("sent", "received"):
            side = unseen[*here, event.what].popleft()
            network.clock[event.rank] = max(network.clock[event.rank], side.end or 0.0)
    return network.done
