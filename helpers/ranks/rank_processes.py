"""The processes of one call of `run`, from the launcher's side: started, listened to, asked, ended."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing.connection import Connection, wait
from typing import Any

import torch.distributed as dist
import torch.multiprocessing as mp

from helpers.processes.fork_server import fork_server, no_main_module, started
from helpers.processes.process_tree import end_tree
from helpers.ranks import rank as in_rank
from helpers.ranks.printed import Printed
from helpers.ranks.wires import Ends, Inbox, wires

JOINED = 5.0  # seconds in which a killed process must be gone
ANSWER_SECONDS = 1.0  # seconds in which a rank must say where it is
_IN_MAIN = re.compile(rb'ranks/rank\.py", line \d+ in main\n')  # the last frame of interest in a dump


class Member:
    """One rank: its process, its pipes, and what it came to.

    ended: None while it runs; else the message that it ended with, or kind "died" with its exit code.
    """

    def __init__(self, rank: int, process: Any, ends: Ends) -> None:
        self.rank, self.process, self.ends = rank, process, ends
        self.ready = self.joined = self.gone = False
        self.ended: dict[str, Any] | None = None
        self.dump = b""
        self.inbox, self.pieces = Inbox(), Inbox()
        self.open: list[Connection] = list(ends.all())
        for end in self.open:
            os.set_blocking(end.fileno(), False)

    def lost_another(self) -> bool:
        """Whether it failed only because another rank was gone."""
        text = self.ended.get("text", "") if self.ended else ""
        return bool(re.search(r"Connection (closed|reset) by|Broken pipe", text))

    def waited_for(self) -> list[Any]:
        return self.open if self.gone else [*self.open, self.process.sentinel]


class RankProcesses:
    """All ranks of a call."""

    def __init__(self, order: in_rank.Order, method: str) -> None:
        self.printed = Printed(order.ranks)
        self.store: dist.TCPStore | None = None  # the launcher's end, there as long as the ranks are
        self.members = _started(order, method)

    def is_ready(self) -> bool:
        return all(member.ready or member.ended for member in self.members)

    def has_joined(self) -> bool:
        return all(member.joined or member.ended for member in self.members)

    def busy(self) -> list[Member]:
        return [member for member in self.members if member.ended is None]

    def failed(self) -> list[Member]:
        return [member for member in self.members if member.ended and member.ended["kind"] != "returned"]

    def listen(self, until: float) -> bool:
        """Reads what comes next; False if nothing came until then, or it is later, however much there is to read."""
        if time.monotonic() > until:
            return False
        live = {end: member for member in self.members for end in member.waited_for()}
        ready = wait(list(live), timeout=max(0.0, until - time.monotonic()))
        for end in ready:
            if isinstance(end, Connection) and end in live[end].open:
                self._read(live[end], end)
        for end in ready:
            if not isinstance(end, Connection):
                self._ended(live[end])
        return bool(ready)

    def _read(self, member: Member, end: Connection) -> bool:
        """Reads a chunk; False where there is none."""
        # Not recv_bytes: it would wait for ever for the rest of what was sent in part.
        try:
            chunk = os.read(end.fileno(), 1 << 20)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            member.open.remove(end)
            return False
        ends = member.ends
        if end is ends.channel:
            self._heard(member, chunk)
        elif end is ends.output:
            member.pieces.add(chunk)
            for kind, text in member.pieces.pieces():
                self.printed.take(member.rank, kind, text)
        elif end is ends.raw:
            self.printed.take_raw(member.rank, chunk)
        else:
            member.dump += chunk[: max(0, (1 << 18) - len(member.dump))]
        return True

    def _heard(self, member: Member, chunk: bytes) -> None:
        member.inbox.add(chunk)
        try:
            for message in member.inbox.messages():
                if message["kind"] in ("ready", "joined"):
                    member.ready = True
                    member.joined = message["kind"] == "joined"
                elif member.ended is None:
                    self._end(member, message)
        except (ValueError, TypeError, KeyError):
            if member.ended is None:
                self._end(member, dict(kind="garbled", at=time.monotonic()))
            member.open.remove(member.ends.channel)

    def _end(self, member: Member, message: dict[str, Any]) -> None:
        self._drain(member)
        member.ended = message
        self.printed.ended(member.rank)

    def _ended(self, member: Member) -> None:
        """A process is gone; what it had sent comes first."""
        member.gone = True
        if member.ended is None:
            self._drain(member)
        if member.ended is None:
            member.process.join(JOINED)
            self._end(member, dict(kind="died", code=member.process.exitcode, at=time.monotonic()))

    def _drain(self, member: Member) -> None:
        """Reads what still lies in a rank's pipes."""
        for end in list(member.open):
            for _ in range(1000):  # what it started may print for ever
                if end not in member.open or not self._read(member, end):
                    break

    def ask(self, members: list[Member]) -> None:
        """Makes these ranks write where they are into their dump; waits until they have, or shortly."""
        asked = [member for member in members if member.ready and in_rank.ASK is not None]
        for member in asked:
            member.dump = b""
            try:
                os.kill(member.process.pid, in_rank.ASK)
            except ProcessLookupError:
                pass
        until = time.monotonic() + ANSWER_SECONDS
        while any(not _IN_MAIN.search(member.dump) for member in asked) and self.listen(until):
            pass

    def end(self) -> None:
        """Ends every process, and what it started."""
        for member in self.members:
            end_tree(member.process.pid)
        for member in self.members:
            member.process.join(JOINED)
        for member in self.members:
            member.ends.close()
        self.store = None


def _started(order: in_rank.Order, method: str) -> list[Member]:
    return started(lambda: _start(order, method)) if method == "forkserver" else _start(order, method)


def _start(order: in_rank.Order, method: str) -> list[Member]:
    pipes = wires(order.ranks, fork_server() if method == "forkserver" else mp.get_context(method))
    try:
        # A forked rank would keep what is hidden; the others would run __main__ again.
        with nullcontext() if method == "fork" else no_main_module():
            running = mp.start_processes(
                in_rank.main, (order, pipes), nprocs=order.ranks, start_method=method, join=False
            )
    except BaseException:
        pipes.close()  # ranks that have started end when their leash is let go
        raise
    for ends in pipes.theirs:
        ends.close()
    return [
        Member(rank, process, ends)
        for rank, (process, ends) in enumerate(zip(running.processes, pipes.ours, strict=True))
    ]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds the stop button back until the block has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
