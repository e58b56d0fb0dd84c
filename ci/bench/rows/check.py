"""Row `check` of `labbook bench`: what every exercise's check costs beyond the answer's own time."""

from __future__ import annotations

import functools
import mmap
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ci.bench.table import Table, row
from ci.bench.timing.rounds import spread, times_ms
from helpers.exercise import Exercise

AIM = 100.0  # ms beyond the answer's own time
REPEATS = 9
STARTS = "starts processes"
STARTED = {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"}


def timed(function: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """A function that keeps the seconds spent inside it, added up, in a file: it runs in the check's own process.

    In memory shared with the file: an answer may be called thousands of times, and what this takes counts as the check's.
    """
    spent, shared = 0.0, None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal spent, shared
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent += time.perf_counter() - start
            if shared is None:
                file.write_bytes(bytes(8))
                with file.open("r+b") as opened:
                    shared = mmap.mmap(opened.fileno(), 8)
            struct.pack_into("d", shared, 0, spent)

    return call


@row("check", minutes=9.5)
def check(root: Path) -> Table:
    """What a check costs beyond the time inside the answer, for every exercise's solution."""
    import helpers
    from ci.notebooks.reference import answers
    from helpers.course.registry import lab_modules
    from helpers.processes import fork_server

    fork_server.IMPORTED += lab_modules()  # a notebook's fork server has imported its lab
    table = Table(
        "check: milliseconds beyond the answer's own, on the solution",
        ["exercise", "check: median (min..max)", "repeats", "inside the answer", "beyond", "over the aim"],
    )
    exercises, over = helpers.exercises(), []
    for notebook in sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb")):
        for id, answer in answers(notebook, exercises).items():
            exercise = exercises[id]
            exercise.check(answer)
            took, inside = both_ms(exercise, answer)
            beyond = statistics.median(one - other for one, other in zip(took, inside, strict=True))
            word = started(exercise, answer) or "over" if beyond > AIM else ""
            over.append(word)
            table.samples |= {f"{id}: check, ms": took, f"{id}: inside the answer, ms": inside}
            print(f"check: {id}: {spread(took)} ms, {beyond:.0f} beyond the answer {word}", file=sys.stderr)
            table.lines.append([id, spread(took), REPEATS, statistics.median(inside), beyond, word])
    table.note = (
        f"{REPEATS} checks each, 0.3 s apart, so that a warm worker waits; 'inside' in the same checks (0 for a class: "
        f"its methods count as the check's). Over the aim of {AIM:g} ms: {over.count('over')} of {len(over)}, and "
        f"{over.count(STARTS)} that start processes."
    )
    return table


def both_ms(exercise: Exercise, answer: Any) -> tuple[list[float], list[float]]:
    """The times of checks, and in each the time inside the answer, in milliseconds."""
    took, inside = [], []
    with tempfile.TemporaryDirectory(prefix="labbook-bench-") as folder:
        for turn in range(REPEATS):
            parts = answer if isinstance(answer, tuple) else (answer,)
            files = [Path(folder) / f"{turn}-{place}" for place in range(len(parts))]
            wrapped = [
                part if isinstance(part, type) else timed(part, file)
                for part, file in zip(parts, files, strict=True)
            ]
            given = tuple(wrapped) if len(wrapped) > 1 else wrapped[0]
            took += times_ms(lambda given=given: exercise.check(given), 1, pause=0.3)
            inside.append(
                sum(struct.unpack("d", file.read_bytes())[0] for file in files if file.exists()) * 1e3
            )
    return took, inside


def started(exercise: Exercise, answer: Any) -> str:
    """STARTS if processes, a compiler's among them, are started during the check; else ''."""
    from helpers.check.judge import judge

    _heard.clear()
    judge(exercise, answer, 1)
    return STARTS if _heard else ""


_heard: list[str] = []
sys.addaudithook(lambda event, args: _heard.append(event) if event in STARTED else None)
