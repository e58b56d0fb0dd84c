"""Runs a program on the simulated device, each kernel as a sleep of its duration."""

from __future__ import annotations

from collections.abc import Iterable

from helpers import streams
from helpers.streams.program import Op


def device_times(program: Iterable[Op]) -> list[tuple[float, float]]:
    """(start, end) of each kernel in microseconds, as the device's own timeline has it. Launches cost nothing.

    The device is reset before and after.
    """
    streams.reset()
    on: dict[str, streams.Stream] = {"default": streams.default_stream()}
    events: dict[str | None, streams.Event] = {}
    with streams.costs(launch=0.0):
        for op in program:
            stream = on.setdefault(op.stream, streams.Stream(name=op.stream))
            if op.kind == "kernel":
                with streams.stream(stream):
                    streams.sleep(op.duration / 1e3)
            elif op.kind == "host_sync":
                stream.synchronize()
            else:
                event = events.setdefault(op.event, streams.Event())
                stream.record_event(event) if op.kind == "record" else stream.wait_event(event)
        times = [(run.start, run.end) for run in streams.timeline()]
        streams.synchronize()
    streams.reset()
    return times
