"""Which exercises are solved: work/progress.json, one line an exercise.

    {
    "01.seed_everything": {"solved": "2026-11-22", "version": 1},
    "01.stable_sum": {"solved": "2026-11-23", "version": 1}
    }

It is replaced whole or not at all, and one writer waits for the other. Since each line stands for itself, a file that
was cut off or edited by hand loses no line that can still be read.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helpers import paths
from helpers.files import put

NAME = "progress.json"
PATIENCE = 5  # seconds to wait for another writer; writing takes milliseconds
ID = re.compile(r"\d\d\.[a-z][a-z0-9_]*")
LINE = re.compile(r'^\s*"(?P<id>\d\d\.\w+)"\s*:\s*(?P<entry>\{[^{}]*\})\s*,?\s*$', re.MULTILINE)


@dataclass(frozen=True)
class Solved:
    """An exercise that passed its check. solved: the day, 2026-11-22. version: the exercise's, at that time."""

    solved: str
    version: int


@dataclass(frozen=True)
class Progress:
    """What the file holds. error: why not all of it could be read, in one sentence, or ""."""

    solved: Mapping[str, Solved] = field(default_factory=dict)
    error: str = ""
    readable: bool = True

    def has(self, id: str, version: int) -> bool:
        """Whether this version of the exercise is solved."""
        return id in self.solved and self.solved[id].version == version


class NotWritten(Exception):
    """The message is one sentence: what could not be kept, why, and what to do."""


def read(work: Path | None = None) -> Progress:
    """The progress in a folder, in work/ if none is given; nothing solved where there is no file.

    Never raises, never writes.
    """
    work = work or paths.WORK
    try:
        text = (work / NAME).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return Progress()
    except OSError as error:
        return Progress(error=f"work/{NAME} cannot be read: {error.strerror or error}.", readable=False)
    try:
        found = json.loads(text)
        whole = isinstance(found, dict)
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        found = dict(_lines(text))
    entries = {id: entry for id, given in found.items() if ID.fullmatch(id) and (entry := _entry(given))}
    if whole and len(entries) == len(found):
        return Progress(entries)
    count = f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}"
    return Progress(entries, f"work/{NAME} is damaged; {count} could be read.")


def note_solved(id: str, version: int, work: Path | None = None) -> None:
    """Notes that an exercise is solved, today; one that is noted already keeps its day.

    Raises:
        NotWritten: the file could not be written.
    """
    work = work or paths.WORK
    if not read(work).has(id, version):
        with _changing(work) as entries:
            if id not in entries or entries[id].version != version:
                entries[id] = Solved(today(), version)


def today() -> str:
    """The day, 2026-11-22."""
    return datetime.date.today().isoformat()


def forget(ids: Iterable[str], work: Path | None = None) -> dict[str, Solved]:
    """Takes exercises out, since they are begun anew. Returns what was noted of them, for `put_back`.

    Raises:
        NotWritten: the file could not be written.
    """
    work = work or paths.WORK
    noted = {id: entry for id, entry in read(work).solved.items() if id in set(ids)}
    if noted:
        with _changing(work) as entries:
            for id in noted:
                entries.pop(id, None)
    return noted


def put_back(noted: Mapping[str, Solved], work: Path | None = None) -> None:
    """Notes again what `forget` took out; what was solved since then stays as it is.

    Raises:
        NotWritten: the file could not be written.
    """
    if noted:
        with _changing(work or paths.WORK) as entries:
            for id, entry in noted.items():
                entries.setdefault(id, entry)


def is_kept(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether what passes here counts: a learner's live notebook, not a headless run, no notebook of solutions/."""
    if environment.get("LABBOOK_HEADLESS") == "1" or environment.get("LABBOOK_STRICT") == "1":
        return False
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    if getattr(get_ipython(), "kernel", None) is None:
        return False
    folder = _folder(environment)
    return folder is None or not folder.is_relative_to(paths.SOLUTIONS)


def _folder(environment: Mapping[str, str]) -> Path | None:
    """Where this kernel's notebook lies, None if the folder was removed."""
    # JupyterLab tells a kernel which notebook it belongs to; elsewhere it is in the working directory, to begin with.
    try:
        return Path(environment.get("JPY_SESSION_NAME", "")).parent.resolve()
    except OSError:
        return None


@contextmanager
def _changing(work: Path) -> Iterator[dict[str, Solved]]:
    """The entries, to be changed and written back while no other process writes."""
    from filelock import FileLock, Timeout

    try:
        work.mkdir(parents=True, exist_ok=True)
        with FileLock(work / f".{NAME}.lock", timeout=PATIENCE):
            before = read(work)
            entries = dict(before.solved)
            yield entries
            if before.error:
                _keep_damaged(work)
            put(work / NAME, _text(entries))
    except Timeout:
        raise NotWritten(
            f"Your progress was not noted: another process has held work/{NAME} for {PATIENCE} seconds. "
            "Run the check once more."
        ) from None
    except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
        why = getattr(error, "strerror", None) or error
        raise NotWritten(
            f"Your progress was not noted, work/{NAME} cannot be written: {why}. "
            "Your answer itself is safe in the notebook."
        ) from None


def _keep_damaged(work: Path) -> None:
    """A damaged file is kept beside the new one, under the next free name. A copy: there is always one to read."""
    number = 1
    while (kept := work / f"{NAME}.damaged-{number}").exists():
        number += 1
    shutil.copy2(work / NAME, kept)


def _text(entries: Mapping[str, Solved]) -> str:
    lines = [f"{json.dumps(id)}: {json.dumps(asdict(entries[id]))}" for id in sorted(entries)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    """The lines of a damaged file that can be read by themselves."""
    for line in LINE.finditer(text):
        try:
            yield line["id"], json.loads(line["entry"])
        except ValueError:
            continue


def _entry(given: Any) -> Solved | None:
    if not isinstance(given, dict):
        return None
    day, version = given.get("solved"), given.get("version")
    return Solved(day, version) if isinstance(day, str) and isinstance(version, int) else None
