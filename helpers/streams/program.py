"""What a program on several streams is made of, as data: the language of traces and of the exercises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Op:
    """One thing that the host issued, in the order of issue.

    kind:
        "kernel": works on `stream` for `duration` microseconds; reads and writes memory.
        "record": puts a mark of `event` into `stream`.
        "wait": what `stream` is given later begins after the last mark of `event` issued before this wait
            (none: the wait does nothing). A later record does not move it.
        "host_sync": the host waits for all that was issued on `stream`; nothing issued later begins before.
    """

    stream: str
    kind: str
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    event: str | None = None
    duration: float = 0.0
    name: str = ""
