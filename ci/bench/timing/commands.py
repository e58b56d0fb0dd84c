"""A command run to its end and timed. An interrupt ends it with all that it started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import psutil

from ci.bench.timing.peak_memory import Peak
from ci.headless import child
from ci.headless.words import indented
from ci.notebooks.files import Problem
from helpers.processes.process_tree import end_tree

GRACE = 30.0  # seconds that an interrupted command has to end what it started
# One for all commands: `labbook` would take another environment for a change, and skip nothing.
_MARK = uuid.uuid4().hex


@dataclass(frozen=True)
class Ended:
    """What a command took: seconds on the clock, seconds of all cores, its memory at the highest, and what it printed."""

    seconds: float
    cpu_seconds: float
    peak_mb: float | None
    output: str


def timed(
    argv: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    *,
    ok: Collection[int] = (0,),
    memory: bool = False,
    cores: Collection[int] = (),
) -> Ended:
    """Run a command to its end.

    Args:
        argv: The command.
        folder: Where it runs.
        env: Its whole environment.
        ok: The exit codes with which its time counts.
        memory: Whether to watch its memory. That takes time itself: the seconds then count for nothing.
        cores: The numbers of the cores it may use; none for all.

    Raises:
        Problem: it ended with another exit code; its last words are in the message.
    """
    logs = Path(tempfile.mkdtemp(prefix="labbook-bench-"))
    try:
        before = _cpu_seconds()
        with open(logs / "printed", "wb") as printed, open(logs / "complained", "wb") as complained:
            start = time.perf_counter()
            process = subprocess.Popen(
                argv,
                cwd=folder,
                env={**env, child.MARK: _MARK},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=complained,
                start_new_session=True,
            )
            try:
                if cores:
                    os.sched_setaffinity(process.pid, cores)
                with Peak(process.pid) if memory else nullcontext() as peak:
                    code = process.wait()
                seconds = time.perf_counter() - start
            except BaseException:
                _end(process)
                raise
            finally:
                child.kill_marked(_MARK)
        text = (logs / "printed").read_text(errors="replace")
        if code not in ok:
            last = indented(text + (logs / "complained").read_text(errors="replace"), lines=15)
            raise Problem(f"`{_short(argv)}` ended with exit code {code}; its last words:\n{last}")
        return Ended(seconds, _cpu_seconds() - before, peak.mb if peak else None, text)
    finally:
        shutil.rmtree(logs, ignore_errors=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the command, so that it can end what it started; kill it and all below it if it does not."""
    try:
        process.send_signal(signal.SIGINT)
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.poll() is None:
            end_tree(process.pid)
            process.wait()


def _cpu_seconds() -> float:
    """Of all commands that have ended so far, with all that they waited for."""
    used = psutil.Process().cpu_times()
    return used.children_user + used.children_system


def _short(argv: Sequence[str]) -> str:
    words = [Path(word).name for word in argv]
    return " ".join(words[:6]) + (" ..." if len(words) > 6 else "")
