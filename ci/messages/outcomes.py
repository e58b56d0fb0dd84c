"""What each mistake of an exercise does at one seed, as data/exercises/<lab>/<exercise>.json keeps it."""

from __future__ import annotations

import platform
from typing import Any

from ci.messages.bank import Named, in_words, named
from ci.messages.reports import SEED
from helpers.check import stored
from helpers.check.naming import observed
from helpers.check.stored import Row, Stored
from helpers.exercise import Exercise


def outcomes(exercise: Exercise) -> Stored:
    """What is to be stored: a row for each mistake, and one for each variant that does something else."""
    rows: list[Row] = []
    for each in named(exercise.id, SEED).values():
        row = Row(each.mistake, stored.outcomes(_seen(each)), each.at)
        if row not in rows:
            rows.append(row)
    version, machine = stored.torch_version(), platform.machine()
    return Stored(SEED, len(exercise.properties), tuple(rows), version, machine)


def differences(exercise: Exercise) -> list[str]:
    """Where the mistakes do something else than is stored of them, or get other names by it: a line each."""
    kept = stored.of_exercise(exercise.id)
    if kept is None:
        return [f"{exercise.id}: nothing is stored"]
    if (kept.seed, kept.properties) != (SEED, len(exercise.properties)):
        return [f"{exercise.id}: what is stored is of other properties, or of a different seed"]
    found, met = [], set()
    for each in named(exercise.id, SEED).values():
        fitting = [row for row in kept.rows if _fits(row, each)]
        met.update(row.mistake for row in fitting)
        if names := sorted({row.mistake for row in fitting} ^ {each.mistake}):
            found.append(f"{exercise.id} {in_words(each)}: by what is stored, the difference is {names}")
    gone = sorted({row.mistake for row in kept.rows} - met)
    return found + [f"{exercise.id} {name}: stored, and no mistake does it" for name in gone]


def _fits(row: Row, each: Named) -> bool:
    seen = _seen(each)
    return (row.at, len(row.outcomes)) == (each.at, len(seen)) and all(map(stored.same, row.outcomes, seen))


def _seen(each: Named) -> list[Any]:
    return [observed(outcome) for outcome in each.outcomes]
