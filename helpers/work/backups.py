"""Backups: work/.backups/0007-reset-2026-11-22_1153/ holds the files as they stood before a command, and what.json.

They are numbered, so that neither a clock that goes back nor two commands in one minute change their order. A backup is
written whole before anything else is changed. None is ever deleted.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.course.progress import Solved
from helpers.files import put
from helpers.work.copies import fingerprint
from helpers.work.writing import sync_folder

FOLDER = ".backups"
WHAT = "what.json"
NAME = re.compile(r"(\d{4,})-(update|reset|undo)-.+")


@dataclass(frozen=True)
class Backup:
    """One backup. after: by file, the hash of what the command put there. of: the backups that an undo took back.

    finished: the command came to its end. trouble: why what.json could not be read, or "".
    """

    folder: Path
    command: str
    arguments: Sequence[str] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    progress: Mapping[str, Solved] = field(default_factory=dict)
    of: Sequence[str] = ()
    finished: bool = True
    trouble: str = ""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def shown(self) -> str:
        """Where it is, as people name it."""
        return f"work/{FOLDER}/{self.name}"

    def text(self, file: str) -> bytes | None:
        """What stood in a file before the command; None if the backup of it is damaged."""
        try:
            text = (self.folder / file).read_bytes()
        except OSError:
            return None
        return text if self.trouble or fingerprint(text) == self.before.get(file) else None


def make(
    work: Path,
    command: str,
    texts: Mapping[str, bytes],
    after: Mapping[str, bytes],
    *,
    arguments: Sequence[str] = (),
    progress: Mapping[str, Solved] | None = None,
    of: Sequence[str] = (),
) -> Backup:
    """Backs up files, before a command changes them: whole and on the disk, or not at all.

    texts: by name, what stands in the files. after: what will stand there. progress: what will be forgotten.
    Raises: OSError, if it cannot be written.
    """
    parent = work / FOLDER
    parent.mkdir(exist_ok=True)
    time = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d_%H%M")
    number = max((_number(path) for path in parent.iterdir()), default=0) + 1
    before, later = ({name: fingerprint(text) for name, text in given.items()} for given in (texts, after))
    made = Backup(
        parent / f"{number:04d}-{command}-{time}",
        command,
        tuple(arguments),
        before,
        later,
        dict(progress or {}),
        tuple(of),
        finished=False,
    )
    part = Path(tempfile.mkdtemp(dir=parent, prefix=".part-"))
    try:
        for name, text in texts.items():
            _write(part / name, text)
        _write(part / WHAT, _as_json(made).encode())
        part.chmod(0o755)
        sync_folder(part)
        os.rename(part, made.folder)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    sync_folder(parent)
    return made


def finish(backup: Backup, done: Collection[str]) -> None:
    """Notes that a command came to its end, and which files it replaced."""
    after = {name: hash for name, hash in backup.after.items() if name in done}
    ended = Backup(**{**vars(backup), "after": after, "finished": True})
    put(backup.folder / WHAT, _as_json(ended))


def backups(work: Path) -> list[Backup]:
    """All backups, oldest first."""
    parent = work / FOLDER
    found = [path for path in parent.iterdir() if _number(path)] if parent.is_dir() else []
    return [read(path) for path in sorted(found, key=_number)]


def read(folder: Path) -> Backup:
    """A backup. Where its what.json is damaged, what the folder itself tells, and the trouble."""
    command = NAME.fullmatch(folder.name)[2]
    try:
        fields = json.loads((folder / WHAT).read_text(encoding="utf-8"))
        progress = {id: Solved(str(e["solved"]), int(e["version"])) for id, e in fields["progress"].items()}
        before, after = (
            {str(name): str(hash) for name, hash in fields[key].items()} for key in ("before", "after")
        )
        arguments, of = [str(word) for word in fields["arguments"]], [str(name) for name in fields["of"]]
        return Backup(folder, command, arguments, before, after, progress, of, fields["finished"] is True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        trouble = f"{WHAT} in work/{FOLDER}/{folder.name} is damaged"
        files = {path.name: "" for path in folder.glob("*.ipynb")}
        return Backup(folder, command, before=files, after=files, trouble=trouble)


def _as_json(backup: Backup) -> str:
    fields: dict[str, Any] = {
        "command": backup.command,
        "arguments": list(backup.arguments),
        "before": dict(backup.before),
        "after": dict(backup.after),
        "progress": {id: vars(entry) for id, entry in backup.progress.items()},
        "of": list(backup.of),
        "finished": backup.finished,
    }
    return json.dumps(fields, indent=1) + "\n"


def _number(path: Path) -> int:
    found = NAME.fullmatch(path.name)
    return int(found[1]) if found else 0


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
