"""Random programs for the checks and tests of lab 06."""

from __future__ import annotations

import random
from collections.abc import Sequence

from helpers.labs.streams.shown.programs import host_sync, kernel, record, wait
from helpers.streams.program import Op

STREAMS = ("default", "s1", "s2", "s3")
MEMORY = "xyz"
EVENTS = ("e1", "e2", "e3")
DURATIONS = (5.0, 10.0, 20.0, 40.0, 80.0)


def drawn_program(
    rng: random.Random, length: int, *, streams: int = 3, events: int = 2, memories: int = 3
) -> list[Op]:
    """`length` ops. Names are drawn, too, so that no stream is special; some kernels are launched again as they were."""
    on = rng.sample(STREAMS, streams)
    program: list[Op] = []
    for _ in range(length):
        stream, event = rng.choice(on), rng.choice(EVENTS[:events])
        kind = rng.choices(("kernel", "again", "record", "wait", "host_sync"), (45, 5, 22, 22, 6))[0]
        launched = [op for op in program if op.kind == "kernel"]
        if kind == "again" and launched:
            program.append(rng.choice(launched))
        elif kind in ("kernel", "again"):
            program.append(drawn_kernel(rng, stream, MEMORY[:memories]))
        else:
            program.append(
                {"record": record, "wait": wait}[kind](stream, event)
                if kind != "host_sync"
                else host_sync(stream)
            )
    return program


def drawn_kernel(rng: random.Random, stream: str, memory: str) -> Op:
    """Reads up to two names, writes up to two, at least one in all."""
    reads = rng.sample(memory, rng.choice((0, 1, 1, 2)[: len(memory) + 2]))
    writes = rng.sample(memory, rng.choice((0, 1, 1, 1, 2)[: len(memory) + 3])) or (
        [] if reads else [rng.choice(memory)]
    )
    return kernel(stream, reads, writes, duration=rng.choice(DURATIONS))


def pipeline(rounds: int, forgotten: Sequence[int] = ()) -> list[Op]:
    """A training loop on four streams, 16 ops a round: copy in, compute, copy out, and a log. Nothing races.

    forgotten: rounds in which compute does not wait for the copy; another wait stands there, which is of no use.
    """
    program: list[Op] = []
    halves = [_round(f"buffer{half}", f"copied{half}", f"used{half}") for half in (0, 1)]
    for turn in range(rounds):
        mine = list(halves[turn % 2])
        if turn in forgotten:
            mine[3] = wait("default", f"used{turn % 2}")
        mine[4] = wait("default", f"saved{turn - 1}")
        mine[11] = record("out", f"saved{turn}")
        mine[12] = wait("log", f"saved{turn}")
        program += mine
    return program


def _round(buffer: str, copied: str, used: str) -> list[Op]:
    return [
        wait("in", used),
        kernel("in", writes=[buffer], name="copy"),
        record("in", copied),
        wait("default", copied),
        wait("default", "saved"),
        kernel("default", reads=[buffer, "weights"], writes=["loss"], name="forward"),
        record("default", used),
        kernel("default", reads=["loss", "weights"], writes=["weights"], name="step"),
        record("default", "stepped"),
        wait("out", "stepped"),
        kernel("out", reads=["weights"], writes=["file"], name="save"),
        record("out", "saved"),
        wait("log", "saved"),
        kernel("log", reads=["loss", "file"], writes=["text"], name="log"),
        record("log", "logged"),
        wait("default", "logged"),
    ]
