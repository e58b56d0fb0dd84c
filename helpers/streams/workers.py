"""Threads that work through queues: what stands behind the streams of threads.py.

The stop button raises KeyboardInterrupt in the main thread anywhere, also inside of Python's own Condition and Event,
whose lock would then stay taken. So the host waits on nothing but a SimpleQueue of its own, which is written in C.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import torch

from helpers.streams.tools import Run


class Closed(RuntimeError):
    """The stream takes no more work."""


class Item:
    """What a queue holds."""

    done = False

    def run(self) -> None:
        """What the thread does when it comes to it."""

    def skip(self) -> None:
        """What it does instead when it was stopped."""


class Mark(Item):
    """One record of an event: passed when the thread comes to it."""

    def __init__(self, worker: Worker) -> None:
        self.worker, self.time = worker, 0.0
        self._gates: deque[SimpleQueue[None]] = deque()

    def is_passed(self) -> bool:
        return self.time > 0

    def run(self) -> None:
        self.time = time.perf_counter()
        while self._gates:
            self._gates.popleft().put(None)

    skip = run  # nobody waits for ever

    def wait(self) -> None:
        """Comes back when the mark is passed."""
        gate: SimpleQueue[None] = SimpleQueue()
        self._gates.append(gate)  # before the look: whoever passes the mark in between finds the gate
        if not self.is_passed():
            self.worker.refuse_after_fork()
            gate.get()


class Wait(Item):
    """A thread's wait for a mark. It comes to an end: the mark was queued before."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark

    def run(self) -> None:
        self.mark.wait()


class Kernel(Item):
    """A call that a thread makes. launched: where in the program."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], name: str, launched: str) -> None:
        self.fn, self.args, self.name, self.launched = fn, args, name, launched

    def run(self) -> None:
        worker, start = here.worker, time.perf_counter()
        try:
            self.fn(*self.args)
        except (
            BaseException
        ) as error:  # SystemExit too: it would end the thread, and the host would wait for ever
            error.add_note(
                f"Raised by the kernel `{self.name}` on stream {worker.name}, launched by {self.launched}."
            )
            errors.append(error)
        ended.append(Run(self.name, worker.name, start, time.perf_counter()))


class Worker:
    """A thread with a queue. It holds no Stream, so that a stream can be dropped while its work goes on."""

    def __init__(self, name: str | None) -> None:
        _prepare()
        self.id = next(_ids)
        self.name = name or f"s{self.id}"
        self.queue: SimpleQueue[Item | None] = SimpleQueue()  # None: no more work comes
        self._closed = self._stopped = False
        self._last: Item | None = None
        self._pid, self._lock, self._halt = os.getpid(), threading.Lock(), SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"stream {self.name}", daemon=True)
        workers[self] = None
        self._thread.start()

    def put(self, item: Item) -> None:
        self.refuse_after_fork()
        with self._lock:
            if self._closed:
                raise Closed(f"the stream {self.name} was shut down; make a new one")
            self.queue.put(item)
            self._last = item

    def mark(self) -> Mark:
        """A mark behind all that was queued so far."""
        mark = Mark(self)
        self.put(mark)
        return mark

    def takes_work(self) -> bool:
        return not self._closed and self._pid == os.getpid()

    def is_idle(self) -> bool:
        self.refuse_after_fork()
        return self._last is None or self._last.done

    def refuse_after_fork(self) -> None:
        if self._pid != os.getpid():  # the threads stayed in the parent
            raise RuntimeError("this stream belongs to the process before the fork; make a new one")

    def rest(self, seconds: float) -> None:
        """Sleeps, at most until the thread is stopped."""
        with contextlib.suppress(Empty):
            self._halt.get(timeout=seconds)

    def stop(self) -> None:
        """The thread ends as soon as it can."""
        with self._lock:
            self._closed = self._stopped = True
        self._halt.put(None)
        self.queue.put(None)

    def has_ended(self, seconds: float) -> bool:
        """Whether the thread has ended, at the latest after so many seconds."""
        if self._thread.ident is not None:  # else the stop button came before its start
            self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def _serve(self) -> None:
        here.worker = self
        with torch.no_grad():  # a kernel knows nothing of autograd
            while (item := self.queue.get()) is not None:
                self._do(item)
            with self._lock:
                self._closed = True
            while not self.queue.empty():  # what came in between
                if (item := self.queue.get()) is not None:
                    self._do(item)
        workers.pop(self, None)

    def _do(self, item: Item) -> None:
        item.skip() if self._stopped else item.run()
        item.done = True


class _Here(threading.local):
    """What belongs to the calling thread. worker: whose thread this is; entered: streams, the current one last."""

    def __init__(self) -> None:
        self.worker: Worker | None = None
        self.entered: list[Any] = []


here = _Here()
workers: dict[Worker, None] = {}  # in order of birth
errors: deque[BaseException] = deque()  # of kernels; no synchronisation has raised them yet
ended: list[Run] = []  # times by time.perf_counter
_ids = itertools.count()
_prepared = False


def wait_on_host(marks: list[Mark]) -> None:
    """Comes back when all marks are passed; raises the first error of a kernel, of any stream."""
    refuse_in_kernel()
    for mark in marks:
        mark.wait()
    if errors:
        error = errors.popleft()
        errors.clear()
        try:
            raise error
        finally:
            del error  # else it holds this frame, and this frame holds it


def refuse_in_kernel() -> None:
    if here.worker is not None:
        raise RuntimeError("a kernel cannot wait for a stream")


def end_all(patience: float) -> list[str]:
    """Stops all threads; the names of those that go on after so many seconds, in their kernel."""
    refuse_in_kernel()
    stopped = list(workers)
    for worker in stopped:
        worker.stop()
    end = time.monotonic() + patience
    busy = [worker.name for worker in stopped if not worker.has_ended(end - time.monotonic())]
    _forget()
    return busy


def _prepare() -> None:
    """What the first stream needs: an end at the interpreter's end, and a new start in a child process."""
    global _prepared
    if not _prepared:
        _prepared = True
        # A thread that goes on is a daemon: it does not keep the process.
        atexit.register(end_all, patience=1.0)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    workers.clear()
    errors.clear()
    ended.clear()
    here.entered.clear()
