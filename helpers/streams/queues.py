"""Streams and events of the simulated device, with the methods and errors of torch.cuda's."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from helpers.streams.machine import Entry, Mark, machine

_numbers = itertools.count()


class Stream:
    """A queue of the device: its kernels run one after the other. Other streams are waited for only if asked.

    device, priority: as torch.cuda.Stream; there is one device, and priorities do nothing.
    name: what traces and timelines call it.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, name: str | None = None) -> None:
        self.stream_id, self.priority, self._name = next(_numbers), priority, name
        self._epoch, self._label = -1, ""

    @property
    def name(self) -> str:
        return self.label

    @property
    def device(self) -> torch.device:
        return torch.device("sim", 0)

    @property
    def device_index(self) -> int:
        return 0

    @property
    def label(self) -> str:
        """The name, unlike that of any other stream since the last reset."""
        if self._epoch != machine.epoch:
            self._label = machine.label("s", self.stream_id, self._name or "")
            self._epoch = machine.epoch
        return self._label

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else ours(event, Event)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        ours(event, Event).wait(self)

    def wait_stream(self, stream: Stream) -> None:
        self.wait_event(ours(stream, Stream).record_event())

    def query(self) -> bool:
        """Whether all that it was given is done. Asking costs the host a little time."""
        with machine.lock:
            machine.wait_until(machine.host + machine.costs.query)
            if machine.tail(self) > machine.host:
                return False
            machine.entries.append(Entry(self.label, "host_sync"))
            return True

    def synchronize(self) -> None:
        with machine.lock:
            machine.wait_for_stream(self)

    def __enter__(self) -> Stream:
        _entered.setdefault(threading.get_ident(), []).append(current_stream())
        set_stream(self)
        return self

    def __exit__(self, *raised: object) -> None:
        entered = _entered.get(threading.get_ident())
        if entered:  # a reset within the block has forgotten them
            set_stream(entered.pop())

    def __repr__(self) -> str:
        return f"<torch.sim.Stream {self.label}>"


class Event:
    """A mark in a stream. A wait holds to the last record before it; one that was never recorded holds nobody.

    enable_timing: whether elapsed_time may be asked; blocking, interprocess: taken, and without effect.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.enable_timing = enable_timing
        self._number, self._last = next(_numbers), None

    @property
    def label(self) -> str:
        return machine.label("e", self._number)

    @property
    def mark(self) -> Mark | None:
        """The last record, if there was one since the last reset."""
        last = self._last
        return last if last is not None and last.epoch == machine.epoch else None

    def record(self, stream: Stream | None = None) -> None:
        stream = current_stream() if stream is None else ours(stream, Stream)
        with machine.lock:
            self._last = Mark(max(machine.tail(stream), machine.host), machine.epoch)
            machine.tails[stream.stream_id] = self._last.time
            machine.entries.append(Entry(stream.label, "record", event=self.label))

    def wait(self, stream: Stream | None = None) -> None:
        stream = current_stream() if stream is None else ours(stream, Stream)
        with machine.lock:
            if self.mark is not None:
                machine.tails[stream.stream_id] = max(machine.tail(stream), self.mark.time)
            machine.entries.append(Entry(stream.label, "wait", event=self.label))

    def query(self) -> bool:
        """Whether the last record is passed (True if there is none). Asking costs the host a little time."""
        with machine.lock:
            machine.wait_until(machine.host + machine.costs.query)
            done = self._passed()
            if done and self.mark is not None:
                machine.saw(self.label)
            return done

    def synchronize(self) -> None:
        with machine.lock:
            if self.mark is not None:
                machine.saw(self.label)
                machine.wait_until(self.mark.time)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event's last record to `end_event`'s."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.mark is None or end_event.mark is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self._passed() and end_event._passed()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return (end_event.mark.time - self.mark.time) / 1e3

    def _passed(self) -> bool:
        return self.mark is None or self.mark.time <= machine.host

    def __repr__(self) -> str:
        return f"<torch.sim.Event {self.label}>"


def ours(value: Any, kind: type) -> Any:
    """A stream or an event of this device. Those of another kind would order nothing here, and not say so."""
    if isinstance(value, kind):
        return value
    name = kind.__name__
    raise TypeError(
        f"The simulated device has streams and events of its own: make it with torch.sim.{name}() "
        f"(streams.{name}()), not with {type(value).__module__}.{type(value).__qualname__}."
    )


_default = Stream(name="default")
_current: dict[int, Stream] = {}  # by thread
_entered: dict[int, list[Stream]] = {}


def default_stream(device: Any = None) -> Stream:
    """The stream that is current at first. No other stream waits for it, and it waits for none."""
    return _default


def current_stream(device: Any = None) -> Stream:
    """The stream on which this thread's work is queued."""
    return _current.get(threading.get_ident(), _default)


def set_stream(stream: Stream | None) -> None:
    """Makes `stream` this thread's current stream; None does nothing, as in torch.cuda."""
    if stream is not None:
        _current[threading.get_ident()] = ours(stream, Stream)


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """A block in which `stream` is the current one; None changes nothing."""
    before = current_stream()
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)


def forget_streams() -> None:
    """The default stream is current again, in every thread."""
    _current.clear()
    _entered.clear()


def synchronize(device: Any = None) -> None:
    """The host waits for all streams."""
    with machine.lock:
        labels = dict.fromkeys(entry.stream for entry in machine.entries if entry.kind == "kernel")
        for label in labels:
            machine.entries.append(Entry(label, "host_sync"))
        machine.wait_until(max(machine.tails.values(), default=0.0))
