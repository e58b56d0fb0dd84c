"""`labbook update`: a newer course is merged into the learner's copies.

A copy tells its base in its own metadata, so that one replacing of one file is the whole step: a command that was killed
has either merged a lab or not touched it, and the next one does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helpers.work import backups
from helpers.work.commands import Change, carefully, present, saved_meanwhile, texts_after, texts_before
from helpers.work.copies import (
    LAB_FIX,
    base_text,
    copy_missing_labs,
    fingerprint,
    keep_base,
    lab_files,
    lab_text,
    put_beside,
    stamp,
    stamped,
)
from helpers.work.lost_lines import faults
from helpers.work.merge import Merged, merge, same_text
from helpers.work.notebook import CHECK, Notebook, Unreadable, dumped, ids, parsed
from helpers.work.opened import Opened, opened
from helpers.work.writing import Changed, WorkFailed

COMMAND = "labbook update"
CURRENT = "up to date."


@dataclass(frozen=True)
class Plan:
    """What is to be done with one copy. change: what to write, or None. beside: put the course's lab beside it."""

    lab: Path
    words: str
    change: Change | None = None
    beside: bool = False

    @property
    def failed(self) -> bool:
        """Whether the copy cannot be brought up to date."""
        return self.change is None and self.words != CURRENT


def update(root: Path) -> int:
    """Merges labs/ into work/, and tells of each lab what happened. Returns the exit code."""
    return carefully(COMMAND, root, lambda work: _update(root, work))


def _update(root: Path, work: Path) -> int:
    new = {path.name for path in copy_missing_labs(root, COMMAND)}
    plans = [planned(work, lab) for lab in lab_files(root) if lab.name not in new]
    for name in sorted(new):
        print(f"{name}: copied, work/ did not have it.")
    due = [plan for plan in plans if plan.change]
    now_open = opened(work) if due else Opened()
    code, backup = _carry_out(work, plans, now_open)
    for name in _removed(root, work):
        print(f"{name}: the course no longer has this lab. Your copy stays as it is.")
    current = [plan.lab.name for plan in plans if plan.words == CURRENT]
    if current and (backup or new or code):
        print(f"Up to date: {', '.join(name[:2] for name in current)}.")
    if backup:
        print(f"Before: {backup.shown}. `labbook undo` takes this update back.")
    elif not new and not code:
        print("Your copies are up to date: there was nothing to do, and nothing was changed.")
    return code


def _carry_out(work: Path, plans: list[Plan], now_open: Opened) -> tuple[int, backups.Backup | None]:
    """Does what is planned, and tells it, one line a lab. Returns the exit code, and the backup if there is one."""
    refused = {plan.lab.name: now_open.refusal(plan.lab.name, COMMAND) for plan in plans if plan.change}
    changes = [plan.change for plan in plans if plan.change and not refused[plan.lab.name]]
    backup = backups.make(work, "update", texts_before(changes), texts_after(changes)) if changes else None
    done, failed = set(), False
    for plan in plans:
        name, words = plan.lab.name, plan.words
        failed |= plan.failed or bool(refused.get(name))
        if refused.get(name):
            words = refused[name]
        elif plan.change:
            try:
                keep_base(work, name, lab_text(plan.lab))
                plan.change.apply(work)
                done.add(name)
            except Changed:
                failed = True
                print(saved_meanwhile(name, COMMAND))
                continue
        elif words == CURRENT:
            keep_base(work, name, lab_text(plan.lab))  # puts a lost one back
        elif plan.beside:
            words += f" The course's version stands beside it: {put_beside(work, plan.lab)}."
        if words != CURRENT:
            print(f"{name}: {words}")
    if backup:
        backups.finish(backup, done)
    return int(failed), backup


def planned(work: Path, lab: Path) -> Plan:
    """What an update does to the copy of one lab. Reads only."""
    name = lab.name
    try:
        text = lab_text(lab)
        new = parsed(text)
    except Unreadable as fault:
        return Plan(lab, f"the lab in labs/ is damaged: {fault}. Your copy was left alone. {LAB_FIX}.")
    try:
        seen = present(work / name)
        copy = parsed(seen or b"")
    except WorkFailed as failed:
        return Plan(lab, f"left alone: {failed}.")
    except Unreadable as fault:
        return Plan(
            lab,
            f"your copy was left alone, since {fault}. Opening and saving it in JupyterLab may mend it; "
            f"`labbook reset {name[:2]}` puts the course's lab there, after a backup.",
        )
    hash = stamped(copy)[1]
    if hash == fingerprint(text):
        return Plan(lab, CURRENT)
    base = base_text(work, name, hash)
    if base is None:
        if not _same_course(copy, new):
            why = "is damaged or missing in work/.base" if hash else "is not known"
            return Plan(
                lab,
                f"your copy was left alone, since what it was made from {why}.",
                beside=True,
            )
        base = text
    try:
        merged = merge(parsed(base), copy, new)
        lost = faults(parsed(base), copy, merged.notebook)
    except (
        Exception
    ) as error:  # a notebook so odd that nbdime or nbformat stumbles must not stop the other labs
        why = f"it cannot be merged ({type(error).__name__}: {str(error)[:100]})"
        return Plan(lab, f"your copy was left alone, since {why}.", beside=True)
    if lost:
        return Plan(lab, f"your copy was left alone, since {lost[0]}.", beside=True)
    stamp(merged.notebook, name, text)
    return Plan(lab, described(merged, name), Change(name, seen, dumped(merged.notebook)))


def named(cells: list[str], merged: Merged, name: str) -> str:
    """Cells in words: an exercise by its id, 03.conv2d, another cell by its own."""
    known = set(ids(merged.notebook))
    return ", ".join(f"{name[:2]}.{id.replace('-', '_')}" if id + CHECK in known else id for id in cells)


def described(merged: Merged, name: str) -> str:
    """What a merge did, in words."""
    counts = [
        f"{len(cells)} {word}"
        for cells, word in ((merged.new, "new"), (merged.changed, "changed"), (merged.removed, "removed"))
        if cells
    ]
    what = f"cells of the course: {', '.join(counts)}" if counts else "no cell of yours had to change"
    words = f"merged ({what}). What you wrote is kept."
    if merged.both:
        words += f"\n    The course changed something in {named(merged.both, merged, name)}, too, where you had written. "
        words += "Run and check that again."
    if merged.yours:
        words += f"\n    You and the course changed the same lines: {named(merged.yours, merged, name)}. Yours stand; "
        words += f"the course's are in labs/{name}."
    if merged.kept:
        words += f"\n    The course no longer has what you wrote in: {', '.join(merged.kept)}. "
        words += "These cells are kept; the exercise may have a new name."
    return words


def _same_course(copy: Notebook, lab: Notebook) -> bool:
    """Whether a copy that names no base has each cell as the lab has it now: then that is its base."""
    return len(copy["cells"]) == len(lab["cells"]) and all(
        mine["id"] == new["id"] and same_text(mine, new)
        for mine, new in zip(copy["cells"], lab["cells"], strict=True)
    )


def _removed(root: Path, work: Path) -> list[str]:
    """The copies whose lab the course no longer has. The learner's own notebooks are none."""
    names = {lab.name for lab in lab_files(root)}
    removed = []
    for path in sorted(work.glob("[0-9][0-9]_*.ipynb")):
        try:
            if path.name not in names and stamped(parsed(path.read_bytes()))[0] == path.name:
                removed.append(path.name)
        except (OSError, Unreadable):
            continue
    return removed
