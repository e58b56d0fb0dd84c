"""Which notebooks passed, and with what result, so that one of which nothing has changed need not run again."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from ci.headless.fingerprint import digest, fingerprint
from ci.notebooks.files import PAGE, number
from helpers.files import put


class Cache:
    """The memory of one task (`run`, `validate`, `labs`), one small file a notebook in .labbook/passed/.

    Whatever is wrong with it, or cannot be read while a key is made, costs a run and nothing else.
    """

    def __init__(self, root: Path, task: str) -> None:
        self.root, self.task = root, task
        self.seen: dict[Path, tuple[str, str] | None] = {}  # the notebook, and those that it reads

    @cached_property
    def around(self) -> str | None:
        """The fingerprint before anything runs."""
        return self._around()

    def recall(self, path: Path) -> dict[str, Any] | None:
        """The result with which the notebook passed, if nothing has changed since; else None.

        To be called before the notebook runs, also where nothing is to be skipped.
        """
        seen, around = self._contents(path), self.around
        self.seen[path] = seen
        if seen is None or around is None:
            return None
        try:
            kept = json.loads(self._file(path).read_text(encoding="utf-8"))
            entry = kept["passed"]
            if kept["sum"] == _sum(entry) and entry["key"] == self._key(*seen):
                return entry["result"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return None

    def remember(self, path: Path, result: dict[str, Any], written: str = "") -> None:
        """Keep the result of a notebook that passed, unless something changed while it ran.

        Args:
            path: The notebook; `recall` was called with it before it ran.
            result: What is shown of it in the table; plain data.
            written: The hash of what the run itself wrote into the notebook, where it writes.
        """
        before, now = self.seen[path], self._contents(path)
        if before is None or now is None or self.around is None or self._around() != self.around:
            return
        if now != (written or before[0], before[1]):
            return
        entry = {"key": self._key(*now), "result": result}
        try:
            put(self._file(path), json.dumps({"passed": entry, "sum": _sum(entry)}))
        except OSError:
            return

    def _file(self, path: Path) -> Path:
        return self.root / ".labbook" / "passed" / f"{self.task}-{path.stem}.json"

    def _around(self) -> str | None:
        try:
            return fingerprint(self.root)
        except OSError:
            return None

    def _contents(self, path: Path) -> tuple[str, str] | None:
        """The hash of the notebook and one of the notebooks that it can read.

        A lab shows the solution beside an answer, and the start page shows the titles of all.
        """
        lab = number(path)
        pattern = "labs/*.ipynb" if lab == PAGE else f"solutions/{lab}_*.ipynb"
        try:
            others = [other for other in sorted(self.root.glob(pattern)) if other != path]
            return digest(path), _sum([f"{other.name} {digest(other)}" for other in others])
        except OSError:
            return None

    def _key(self, notebook: str, others: str) -> str:
        return _sum([self.task, self.around, notebook, others])


def _sum(entry: object) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
