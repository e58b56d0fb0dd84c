"""Row `check` of `labbook bench`: what every exercise's check costs beyond the answer's own time."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ci.bench.table import Table, row
from ci.bench.timing.rounds import spread, times_ms

AIM = 100.0  # ms beyond the answer's own time
REPEATS = 9


class Timed:
    """A function that adds up the time spent inside it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return self.function(*args, **kwargs)
        finally:
            self.seconds += time.perf_counter() - start


@row("check", minutes=9.5)
def check(root: Path) -> Table:
    """What a check costs beyond the time inside the answer, for every exercise's solution."""
    import helpers
    from ci.notebooks.reference import answers
    from helpers.check.judge import judge

    table = Table(
        "check: milliseconds beyond the answer's own, on the solution",
        ["exercise", "check: median (min..max)", "repeats", "inside the answer", "beyond", "over the aim"],
    )
    exercises, over = helpers.exercises(), []
    for notebook in sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb")):
        for id, answer in answers(notebook, exercises).items():
            exercise = exercises[id]
            exercise.check(answer)
            took = times_ms(lambda e=exercise, a=answer: e.check(a), REPEATS, pause=0.3)
            parts = answer if isinstance(answer, tuple) else (answer,)
            timed = [part if isinstance(part, type) else Timed(part) for part in parts]
            judge(exercise, tuple(timed) if len(timed) > 1 else timed[0], 1)
            inside = sum(part.seconds for part in timed if isinstance(part, Timed)) * 1e3
            beyond = statistics.median(took) - inside
            word = ("starts processes" if exercise.processes else "over") if beyond > AIM else ""
            over.append(word)
            table.samples |= {f"{id}: check, ms": took, f"{id}: inside the answer, ms": [inside]}
            print(f"check: {id}: {spread(took)} ms", file=sys.stderr)
            table.lines.append([id, spread(took), REPEATS, inside, beyond, word])
    table.note = (
        f"{REPEATS} checks each, 0.3 s apart, so that a warm worker waits; 'inside' measured in one further run (0 for "
        f"a class: its methods count as the check's). Over the aim of {AIM:g} ms: {over.count('over')} of {len(over)}, "
        f"and {over.count('starts processes')} that start processes."
    )
    return table
