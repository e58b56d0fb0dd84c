"""`labbook messages`: writes tests/messages/ and data/exercises/, and names the mistakes that nothing tells apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import helpers
from ci.messages import texts
from ci.messages.bank import errors
from ci.messages.outcomes import differences, outcomes
from ci.messages.reports import SEED
from ci.notebooks.files import notebooks
from helpers.check import stored
from helpers.course import catalogue
from helpers.exercise import Exercise
from helpers.files import put


def messages(root: Path, labs: list[str]) -> int:
    """Gives every known mistake to its check and keeps what it says and does. Returns the exit code: 1 if two collide.

    labs: numbers; none: all.
    """
    wrong: list[str] = []
    for path in notebooks(root / "solutions", labs):
        exercises = [
            exercise for id, exercise in helpers.exercises().items() if id.startswith(f"{path.stem[:2]}.")
        ]
        if not exercises:
            continue
        changed = [*_texts_written(root, path.stem), *_outcomes_written(path.stem, exercises)]
        print(f"{path.stem}: {'; '.join(changed) or 'nothing changed'}", flush=True)
        for exercise in exercises:
            wrong += errors(exercise, SEED) or differences(exercise)
    print("\n".join(wrong) if wrong else "every mistake is rejected, and named")
    return int(bool(wrong))


def _texts_written(root: Path, stem: str) -> Iterator[str]:
    """Writes what changed of a lab's messages, and gives the files' names."""
    path = root / "tests" / "messages" / f"{stem[:2]}.txt"
    text = texts.messages(stem[:2])
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        put(path, text)
        yield f"{path.relative_to(root)} changed: read it"
    now = texts.entries(stem)
    if texts.lasting(catalogue.of_lab(stem) or {}) != texts.lasting(now):
        put(catalogue.folder() / f"{stem}.json", catalogue.as_text(now))
        yield f"data/exercises/{stem}.json changed"


def _outcomes_written(stem: str, exercises: list[Exercise]) -> Iterator[str]:
    """Writes what the mistakes of a lab do, where it is something else than what is stored, and gives the files' names."""
    folder = catalogue.folder() / stem
    for exercise in exercises:
        if differences(exercise):
            put(folder / f"{exercise.id[3:]}.json", stored.as_text(outcomes(exercise)))
            yield f"data/exercises/{stem}/{exercise.id[3:]}.json changed"
    for path in sorted(folder.glob("*.json")):
        if f"{stem[:2]}.{path.stem}" not in {exercise.id for exercise in exercises}:
            path.unlink()
            yield f"data/exercises/{stem}/{path.name} is gone"
