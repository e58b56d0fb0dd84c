"""The child's side of a headless job: it says what it does, and leaves no process behind."""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any, NoReturn

import psutil

EVENTS = "LABBOOK_EVENTS"  # the file that a job writes its events to, one JSON object a line
MARK = "LABBOOK_JOB"  # marks every process that a job starts, however it detaches itself
NOTEBOOK = "LABBOOK_NOTEBOOK"  # how people name the notebook that the job works on
PARENT = "LABBOOK_PARENT"  # the process that must outlive the job
WRITTEN = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
_PR_SET_PDEATHSIG = 1
_events: list[str] = []  # the path of the events file, once this process is a job


def announce(event: str, **facts: Any) -> None:
    """Append an event to the job's file; nothing happens outside a job."""
    for path in _events:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **facts}) + "\n")


def folder() -> str | None:
    """The job's temporary folder, cleared away at its end; None outside a job."""
    return os.path.dirname(_events[0]) if _events else None


def marked(mark: str) -> list[psutil.Process]:
    """The living processes that carry a job's mark, this one excepted."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.Error, OSError):  # gone, a zombie, or somebody else's
            continue
    return found


def kill_marked(mark: str, but: int | None = None) -> int:
    """Kill whatever a job left behind, and not the process `but`; says how many processes there were."""
    count, deadline = 0, time.monotonic() + 5
    while (left := [one for one in marked(mark) if one.pid != but]) and time.monotonic() < deadline:
        count += len(left)
        for process in left:
            try:
                process.kill()
            except psutil.Error:
                continue
        psutil.wait_procs(left, timeout=0.5)
    return count


def begin() -> None:
    """Make this process a job: it ends, with all that it started, when it is told to or its parent dies."""
    if PARENT not in os.environ:
        return
    # Taken out, so that a kernel and its children do not take themselves for this job. The mark is theirs too.
    parent = int(os.environ.pop(PARENT))
    _events.append(os.environ.pop(EVENTS))
    tempfile.tempdir = folder()  # so that the files of papermill and nbval go with the job

    def end(*_: object) -> None:
        kill_marked(os.environ[MARK])
        shutil.rmtree(os.path.dirname(_events[0]), ignore_errors=True)  # the parent may be gone
        os._exit(143)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)  # not ignored: the kernel would inherit that
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        end()


def leave(code: int) -> NoReturn:
    """End this process as Python does, but take no module apart: that touches all that is imported, for half a second.

    Threads are waited for, exit functions run, and what was written into open files is in them.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    for one in gc.get_objects():
        if issubclass(type(one), WRITTEN):  # isinstance would ask the object
            with suppress(Exception):  # closed, or its disk is full: nobody is left to be told
                one.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(code)
