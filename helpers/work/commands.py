"""What update, reset and undo have in common: one at a time, a backup before any change, and no traceback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from helpers.course.progress import NotWritten
from helpers.work.writing import Changed, WorkFailed, swap, write_fix, write_new

LOCK = ".lock"
PATIENCE = 3  # seconds to wait for another command
SAVING = 10  # seconds after which a file without its end is no longer one that is being saved


class WrongName(Exception):
    """Something was named that does not exist: exit code 2. The message says what there is."""


@dataclass(frozen=True)
class Change:
    """What a command does to one file. before: what was read, None if there is no file."""

    name: str
    before: bytes | None
    after: bytes

    def apply(self, work: Path) -> None:
        """Raises: Changed, if the file is not what was read. OSError."""
        if self.before is None:
            write_new(work / self.name, self.after)
        else:
            swap(work / self.name, self.after, self.before)


def texts_before(changes: list[Change]) -> dict[str, bytes]:
    """What a backup of these changes holds, by file."""
    return {change.name: change.before for change in changes if change.before is not None}


def texts_after(changes: list[Change]) -> dict[str, bytes]:
    """What the files will hold, by file."""
    return {change.name: change.after for change in changes}


def carry_out(work: Path, changes: list[Change]) -> set[str]:
    """Makes the changes, one file at a time. Returns the names of the files that it replaced, or wrote."""
    done = set()
    for change in changes:
        try:
            change.apply(work)
            done.add(change.name)
        except Changed:
            continue
    return done


def saved_meanwhile(name: str, command: str) -> str:
    """What is said of a file that was saved by somebody else between reading and replacing."""
    return f"{name}: somebody saved it just now, so it was left as it is. Run {command} again."


def present(path: Path) -> bytes | None:
    """What stands in a notebook's file; None if there is none.

    Raises: WorkFailed, if it cannot be read, or if somebody is writing it now.
    """
    try:
        text, age = path.read_bytes(), time.time() - path.stat().st_mtime
    except FileNotFoundError:
        if path.is_symlink():
            raise WorkFailed(
                f"work/{path.name} is a link that leads nowhere. Fix: delete the link, or put its file back"
            ) from None
        return None
    except OSError as error:
        raise WorkFailed(f"work/{path.name} cannot be read: {error.strerror or error}") from None
    if abs(age) < SAVING and not _is_whole(text):
        raise WorkFailed(
            f"work/{path.name} is being saved just now, so it was left as it is. Fix: wait {SAVING} seconds and run it again"
        )
    return text


def _is_whole(text: bytes) -> bool:
    """Whether a notebook's file has its end: who saves it empties it first, and writes it then."""
    return text.rstrip().endswith(b"}")


def carefully(command: str, root: Path, body: Callable[[Path], int]) -> int:
    """Runs a command on work/ while no other one does. What it cannot do is one line. Returns the exit code."""
    try:
        with _alone(root / "work"):
            return body(root / "work")
    except WrongName as wrong:
        print(f"{command}: {wrong}", file=sys.stderr)
        return 2
    except (WorkFailed, NotWritten) as failed:
        print(f"{command}: {failed}", file=sys.stderr)
    except OSError as error:
        print(
            f"{command}: cannot write to {root / 'work'}: {error.strerror or error}. {write_fix(error, command)}. "
            "Nothing you wrote was lost: each of your notebooks is whole. If one was changed before this happened, its backup "
            "is in work/.backups.",
            file=sys.stderr,
        )
    return 1


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    if work.exists() and not work.is_dir():
        raise WorkFailed(
            f"{work} is a file, and must be the folder of your notebooks. Fix: give it another name"
        )
    work.mkdir(exist_ok=True)
    lock = FileLock(work / LOCK, timeout=PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        raise WorkFailed(
            "another labbook command is at work in work/. Nothing was changed. Fix: wait until it is done"
        ) from None
    try:
        yield
    finally:
        lock.release()
