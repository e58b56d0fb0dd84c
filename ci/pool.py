"""Jobs in parallel over the cores: one process each, watched, timed, and ended with all that they started."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ci import job
from ci.kernels import START_SECONDS, cell_seconds, environment, positive
from ci.notebooks import Problem, trouble
from ci.progress import Progress
from ci.words import indented

POLL = 0.05  # seconds between two looks at the jobs
GRACE = 10.0  # seconds a job has to end itself
FULL = 2**20  # bytes; with less room a kernel cannot even start


@dataclass(frozen=True)
class Job:
    """One notebook to be worked on: a command that announces its events and then its result."""

    name: str
    argv: Sequence[str]
    strict: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    cells: int = 0  # how many cells will be announced


@dataclass
class Outcome:
    """What came of a job: `result` is what it announced at its end, `faults` what a person must mend."""

    name: str
    seconds: float = 0.0
    result: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


class _Running:
    def __init__(self, work: Job, root: Path) -> None:
        self.job, self.started = work, time.monotonic()
        self.folder = Path(tempfile.mkdtemp(prefix="labbook-"))
        self.mark = uuid.uuid4().hex
        self.log, self.events = self.folder / "log", self.folder / "events"
        self.events.touch()
        self.seen, self.news, self.cell = 0, self.started, ""
        self.outcome = Outcome(work.name)
        env = environment(root, self.folder, strict=work.strict)
        env |= {job.EVENTS: str(self.events), job.MARK: self.mark, job.PARENT: str(os.getpid()), **work.env}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                work.argv,
                cwd=root,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def read_events(self) -> list[dict[str, Any]]:
        """The events that are new since the last look."""
        with open(self.events, "rb") as file:
            file.seek(self.seen)
            lines = file.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self.seen += len(whole)
        events = [json.loads(line) for line in whole.splitlines()]
        for event in events:
            self.news = time.monotonic()
            if event["event"] == "cell":
                self.cell = event["cell"]
            elif event["event"] == "fault":
                self.outcome.faults.append(event["what"] + (self.last_words() if event.get("log") else ""))
            elif event["event"] == "result":
                self.outcome.result = event
        return events

    def end(self) -> Outcome:
        """What came of the job, once its process has ended; clears away what it left."""
        self.read_events()
        code = self.process.wait()
        job.kill_marked(self.mark)
        outcome = self.outcome
        outcome.seconds = time.monotonic() - self.started
        if not outcome.faults and (code != 0 or not outcome.result):
            place = f", cell {self.cell}" if self.cell else ""
            said = f"the job ended with exit code {code}{self.last_words()}"
            outcome.faults.append(f"{self.job.name}{place}: {said}")
        if outcome.faults and shutil.disk_usage(self.folder).free < FULL:
            outcome.faults.append(
                f"the disk that holds {tempfile.gettempdir()} is full: make room and run again"
            )
        shutil.rmtree(self.folder, ignore_errors=True)
        return outcome

    def last_words(self) -> str:
        """The end of what the job and its kernel wrote besides their events."""
        said = indented(self.log.read_text(errors="replace"), lines=10)
        return f"; its last words:\n{said}" if said else ""

    def stop(self) -> None:
        """End the job, gently first: it kills what it started."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        job.kill_marked(self.mark)

    def discard(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def is_silent(self, limit: float) -> bool:
        return time.monotonic() - self.news > limit


def cores() -> int:
    """How many jobs run at once: the cores this process may use; LABBOOK_JOBS overrides it."""
    usable = getattr(os, "sched_getaffinity", None)
    here = len(usable(0)) if usable else os.cpu_count() or 1
    return max(1, int(positive("LABBOOK_JOBS", here)))


def outcomes(jobs: Sequence[Job], root: Path, what: str) -> list[Outcome]:
    """Run the jobs, the longest first, and return what came of each, in the order they were given.

    A job that is silent for longer than a cell may take is ended. On an interrupt, or any other exception,
    every job is ended with all its processes before the exception goes on.

    Raises:
        Problem: a job cannot be started.
    """
    times = _Times(root, what)
    waiting = sorted(jobs, key=lambda one: -times.seconds(one))
    running: list[_Running] = []
    done: dict[str, Outcome] = {}
    silence, at_once = cell_seconds() + START_SECONDS, cores()
    with Progress(what, len(jobs)) as progress:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    running.append(_started(waiting.pop(0), root))
                    progress.started(running[-1].job.name, running[-1].job.cells)
                for one in list(running):
                    ended = one.process.poll() is not None
                    for event in one.read_events():
                        progress.event(one.job.name, event)
                    if not ended and one.is_silent(silence):
                        place = f"cell {one.cell}" if one.cell else "before its first cell"
                        one.outcome.faults.append(
                            f"{one.job.name}, {place}: nothing for {silence:.0f} s; ended"
                        )
                        one.stop()
                        ended = True
                    if ended:
                        running.remove(one)
                        outcome = done[one.job.name] = one.end()
                        times.learn(outcome)
                        progress.ended(outcome.name, outcome.seconds, failed=bool(outcome.faults))
                time.sleep(POLL)
        except BaseException:
            for one in running:
                one.discard()
            raise
    times.save()
    return [done[one.name] for one in jobs]


def _started(work: Job, root: Path) -> _Running:
    try:
        return _Running(work, root)
    except OSError as error:
        raise Problem(f"the job could not be started: {trouble(error)}", path=work.name) from None


class _Times:
    """How long each job took last time, so that the longest can begin first. Losing it costs nothing."""

    def __init__(self, root: Path, what: str) -> None:
        self.path, self.what = root / ".labbook" / "seconds.json", what
        try:
            self.all = json.loads(self.path.read_text())
            self.mine = {name: float(seconds) for name, seconds in self.all.get(what, {}).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            self.all, self.mine = {}, {}

    def seconds(self, work: Job) -> float:
        return self.mine.get(work.name, 1000.0 + work.cells)

    def learn(self, outcome: Outcome) -> None:
        if not outcome.faults:
            self.mine[outcome.name] = round(outcome.seconds, 1)

    def save(self) -> None:
        try:
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(json.dumps({**self.all, self.what: self.mine}, indent=1))
        except OSError:
            return
