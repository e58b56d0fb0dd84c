"""What each mistake of an exercise does at each property, for one seed, and which mistake that makes it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import helpers
from ci.messages.rows import Rows, rows_of
from helpers import paths
from helpers.check.judge import Finding
from helpers.check.naming import alike
from helpers.exercise import Exercise

# A name found by one of these is found nowhere else.
FOLDERS_OF_THIS_MACHINE = (str(paths.ROOT), sys.prefix, tempfile.gettempdir())


@dataclass(frozen=True)
class Named:
    """What the bank says of one of its own answers.

    variant: 0 is the mistake itself. names: the mistakes that behave like it.
    at: the place of the one property at which it ran, None if it ran at all of them. outcomes: what it did there.
    """

    mistake: str
    variant: int
    names: tuple[str, ...]
    at: int | None
    outcomes: tuple[Finding | None, ...]

    @property
    def first(self) -> Finding | None:
        return next((outcome for outcome in self.outcomes if outcome is not None), None)


def errors(exercise: Exercise, seed: int) -> list[str]:
    """What is wrong with the mistakes and their variants: those that pass, and those not told apart.

    Also those known by a path of this machine. Mistakes that behave alike give one line.
    """
    found: dict[tuple[str, ...], str] = {}
    for each in named(exercise.id, seed).values():
        alike = tuple(sorted({each.mistake, *each.names}))
        if each.first is None:
            key, what = (f"{each.mistake} {each.variant}",), f"{in_words(each)}: no property rejects it"
        elif each.first.verdict == "not attempted":
            key, what = (f"{each.mistake} {each.variant}",), f"{in_words(each)}: it is taken for a stub"
        elif len(alike) > 1:
            key, what = alike, collision(alike, each.first.at)
        elif folder := _folder_in(each):
            key, what = alike, f"{in_words(each)}: `observed` holds {folder}, a path of this machine"
        else:
            continue
        found.setdefault(key, f"{exercise.id} {what} (seed {seed})")
    return list(found.values())


def _folder_in(each: Named) -> str | None:
    seen = repr([outcome.observed for outcome in each.outcomes if outcome is not None])
    return next((folder for folder in FOLDERS_OF_THIS_MACHINE if folder in seen), None)


def collision(names: Sequence[str], at: str) -> str:
    """The sentence on mistakes that behave alike. at: where they are first rejected."""
    advice = "let `observed` hold there what this mistake does and no other one"
    return f"{' and '.join(names)} behave alike. First rejected at the property {at!r}: {advice}"


def in_words(each: Named) -> str:
    return f"{each.mistake}, {f'variant {each.variant}' if each.variant else 'itself'}"


@cache
def named(id: str, seed: int) -> dict[tuple[str, int], Named]:
    """Each mistake of an exercise and each of its variants, named by how they behave."""
    exercise, rows = helpers.exercises()[id], rows_of(id, seed)
    return {
        key: Named(*key, tuple(sorted(_names(rows, exercise, key))), _place(exercise, key[0]), row)
        for key, row in sorted(rows.items())
    }


def _names(rows: Rows, exercise: Exercise, key: tuple[str, int]) -> set[str]:
    """The mistakes that do what one row does."""
    at = exercise.mistakes[key[0]].at
    return {
        name
        for (name, _), row in rows.items()
        if exercise.mistakes[name].at == at and all(map(alike, row, rows[key]))
    }


def _place(exercise: Exercise, mistake: str) -> int | None:
    """The place of the property at which alone a mistake is known."""
    at = exercise.mistakes[mistake].at
    return [prop.description for prop in exercise.properties].index(at) if at else None
