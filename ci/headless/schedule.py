"""Which job begins next: the longest, no two that start ranks, and no more than the memory holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ci.headless.jobs import Job
from ci.notebooks.files import is_run
from helpers.files import put

if TYPE_CHECKING:
    from nbformat import NotebookNode

MEGABYTES = 1800.0  # of a job that was never measured: the most that a lab was seen to hold is 1749
UNKNOWN_SECONDS = 1000.0  # such a job begins first: nobody knows how long it takes
RANKS = re.compile(r"(?m)^\s*(from\s+helpers\s+import\b.*\branks\b|(from|import)\s+helpers\.ranks\b)")


def starts_ranks(notebook: NotebookNode) -> bool:
    """Whether the notebook starts ranks: its code imports `helpers.ranks`, the one way to start them here."""
    return any(is_run(cell) and RANKS.search(cell.source) for cell in notebook.cells)


class History:
    """How long each job took and how much memory it held the last time that it passed. Losing it costs nothing.

    Kept in .labbook/jobs.json: seconds, and megabytes at the highest of the looks that were taken.
    """

    def __init__(self, root: Path, what: str) -> None:
        self.path, self.what = root / ".labbook" / "jobs.json", what
        self.mine = self._all().get(what, {})

    def _all(self) -> dict[str, dict[str, dict[str, float]]]:
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            return {
                what: {name: {key: float(value) for key, value in job.items()} for name, job in jobs.items()}
                for what, jobs in kept.items()
            }
        except (OSError, ValueError, AttributeError, TypeError, OverflowError, RecursionError):
            return {}

    def seconds(self, work: Job) -> float:
        """The seconds it took; the more cells, the longer, where that is not known."""
        return self.mine.get(work.name, {}).get("seconds", UNKNOWN_SECONDS + work.cells)

    def megabytes(self, work: Job) -> float:
        """The memory it held at its peak."""
        return self.mine.get(work.name, {}).get("megabytes", MEGABYTES)

    def learn(self, name: str, seconds: float, megabytes: float | None) -> None:
        """Note a job that passed; `megabytes` is None where it was over before the first look."""
        known = {"seconds": round(seconds, 1)}
        if megabytes is not None:
            known["megabytes"] = round(megabytes)
        self.mine[name] = self.mine.get(name, {}) | known
        try:  # beside what other commands have written meanwhile
            put(self.path, json.dumps({**self._all(), self.what: self.mine}, indent=1))
        except OSError:
            return


class Schedule:
    """The jobs that wait, and the choice among them."""

    def __init__(self, jobs: Iterable[Job], history: History, at_once: int, megabytes: float) -> None:
        """
        Args:
            jobs: What is to be done.
            history: What is known of it.
            at_once: The most jobs at a time.
            megabytes: The memory for all that run at a time. One job runs whatever it needs.
        """
        self.waiting, self.history = list(jobs), history
        self.at_once, self.megabytes = at_once, megabytes

    def next(self, running: Sequence[Job]) -> Job | None:
        """The job to begin now beside those that run, taken from the waiting ones; None if none may."""
        if len(running) >= self.at_once:
            return None
        left = self.megabytes - sum(map(self.history.megabytes, running))
        ranks = any(job.ranks for job in running)
        for job in sorted(self.waiting, key=self._urgency, reverse=True):
            if not running or (self.history.megabytes(job) <= left and not (job.ranks and ranks)):
                self.waiting.remove(job)
                return job
        return None

    def _urgency(self, job: Job) -> tuple[float, float]:
        """The seconds that the rest takes at least from where this job begins, then its own.

        Jobs with ranks wait for one another: they are one long job.
        """
        own = self.history.seconds(job)
        chain = sum(self.history.seconds(other) for other in self.waiting if other.ranks)
        return (chain if job.ranks else own), own
