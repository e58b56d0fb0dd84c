"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def put(path: Path, text: str) -> None:
    """Puts a text in the place of a file, at once or not at all; it keeps the permissions that the file had.

    Raises:
        OSError: it cannot be written; the old file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(part, path)
    finally:
        Path(part).unlink(missing_ok=True)
