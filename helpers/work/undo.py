"""`labbook undo`: takes the last update or reset back, after a backup of what stands there now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helpers.course import progress
from helpers.work import backups
from helpers.work.backups import Backup
from helpers.work.commands import (
    Change,
    carefully,
    carry_out,
    present,
    saved_meanwhile,
    texts_after,
    texts_before,
)
from helpers.work.copies import fingerprint
from helpers.work.notebook import Unreadable, parsed
from helpers.work.opened import opened
from helpers.work.writing import WorkFailed

COMMAND = "labbook undo"


@dataclass(frozen=True)
class Return:
    """A file and what stood in it before. edited: it has changed since the command that is taken back."""

    name: str
    now: bytes | None
    then: bytes
    edited: bool


def undo(root: Path) -> int:
    """Takes the last update or reset back that was not taken back yet. Returns the exit code."""
    return carefully(COMMAND, root, _undo)


def _undo(work: Path) -> int:
    taken = last(backups.backups(work))
    if not taken:
        print("There is no update or reset to take back. Nothing was changed.")
        return 0
    returns, damaged = _returns(work, taken)
    due = [item for item in returns if item.now != item.then]
    now_open = opened(work) if due else None
    if refused := [(item.name, why) for item in due if (why := now_open.refusal(item.name, COMMAND))]:
        for name, why in refused:
            print(f"{name}: {why}")
        print("Nothing was changed.")
        return 1
    return _carry_out(work, taken, due, damaged)


def _carry_out(work: Path, taken: list[Backup], due: list[Return], damaged: list[str]) -> int:
    """Backs up, puts files and progress back, and tells it. Returns the exit code."""
    what = called(taken[0])
    changes = [Change(item.name, item.now, item.then) for item in due]
    of = [backup.name for backup in taken]
    backup = backups.make(work, "undo", texts_before(changes), texts_after(changes), of=of)
    done = carry_out(work, changes)
    for item in due:
        if item.name not in done:
            print(saved_meanwhile(item.name, COMMAND))
            continue
        print(f"{item.name}: as it was before `{what}`.")
        if item.edited:
            print(f"    It had changed since. What stood in it is in {backup.shown}/{item.name}.")
    for line in damaged:
        print(line)
    try:
        for old in taken:
            progress.put_back(old.progress, work)
    except progress.NotWritten as why:
        raise WorkFailed(
            f"the notebooks are back, but not yet what was solved. Run {COMMAND} again. {why}"
        ) from None
    if back := sorted({id for old in taken for id in old.progress}):
        print(f"Noted as solved again: {', '.join(back)}.")
    if len(done) < len(due):
        return 1
    backups.finish(backup, done)
    if not due and not damaged:
        print(f"Your notebooks are as they were before `{what}`. None had to be changed.")
    rest = last(backups.backups(work))
    print(
        f"Called again, `labbook undo` takes back `{called(rest[0])}` before that."
        if rest
        else "No older update or reset is left to take back."
    )
    return int(bool(damaged))


def _is_notebook(text: bytes) -> bool:
    try:
        parsed(text)
    except Unreadable:
        return False
    return True


def called(backup: Backup) -> str:
    """The command that a backup was made for, as it was typed."""
    return " ".join(["labbook", backup.command, *backup.arguments])


def last(found: list[Backup]) -> list[Backup]:
    """What the next undo takes back, newest first: the last command, with the tries of it that were cut off before."""
    undone = {name for backup in found if backup.command == "undo" and backup.finished for name in backup.of}
    left = [backup for backup in found if backup.command != "undo" and backup.name not in undone]
    taken = left[-1:]
    for backup in reversed(left[:-1]):
        same = (backup.command, list(backup.arguments)) == (taken[0].command, list(taken[0].arguments))
        if backup.finished or not same:
            break
        taken.append(backup)
    return taken


def _returns(work: Path, taken: list[Backup]) -> tuple[list[Return], list[str]]:
    """What goes back, and a line for each thing that is damaged. Of two backups of a file the newer one counts."""
    returns: dict[str, Return] = {}
    damaged = []
    for backup in taken:
        if backup.trouble:
            damaged.append(f"{backup.trouble}. Its notebooks go back; what was noted as solved does not.")
        for name in backup.before:
            if name in returns or (backup.finished and name not in backup.after):
                continue  # a file that the command did not replace after all
            then = backup.text(name)
            if then is None:
                damaged.append(f"{name}: left as it is, since its backup in {backup.shown} is damaged.")
                continue
            if backup.trouble and not _is_notebook(then):
                damaged.append(f"{name}: left as it is, since its backup in {backup.shown} is no notebook.")
                continue
            now = present(work / name)
            edited = now is not None and (bool(backup.trouble) or fingerprint(now) != backup.after.get(name))
            if not backup.finished and edited and now != then:
                # Nobody knows whether the command had come to this file before it was cut off.
                damaged.append(
                    f"{name}: left as it is. `{called(backup)}` was cut off, and this notebook has changed since. What stood in "
                    f"it before is in {backup.shown}/{name}."
                )
                continue
            returns[name] = Return(name, now, then, edited)
    return list(returns.values()), damaged
