"""`labbook messages`: writes tests/messages/ and data/exercises/, and names the mistakes that nothing tells apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import helpers
from ci.messages.bank import collision, errors
from ci.messages.reports import SEED, reports
from ci.messages.texts import entries, lasting
from ci.messages.texts import messages as messages_of
from ci.notebooks.files import notebooks
from helpers.course import catalogue
from helpers.files import put


def messages(root: Path, labs: list[str]) -> int:
    """Gives every known mistake to its check and keeps what it says. Returns the exit code: 1 if two collide.

    labs: numbers; none: all.
    """
    exercises = helpers.exercises()
    wrong: list[str] = []
    for path in notebooks(root / "solutions", labs):
        number = path.stem[:2]
        ids = [id for id in exercises if id.startswith(f"{number}.")]
        if not ids:
            continue
        changed = list(_written(root, path.stem))
        print(f"{path.stem}: {'; '.join(changed) or 'nothing changed'}", flush=True)
        wrong += [line for id in ids for line in collisions(id)]
    print("\n".join(wrong) if wrong else "every mistake is rejected, and named")
    return int(bool(wrong))


def _written(root: Path, stem: str) -> Iterator[str]:
    """Writes what changed of a lab, and gives the files' names."""
    path = root / "tests" / "messages" / f"{stem[:2]}.txt"
    text = messages_of(stem[:2])
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        put(path, text)
        yield f"{path.relative_to(root)} changed: read it"
    now = entries(stem)
    if lasting(catalogue.of_lab(stem) or {}) != lasting(now):
        put(catalogue.folder() / f"{stem}.json", catalogue.as_text(now))
        yield f"data/exercises/{stem}.json changed"


def collisions(id: str) -> Iterator[str]:
    """What is wrong with the mistakes of an exercise, a line each: one that passes, or is not told from a different one.

    Answers that start processes run once only: whom a nameless one behaves like is not known.
    """
    exercise = helpers.exercises()[id]
    if not exercise.processes:
        yield from errors(exercise, SEED)
        return
    for name, report in reports(id).items():
        if report.passed:
            yield f"{id} {name}: no property rejects it"
        elif report.mistake != name:
            yield f"{id} {collision([name], report.at)}"
