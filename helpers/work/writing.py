"""Files in work/: written whole or not at all, and replaced only if they are still what was read."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class WorkFailed(Exception):
    """The message is one line: what could not be done, and what to do."""


class Changed(Exception):
    """The file is no longer the one that was read. It is as whoever changed it left it."""


def write_new(target: Path, content: bytes) -> None:
    """Writes a file so that it is either whole or not there. An existing one stays."""
    with _part(target, content) as part:
        if not os.path.lexists(target):
            os.rename(part, target)
    sync_folder(target.parent)


def swap(target: Path, content: bytes, seen: bytes) -> None:
    """Replaces a file at once, if its content is still `seen`. Of a link, the file that it leads to.

    Raises:
        Changed: somebody else saved it, or took it away. Also if that happens between the look and the replacing.
        OSError: it cannot be written; the old file is as it was.
    """
    target = target.resolve()
    if not target.is_file():
        raise Changed
    with _part(target, content, target.stat().st_mode & 0o777) as part, _second_name(target) as old:
        if target.read_bytes() != seen:
            raise Changed
        os.replace(part, target)
        if old and old.read_bytes() != seen:  # JupyterLab writes into the file itself: here is what it wrote
            os.replace(old, target)
            raise Changed
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Brings the names in a folder to the disk, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_fix(error: OSError, command: str) -> str:
    """What to do about a folder that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"Fix: free some space on this disk, then run {command} again"
    return "Fix: make the folder writable for you, or copy the project to a place that is"


@contextmanager
def _part(target: Path, content: bytes, mode: int = 0o644) -> Iterator[Path]:
    """The content under another name in the same folder, on the disk; gone at the end if it was not renamed."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(mode)
        yield part
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _second_name(target: Path) -> Iterator[Path | None]:
    """A hard link, under which the file can be read after it was replaced. None where the disk has no links."""
    name = target.with_name(f".{target.name}.{os.getpid()}.old")
    try:
        name.unlink(missing_ok=True)
        os.link(target, name)
    except OSError:
        yield None
        return
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)
