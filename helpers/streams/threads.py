"""Streams and events with torch.cuda's names, on worker threads of this process, in real time.

For a live demonstration: each stream is a thread that works through a queue, the kernels are Python functions, best of
all `sleep`. Times differ from run to run, so nothing can be checked here: that is what the simulated device is for.

    side = Stream(name="side")
    with stream(side):
        sleep(30)  # comes back at once; the thread of `side` sleeps
    side.synchronize()
    shutdown()

As on CUDA, an event stands for its last record, a wait for the record that it finds when it is issued, and an error in
a kernel is raised by the next synchronisation. Unlike on CUDA, only what is given to `launch` runs on a stream: an
operation on a tensor runs at once, on the host.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from helpers.streams import workers
from helpers.streams.launch_site import launch_site
from helpers.streams.tools import Run
from helpers.streams.workers import Kernel, Mark, Wait, Worker, wait_on_host

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "default_stream",
    "launch",
    "shutdown",
    "sleep",
    "stream",
    "synchronize",
    "timeline",
]

PATIENCE = 5.0  # seconds that shutdown gives a kernel that cannot be cut short


class Stream:
    """A queue of kernels and the thread that runs them, one after the other. Arguments are torch.cuda.Stream's.

    device and priority change nothing. A stream that nobody holds any more finishes its work, then its thread ends.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, name: str | None = None) -> None:
        self._worker = Worker(name)
        self.name, self.stream_id, self.priority = self._worker.name, self._worker.id, priority
        weakref.finalize(self, self._worker.queue.put, None).atexit = False

    def wait_event(self, event: Event) -> None:
        """Later work of this stream waits for what the event stands for now; without a record for nothing."""
        if event._mark is not None:
            self._worker.put(Wait(event._mark))

    def wait_stream(self, stream: Stream) -> None:
        """Later work of this stream waits for all that was given to the other one so far."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Records the event, a new one if none is given, behind all work of this stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work of this stream is done."""
        return self._worker.is_idle()

    def synchronize(self) -> None:
        """The host waits for all work of this stream. Raises the first error of a kernel, of any stream."""
        wait_on_host([self._worker.mark()])

    def __enter__(self) -> Stream:
        workers.here.entered.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if workers.here.entered:  # a shutdown within the block empties it
            workers.here.entered.pop()

    def __repr__(self) -> str:
        return f"<Stream {self.name}, a thread>"


class Event:
    """A mark in a stream. Arguments are torch.cuda.Event's; blocking and interprocess change nothing."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.enable_timing = enable_timing
        self._mark: Mark | None = None

    def record(self, stream: Stream | None = None) -> None:
        """From now on the event stands for the work given to the stream so far (None: the current stream)."""
        self._mark = (stream or current_stream())._worker.mark()

    def wait(self, stream: Stream | None = None) -> None:
        """Later work of the stream waits for what the event stands for now (None: the current stream)."""
        (stream or current_stream()).wait_event(self)

    def query(self) -> bool:
        """Whether the work that the event stands for is done; an event without a record stands for none."""
        return self._mark is None or self._mark.is_passed()

    def synchronize(self) -> None:
        """The host waits for the work that the event stands for. Raises the first error of a kernel."""
        wait_on_host([] if self._mark is None else [self._mark])

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to the other one. Errors are torch.cuda.Event's."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._mark is None or end_event._mark is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self._mark.is_passed() and end_event._mark.is_passed()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return (end_event._mark.time - self._mark.time) * 1e3


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Makes a stream the current one of this thread, within the block. None changes nothing."""
    with stream or contextlib.nullcontext():
        yield


def current_stream(device: Any = None) -> Stream:
    """The stream on which this thread launches."""
    entered = workers.here.entered
    return entered[-1] if entered else default_stream()


_default: Stream | None = None


def default_stream(device: Any = None) -> Stream:
    """The current stream as long as none was chosen. No other stream waits for it by itself, nor it for others."""
    global _default
    if _default is None or not _default._worker.takes_work():
        _default = Stream(name="default")
    return _default


def synchronize(device: Any = None) -> None:
    """The host waits for all work of all streams. Raises the first error of a kernel."""
    marks = []
    for worker in list(workers.workers):
        with contextlib.suppress(workers.Closed):  # the last work of a dropped stream is done
            marks.append(worker.mark())
    wait_on_host(marks)


def launch(fn: Callable[..., Any], *args: Any, name: str | None = None) -> None:
    """Queues fn(*args) on the current stream and comes back at once. What fn returns is dropped.

    fn runs later, on the stream's thread, under no_grad. It may not wait for a stream or an event.
    """
    name = name or getattr(fn, "__name__", type(fn).__name__)
    current_stream()._worker.put(Kernel(fn, args, name, str(launch_site())))


def sleep(ms: float) -> None:
    """Queues a kernel on the current stream that does nothing for so many milliseconds."""
    worker = current_stream()._worker
    worker.put(Kernel(worker.rest, (ms / 1e3,), "sleep", str(launch_site())))


def timeline() -> list[Run]:
    """The kernels that have ended since the last shutdown, in the order of their start.

    Times are in microseconds since the start of the first one.
    """
    found = sorted(workers.ended, key=lambda run: run.start)
    return [
        run._replace(start=(run.start - found[0].start) * 1e6, end=(run.end - found[0].start) * 1e6)
        for run in found
    ]


def shutdown(patience: float = PATIENCE) -> None:
    """Ends all streams and their threads. Sleeps are cut short; kernels that have not begun never run.

    Errors that no synchronisation has raised are lost. Streams made before can do nothing more; new ones can.
    Raises RuntimeError when a kernel runs longer than `patience` seconds: Python cannot end a thread from outside.
    """
    if busy := workers.end_all(patience):
        raise RuntimeError(f"a kernel still runs on {', '.join(busy)}; its thread ends when the kernel does")
