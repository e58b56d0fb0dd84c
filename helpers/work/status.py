"""`labbook status`: what the start page shows, as lines of text. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from helpers.course.overview import Overview, overview
from helpers.course.summary import error_line, goal_sentence, mark, solved_of, summary
from helpers.work.copies import older_copies


def status(root: Path) -> int:
    """Prints a line a lab, and what there is to say beyond. Returns the exit code."""
    found = overview()
    print("\n".join([*table(found), "", *remarks(found, root)]))
    return 0


def table(found: Overview) -> list[str]:
    """A line a lab: name, what is solved, minutes of all exercises, wrong answers that its checks reject."""
    rows = [("lab", "core", "optional", "minutes", "rejects", "")]
    for lab in found.labs:
        solved = [solved_of(lab, core) for core in (True, False)]
        sums = [lab.minutes(True) + lab.minutes(False), lab.rejected] if lab.steps else ["", ""]
        rows.append((f"{lab.number} {lab.title}", *solved, *map(str, sums), mark(lab, found.next)))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{text:>{width}}" if at in (3, 4) else f"{text:<{width}}"
            for at, (text, width) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ] + ["core, optional: exercises solved. rejects: how many known wrong answers the checks reject."]


def remarks(found: Overview, root: Path) -> Iterator[str]:
    """What is next, what has changed, what is wrong."""
    yield " ".join(filter(None, [summary(found), goal_sentence(found)])) or "No exercise is known."
    for lab in found.labs:
        for step in lab.changed:
            yield f"Changed since you solved it: {step.id} {step.title}"
    for name in older_copies(root):
        yield f"{name}: the course has a newer version than your copy. To bring it in: labbook update"
    if found.unknown:
        yield f"Kept in your progress, but in no lab here: {', '.join(found.unknown)}"
    if found.error:
        yield error_line(found)
