"""Row `names` of `labbook bench`: how long a learner waits for the card that names the mistake."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ci.bench.table import Table, row
from ci.bench.timing.rounds import ratio
from ci.bench.unstored import Unstored
from helpers.exercise import Exercise

STORED, LIVE = "by what is stored", "by running the mistakes"


@row("names", minutes=6.5)
def names(root: Path) -> Table:
    """From `check` to the card with the mistake's name, for three mistakes of each exercise, against the live bank."""
    import helpers

    table = Table(
        "names: seconds from `check` to the card that names the mistake",
        ["exercise", f"{STORED}: median, worst", f"{LIVE}: median, worst", "ratio", "unnamed: stored, live"],
    )
    for id, exercise in helpers.exercises().items():
        found: dict[str, list[float]] = {STORED: [], LIVE: []}
        unnamed = dict.fromkeys(found, 0)
        for name in three(list(exercise.mistakes)):
            for how, asked in {STORED: exercise, LIVE: Unstored(exercise)}.items():
                seconds, said = named(asked, name)
                found[how].append(seconds)
                unnamed[how] += said != name
        table.samples |= {f"{id}: {how}, s": taken for how, taken in found.items()}
        table.lines.append(
            [id, *map(both, found.values()), ratio(*found.values()), "{}, {}".format(*unnamed.values())]
        )
        print(f"names: {id}: {both(found[STORED])} against {both(found[LIVE])} s", file=sys.stderr)
    table.note = (
        "The first, the middle and the last mistake of each, one check each way, 0.5 s after the one before, so that a "
        "warm worker waits. The live bank is also what names are found by on a torch for which nothing fits. "
        + ". ".join(f"All, {how}: {both(everything(table, how))} s" for how in (STORED, LIVE))
        + "."
    )
    return table


def three(names: Sequence[str]) -> list[str]:
    """The first, the middle and the last."""
    return list(dict.fromkeys([names[0], names[len(names) // 2], names[-1]]))


def named(exercise: Exercise, name: str) -> tuple[float, str | None]:
    """The seconds that the check of a mistake takes, and the name that it finds."""
    answer = exercise.mistakes[name].answer
    time.sleep(0.5)
    start = time.perf_counter()
    report = exercise.check(answer)
    return time.perf_counter() - start, report.mistake


def both(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f}, {max(seconds):.2f}"


def everything(table: Table, how: str) -> list[float]:
    return [one for what, taken in table.samples.items() if what.endswith(f"{how}, s") for one in taken]
