"""The processes in which answers are checked, from the kernel's side: started, listened to, ended.

A warm worker of the fork server waits ready, so that a check need not wait for one. The server has imported
torch but never computed, and stays on one thread.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import multiprocessing.util  # noqa: F401  before our own atexit: it joins children, which must be gone by then
import os
import struct
import sys
import threading
import warnings
from functools import cache
from multiprocessing.connection import Connection, wait
from typing import Any

from helpers.check.limits import TICK, Limits
from helpers.check.protocol import KEPT, ORPHAN, WHERE
from helpers.check.spec import Spec
from helpers.processes.fork_server import end_fork_server, fork_server, no_main_module, started
from helpers.processes.process_tree import end_tree

READY = 60.0  # seconds in which a child must be ready
PATIENCE = 5.0  # seconds in which a child that is late says where it is
STACK = b"most recent call first"  # as faulthandler writes it
UNKNOWN = 255  # what multiprocessing says of a child whose fork server died first


class Child:
    """A process that checks one answer: its channel, what it prints, where it hangs."""

    def __init__(
        self, pid: int, sentinel: int, channel: Connection, output: Connection, dump: Connection
    ) -> None:
        self.pid, self.sentinel = pid, sentinel
        self.channel, self._output, self._dump = channel, output, dump
        self.output, self.printed, self.dump, self._inbox = b"", 0, b"", b""
        self._live: list[Any] = [channel, output, dump, sentinel]

    def message(self, limits: Limits) -> tuple[str, Any]:
        """("message", data), ("ended", None), ("late", which limit) or ("garbled", None), reading pipes meanwhile."""
        late = ""
        while True:
            try:
                if (text := self._whole_message()) is not None:
                    return "message", json.loads(text)
            except ValueError:
                return "garbled", None
            if late:  # and no message came meanwhile
                return "late", late
            ready = wait(self._live, timeout=TICK)
            late = limits.over()
            for pipe in (self._output, self._dump):
                if pipe in ready:
                    self._read(pipe)
            if self.channel in ready:
                chunk = self._received()
                self._inbox += chunk
                if not chunk:
                    self._live.remove(self.channel)
            elif self.sentinel in ready:
                return "ended", None

    def _received(self) -> bytes:
        # Not recv_bytes: it would wait for ever for the rest of what an answer wrote into the pipe.
        try:
            return os.read(self.channel.fileno(), 1 << 16)
        except OSError:
            return b""

    def _whole_message(self) -> bytes | None:
        """The next message, as Connection.send_bytes frames it; None if it is not whole yet."""
        if len(self._inbox) < 4:
            return None
        (size,) = struct.unpack("!i", self._inbox[:4])
        if not 0 < size < 1 << 24:
            raise ValueError(size)
        if len(self._inbox) < 4 + size:
            return None
        text, self._inbox = self._inbox[4 : 4 + size], self._inbox[4 + size :]
        return text

    def say_where(self) -> None:
        """Asks a child that is late for the lines at which its threads are, and reads them."""
        try:
            os.kill(self.pid, WHERE)
        except ProcessLookupError:
            return
        # The first line may take its time where many processes want a core; the others follow at once.
        while self._dump in self._live and wait([self._dump], 0.1 if STACK in self.dump else PATIENCE):
            self._read(self._dump)

    def drain(self) -> None:
        """Reads what still lies in the pipes."""
        for pipe in (self._output, self._dump):
            if pipe in self._live:
                os.set_blocking(pipe.fileno(), False)
                try:
                    while pipe in self._live and self.printed < 1 << 24:
                        self._read(pipe)
                except BlockingIOError:
                    pass

    def _read(self, pipe: Connection) -> None:
        chunk = os.read(pipe.fileno(), 1 << 16)
        if not chunk:
            self._live.remove(pipe)
        elif pipe is self._output:
            self.printed += len(chunk)
            self.output += chunk[: max(0, 4 * KEPT - len(self.output))]
        else:
            self.dump += chunk[: max(0, 65536 - len(self.dump))]

    def kill(self) -> None:
        """Ends the child and everything that it started."""
        end_tree(self.pid)
        for pipe in (self.channel, self._output, self._dump):
            pipe.close()

    def exit_code(self) -> int | None:
        return None


class WarmWorker(Child):
    """A child of the fork server."""

    def __init__(self, lab: str) -> None:
        context = fork_server()
        channel, their_channel = context.Pipe()
        output, their_output = context.Pipe(duplex=False)
        dump, their_dump = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_work, args=(their_channel, their_output, their_dump, lab), daemon=False
        )
        with no_main_module():
            self.process.start()
        for pipe in (their_channel, their_output, their_dump):
            pipe.close()
        super().__init__(self.process.pid, self.process.sentinel, channel, output, dump)

    def ready(self) -> bool:
        try:
            return self.channel.poll(READY) and self.channel.recv_bytes() == b"ready"
        except (EOFError, OSError):
            return False

    def kill(self) -> None:
        super().kill()
        _ended.append(self.process)

    def exit_code(self) -> int | None:
        self.process.join(0.5)
        return self.process.exitcode

    def lost_its_server(self) -> bool:
        """Whether it ended since the fork server did, which no honest answer can bring about."""
        return self.process.exitcode in (ORPHAN, UNKNOWN)


class Fork(Child):
    """A fork of the kernel."""

    def __init__(self, exercise: Spec, answer: Any, seed: int) -> None:
        from helpers.check import worker

        channel, their_channel = multiprocessing.Pipe()
        output, their_output = multiprocessing.Pipe(duplex=False)
        dump, their_dump = multiprocessing.Pipe(duplex=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: fork beside threads
            pid = os.fork()
        if pid == 0:
            worker.forked(their_channel, their_output.fileno(), their_dump.fileno(), exercise, answer, seed)
        for pipe in (their_channel, their_output, their_dump):
            pipe.close()
        self._pidfd = os.pidfd_open(pid)
        self._code: int | None = None
        super().__init__(pid, self._pidfd, channel, output, dump)

    def kill(self) -> None:
        super().kill()
        self.exit_code()
        os.close(self._pidfd)

    def exit_code(self) -> int | None:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code


def _work(channel: Connection, output: Connection, dump: Connection, lab: str) -> None:
    """What a warm worker runs. Here, since naming it must not import torch.

    A thread starts the worker while the notebook imports its lab; where two threads import torch at once, Python
    may give one of them half of it.
    """
    from helpers.check import worker

    worker.main(channel, output, dump, lab)


_ended: list[multiprocessing.Process] = []
_lock = threading.Lock()
_warm: WarmWorker | None = None
_owner = 0
_ending = False  # the kernel was told to end: from now on no worker waits for a check


def prepare(lab: str = "") -> None:
    """Starts the fork server and a warm worker, in the background.

    lab: its module, or one of its modules.
    """
    if sys.platform != "win32":
        threading.Thread(target=_refill, args=(lab,), daemon=True, name="warm worker").start()


def warm_worker(lab: str) -> WarmWorker:
    """The warm worker if there is one, else a new one."""
    global _warm
    _reap()
    with _lock:
        warm, _warm = _warm, None
    if warm is not None and _owner == os.getpid():
        return warm
    return started(lambda: WarmWorker(lab))


def _refill(lab: str) -> None:
    global _warm, _owner
    with _lock:
        if _warm is None and not _ending:
            try:
                _warm, _owner = started(lambda: WarmWorker(lab)), os.getpid()
            except Exception:
                _warm = None  # the next check will try for itself and say what is wrong


@atexit.register
def _drop() -> None:
    global _warm
    with _lock:
        if _warm is not None and _owner == os.getpid():
            _warm.kill()
        _warm = None


@cache  # for one shell once
def end_with(shell: Any) -> None:
    """Ends the warm worker and the fork server as soon as the notebook's kernel is told to end.

    The kernel waits for its children before it ends itself, and one of them ignores its signal: until Jupyter lost
    patience and ended the kernel by force, 2.5 s went by, and nothing was done that a kernel does at its end.
    """

    def end(change: Any) -> None:
        # In a thread: the kernel must go on to end what else it started, which may know the same processes.
        if change["new"] and sys.platform != "win32":
            threading.Thread(target=_end, daemon=True, name="end of the warm worker").start()

    shell.observe(end, "exit_now")


def _end() -> None:
    global _ending
    with _lock:
        _ending = True
    _drop()
    end_fork_server()


def _reap() -> None:
    with _lock:  # checks may run in several threads
        for process in _ended[:]:
            if not process.is_alive():
                process.join(0)
                _ended.remove(process)
