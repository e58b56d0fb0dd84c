"""`labbook reset 03` and `labbook reset 03.conv2d`: a lab, or one exercise of it, as the course gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.course import progress
from helpers.work import backups
from helpers.work.commands import (
    Change,
    WrongName,
    carefully,
    carry_out,
    present,
    saved_meanwhile,
    texts_after,
    texts_before,
)
from helpers.work.copies import LAB_FIX, keep_base, lab_files, lab_text, new_copy
from helpers.work.notebook import CHECK, Notebook, Unreadable, by_id, dumped, ids, parsed, woven
from helpers.work.opened import opened
from helpers.work.writing import WorkFailed

PARTS = ("-box", "-question", "", CHECK)  # the cells of an exercise, behind its name


@dataclass(frozen=True)
class Plan:
    """What is to be done with one lab. words: what is said then. change: None where there is nothing to do."""

    lab: Path
    words: str
    change: Change | None
    forget: tuple[str, ...]


def reset(root: Path, names: Sequence[str]) -> int:
    """Puts labs, or exercises, back. Returns the exit code; 2 for a name that nobody knows."""
    return carefully("labbook reset", root, lambda work: _reset(root, work, names))


def _reset(root: Path, work: Path, names: Sequence[str]) -> int:
    command = f"labbook reset {' '.join(names)}"
    wanted = chosen(lab_files(root), names)
    noted = progress.read(work).solved
    if not names:
        raise WrongName("say what: labbook reset 03, or labbook reset 03.conv2d. Nothing was changed.")
    plans, failed = [], False
    for lab, exercises in wanted.items():
        try:
            plans.append(_planned(work, lab, exercises, list(noted)))
        except WorkFailed as fault:
            failed = True
            print(f"{lab.name}: {fault}")
    now_open = opened(work)
    for plan in list(plans):
        again = f"labbook reset {' '.join(wanted[plan.lab] or [plan.lab.name[:2]])}"
        if plan.change and (why := now_open.refusal(plan.lab.name, again)):
            failed = True
            print(f"{plan.lab.name}: {why}")
            plans.remove(plan)
    due = [plan for plan in plans if plan.change or any(id in noted for id in plan.forget)]
    for plan in plans:
        if plan not in due:
            print(f"{plan.lab.name}: is as the course gives it already.")
    if due:
        failed |= not _carry_out(work, due, noted, command, names)
    return int(failed)


def _carry_out(
    work: Path, plans: list[Plan], noted: dict[str, progress.Solved], command: str, names: Sequence[str]
) -> bool:
    """Backs up, replaces, forgets, and tells it. Returns whether all of it could be done."""
    changes = [plan.change for plan in plans if plan.change]
    forget = {id: noted[id] for plan in plans for id in plan.forget if id in noted}
    backup = backups.make(
        work, "reset", texts_before(changes), texts_after(changes), arguments=names, progress=forget
    )
    for plan in plans:
        keep_base(work, plan.lab.name, lab_text(plan.lab))
    done = carry_out(work, changes)
    whole = [plan for plan in plans if not plan.change or plan.lab.name in done]
    for plan in plans:
        name = plan.lab.name
        print(f"{name}: {plan.words}" if plan in whole else saved_meanwhile(name, command))
    try:
        progress.forget([id for plan in whole for id in plan.forget], work)
    except progress.NotWritten as why:
        raise WorkFailed(
            f"the notebooks are reset, but still noted as solved. Run {command} again. {why}"
        ) from None
    backups.finish(backup, done)
    if not (left := progress.read(work)).readable:
        print(f"{left.error} What was solved may still be noted there.")
    if again := [id for plan in whole for id in plan.forget if id in noted]:
        print(f"No longer noted as solved: {', '.join(again)}.")
    print(f"Before: {backup.shown}. `labbook undo` takes this reset back.")
    return len(whole) == len(plans) and left.readable


def chosen(labs: Sequence[Path], names: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """The labs that are named, each with the ids of the exercises that are named; () for the whole lab.

    Raises: WrongName, with what there is. WorkFailed, if a lab is damaged.
    """
    numbers = {lab.name[:2]: lab for lab in labs}
    found: dict[Path, list[str]] = {}
    for name in names:
        number, dot, _ = name.partition(".")
        lab = numbers.get(number.zfill(2)) if number else None
        if lab is None:
            raise WrongName(
                f"there is no lab {number}. There are: {', '.join(numbers)}. An exercise is named with its lab: 03.conv2d. "
                "Nothing was changed."
            )
        known = [f"{lab.name[:2]}.{id.replace('-', '_')}" for id in exercises(_lab(lab))]
        id = name.zfill(len(name) + 2 - len(number)).replace("-", "_")
        if dot and id not in known:
            raise WrongName(
                f"lab {lab.name[:2]} has no exercise {name}. It has: {', '.join(known) or 'none'}. "
                "Nothing was changed."
            )
        found.setdefault(lab, []).append(id if dot else "")
    return {lab: () if "" in given else tuple(dict.fromkeys(given)) for lab, given in found.items()}


def exercises(lab: Notebook) -> list[str]:
    """What can be reset by itself: for each cell `conv2d` with a cell `conv2d-check`, the name conv2d, in order."""
    known = set(ids(lab))
    return [id for id in ids(lab) if id + CHECK in known]


def _planned(work: Path, lab: Path, exercises: Sequence[str], noted: Sequence[str]) -> Plan:
    seen, new = present(work / lab.name), _lab(lab)
    forget = tuple(exercises or (id for id in noted if id[:3] == f"{lab.name[:2]}."))
    if seen is None:
        return Plan(
            lab,
            "was not there, and was copied from the course.",
            Change(lab.name, None, new_copy(lab)),
            forget,
        )
    if not exercises:
        pristine = new_copy(lab)
        change = Change(lab.name, seen, pristine) if seen != pristine else None
        return Plan(lab, "the whole lab is as the course gives it.", change, forget)
    try:
        copy = parsed(seen)
    except Unreadable as fault:
        raise WorkFailed(
            f"your copy was left alone, since {fault}. `labbook reset {lab.name[:2]}` puts the whole lab back, after a "
            "backup."
        ) from None
    names = [name for id in exercises for name in cells_of(new, id)]
    after = with_cells(copy, new, names)
    change = Change(lab.name, seen, dumped(after)) if after != copy else None
    begun = f"{', '.join(exercises)} {'begins' if len(exercises) == 1 else 'begin'} anew"
    return Plan(
        lab, f"{begun} (the cells {', '.join(names)}). The rest of the lab is as it was.", change, forget
    )


def cells_of(lab: Notebook, exercise: str) -> list[str]:
    """The ids of the cells of an exercise, 03.conv2d: its box or question, the answer, and the check."""
    wanted = {exercise[3:].replace("_", "-") + part for part in PARTS}
    return [id for id in ids(lab) if id in wanted]


def with_cells(copy: Notebook, lab: Notebook, names: Sequence[str]) -> Notebook:
    """The copy with these cells as the lab has them; one that the copy lacks comes back to its place."""
    course = by_id(lab)
    lacking = {id: course[id] for id in names}
    # Of two cells with one id the first is the course's; the other is the learner's own.
    cells = [lacking.pop(cell["id"], cell) for cell in copy["cells"]]
    order = woven(ids(copy), [id for id in course if id in lacking or id in by_id(copy)])
    rest = iter(cells)
    return copy | {"cells": [lacking[id] if id in lacking else next(rest) for id in order]}


def _lab(lab: Path) -> Notebook:
    try:
        return parsed(lab_text(lab))
    except Unreadable as fault:
        raise WorkFailed(f"labs/{lab.name} is damaged: {fault}. Nothing was changed. {LAB_FIX}") from None
