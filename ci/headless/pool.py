"""Jobs in parallel over the cores: one process each, watched, timed, and ended with all that they started."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ci.headless import child, free_memory
from ci.headless.jobs import Job, Outcome
from ci.headless.kernels import START_SECONDS, cell_seconds, environment, positive
from ci.headless.progress import Progress
from ci.headless.schedule import History, Schedule
from ci.headless.warm.owner import Kernels, kernels
from ci.headless.words import ended, indented
from ci.notebooks.files import Problem, reason

POLL = 0.05  # seconds between two looks at the jobs
LOOK = 2.0  # seconds between two looks at a job's memory
LOOK_SHARE = 0.01  # of a job's time, which these looks may take of the processor's: each takes 20 ms or more
GRACE = 10.0  # seconds a job has to end itself
FULL = 2**20  # bytes; with less room a kernel cannot even start
STARTS = 3  # times a job is started whose kernel lost its port before it had it
LOST_PORT = b"Address already in use"
EACH_KERNEL = "Kernel is running over TCP without encryption"  # ipykernel says so of each: it explains no end


class _Running:
    def __init__(self, work: Job, root: Path, kernels: Kernels) -> None:
        self.job, self.started = work, time.monotonic()
        self.folder = Path(tempfile.mkdtemp(prefix="labbook-"))
        self.mark = uuid.uuid4().hex
        self.log, self.events = self.folder / "log", self.folder / "events"
        self.events.touch()
        self.seen, self.news, self.cell, self.no_kernel = 0, self.started, "", False
        self.next_look, self.peak = self.started + LOOK, 0  # at its memory; the most seen, in bytes
        self.outcome = Outcome(work.name)
        env = environment(root, self.folder, strict=work.strict)
        env |= {
            child.EVENTS: str(self.events),
            child.MARK: self.mark,
            child.PARENT: str(os.getpid()),
            **work.env,
        }
        env |= kernels.variables
        if kernels.stock and work.kernel:
            self.outcome.kernels.append(kernels.stock)
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
        try:
            with open(self.events, "rb") as file:
                file.seek(self.seen)
                lines = file.read()
        except FileNotFoundError:  # a job that is told to end takes its folder with it
            return []
        whole = lines[: lines.rfind(b"\n") + 1]
        self.seen += len(whole)
        events = [json.loads(line) for line in whole.splitlines()]
        for event in events:
            self.news = time.monotonic()
            if event["event"] == "cell":
                self.cell = event["cell"]
            elif event["event"] == "error":
                self.no_kernel = bool(event.get("log"))
                self.outcome.errors.append(event["what"] + (self.last_words() if event.get("log") else ""))
            elif event["event"] == "kernel":
                self.outcome.kernels.append(event["stock"])
            elif event["event"] == "result":
                self.outcome.result = event
        return events

    def end(self) -> Outcome:
        """What came of the job, once its process has ended; clears away what it left."""
        self.read_events()
        code = self.process.wait()
        child.kill_marked(self.mark)
        outcome = self.outcome
        outcome.seconds = time.monotonic() - self.started
        if not outcome.errors and (code != 0 or not outcome.result):
            place = f", cell {self.cell}" if self.cell else ""
            message = f"the job {ended(code)}{self.last_words()}"
            outcome.errors.append(f"{self.job.name}{place}: {message}")
        if outcome.errors and shutil.disk_usage(tempfile.gettempdir()).free < FULL:
            outcome.errors.append(
                f"the disk that holds {tempfile.gettempdir()} is full: make room and run again"
            )
        shutil.rmtree(self.folder, ignore_errors=True)
        return outcome

    def lost_its_port(self) -> bool:
        """Whether the kernel did not start since its port was taken: Jupyter picks one, the kernel takes it later."""
        return self.no_kernel and self.log.exists() and LOST_PORT in self.log.read_bytes()

    def last_words(self) -> str:
        """The end of what the job and its kernel wrote besides their events."""
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        message = indented("\n".join(line for line in log.splitlines() if EACH_KERNEL not in line), lines=10)
        return f"; its last words:\n{message}" if message else ""

    def stop(self) -> None:
        """End the job, gently first: it kills what it started."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        child.kill_marked(self.mark)

    def discard(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def look_at_memory(self) -> None:
        """Note how much its processes hold, from time to time."""
        if time.monotonic() > self.next_look:
            before = time.process_time()
            self.peak = max(self.peak, free_memory.held(child.marked(self.mark)))
            took = time.process_time() - before
            self.next_look = time.monotonic() + max(LOOK, took / LOOK_SHARE)

    def is_silent(self, limit: float) -> bool:
        return time.monotonic() - self.news > limit


def cores() -> int:
    """How many jobs run at once: the cores this process may use; LABBOOK_JOBS overrides it."""
    usable = getattr(os, "sched_getaffinity", None)
    here = len(usable(0)) if usable else os.cpu_count() or 1
    return max(1, int(positive("LABBOOK_JOBS", here)))


def _as_it_is(outcome: Outcome) -> None:
    """Nothing is added to what came of a child."""


def outcomes(
    jobs: Sequence[Job],
    root: Path,
    what: str,
    judge: Callable[[Outcome], None] = _as_it_is,
    served: Kernels | None = None,
) -> list[Outcome]:
    """Run the jobs, the longest first, and return what came of each, in the order they were given.

    `judge` is called with each outcome as soon as its job has ended, and may add errors.
    A job that is silent for longer than a cell may take is ended. On an interrupt, or any other exception,
    every job is ended with all its processes before the exception goes on.

    Args:
        served: Where the jobs get their kernels; by default from a server that lives as long as this call.

    Raises:
        Problem: a job cannot be started.
    """
    history = History(root, what)
    schedule = Schedule(jobs, history, cores(), free_memory.available() / 2**20)
    running: list[_Running] = []
    done: dict[str, Outcome] = {}
    starts = Counter(one.name for one in jobs)
    silence = cell_seconds() + START_SECONDS
    with (
        _ctrl_c() as pressed,
        Progress(what, len(jobs)) as progress,
        nullcontext(served) if served else kernels(root, any(one.kernel for one in jobs)) as from_server,
    ):
        try:
            while schedule.waiting or running:
                if pressed:
                    raise KeyboardInterrupt
                while work := schedule.next([one.job for one in running]):
                    running.append(_started(work, root, from_server))
                    progress.started(work.name, work.cells)
                for one in list(running):
                    ended = one.process.poll() is not None
                    for event in one.read_events():
                        progress.event(one.job.name, event)
                    one.look_at_memory()
                    if not ended and one.is_silent(silence):
                        place = f"cell {one.cell}" if one.cell else "before its first cell"
                        one.outcome.errors.append(
                            f"{one.job.name}, {place}: nothing for {silence:.0f} s; ended. "
                            "If it only needs longer, set LABBOOK_CELL_SECONDS"
                        )
                        one.stop()
                        ended = True
                    if ended and one.lost_its_port() and starts[one.job.name] < STARTS:
                        starts[one.job.name] += 1
                        one.discard()
                        running[running.index(one)] = _started(one.job, root, from_server)
                    elif ended:
                        running.remove(one)
                        outcome = done[one.job.name] = one.end()
                        judge(outcome)
                        if not outcome.errors:
                            history.learn(outcome.name, outcome.seconds, one.peak / 2**20 or None)
                        progress.ended(outcome.name, outcome.seconds, failed=bool(outcome.errors))
                time.sleep(POLL)
        except BaseException:
            for one in running:
                one.discard()
            raise
    return [done[one.name] for one in jobs]


@contextmanager
def _ctrl_c() -> Iterator[list[int]]:
    """Ctrl-C raises KeyboardInterrupt as ever, and is noted: Python drops what is raised while it frees an object."""
    pressed: list[int] = []

    def press(number: int, frame: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield pressed
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _started(work: Job, root: Path, kernels: Kernels) -> _Running:
    try:
        return _Running(work, root, kernels)
    except OSError as error:
        raise Problem(f"the job could not be started: {reason(error)}", path=work.name) from None
