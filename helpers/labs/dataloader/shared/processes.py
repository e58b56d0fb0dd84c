"""The processes that a loader starts, as the check sees them: who is alive, asleep or a zombie, and who hangs.

A loader that hangs must be given its verdict soon. So a timer looks ten times a second, while the learner's code
runs, whether anything still happens; where nothing does, the workers are killed and `Stuck` is raised.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.notebook.frames import is_learners

TICK = 0.1  # s between two looks
PATIENCE = 10  # looks at which all sleep and nothing has happened
LONGEST = 40  # looks without an event, whoever is busy
BUSY = 1.0  # s of processor time that they used meanwhile; with less, it is the machine that is busy
JOINING = (
    120  # looks while the loader waits for a process with a time limit of its own: torch gives each one 5 s
)


class Stuck(BaseException):
    """Nothing happens any more. Not an Exception, so that `except Exception` in a loader lets it pass."""


class Log:
    """What happened in all processes, in its order: lines that are appended to one file."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "log")
        Path(self.path).touch()

    def note(self, *words: Any) -> None:
        """Adds one event."""
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, (json.dumps(words) + "\n").encode())
        finally:
            os.close(file)

    def events(self, kind: str = "") -> list[list[Any]]:
        """All events so far, or those whose first word is `kind`."""
        with open(self.path) as file:
            events = [json.loads(line) for line in file]
        return [event for event in events if event[0] == kind] if kind else events

    def size(self) -> int:
        return os.path.getsize(self.path)

    def wait(self, done: Callable[[list[list[Any]]], bool]) -> None:
        """For a sample: sleeps until `done(events)`, or until the check sees that nothing will happen any more."""
        self.note("waits")
        while not (done(events := self.events()) or ["open"] in events):
            time.sleep(0.004)

    def quiet(self, seconds: float = 0.06) -> None:
        """For a sample: sleeps until nothing has been noted for so long."""
        size = -1
        while size != self.size():
            size = self.size()
            time.sleep(seconds)


def children() -> dict[int, str]:
    """The processes below this one: pid -> state, "Z" for a zombie."""
    if not os.path.isdir("/proc/self/task"):
        return {child.pid: "S" for child in multiprocessing.active_children()}
    found: dict[int, str] = {}
    todo = ["self"]
    while todo:
        parent = todo.pop()
        for pid in _below(parent):
            if pid not in found and (state := _state(pid)):
                found[pid] = state
                todo.append(str(pid))
    return found


def _below(parent: str) -> list[int]:
    below: list[int] = []
    try:
        for task in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{task}/children") as file:
                below += map(int, file.read().split())
    except OSError:  # it has ended meanwhile
        pass
    return below


def _state(pid: int) -> str:
    """Its letter in /proc; "" if it is gone, or is the interpreter's own helper, which stays by design."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            state = file.read().rpartition(")")[2].split()[0]
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            helper = b"resource_tracker" in file.read()
    except OSError:
        return ""
    # A zombie with threads has not ended: they must run once more to die, and until then nobody can bury it.
    if state == "Z" and _threads(pid) > 1:
        return "R"
    return "" if helper or state == "X" else state


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def ended(pid: int) -> bool:
    """Whether this process has ended, buried or not; where nothing tells, no."""
    return os.path.isdir("/proc/self/task") and _state(pid) in ("", "Z")


def _other_threads() -> list[str]:
    """The letter in /proc of each thread of this process but the one that asks; on Linux."""
    found = []
    for task in _tasks():
        try:
            with open(f"/proc/self/task/{task}/stat") as file:
                found.append(file.read().rpartition(")")[2].split()[0])
        except OSError:  # it has ended meanwhile
            pass
    return found


def _tasks() -> list[str]:
    try:
        return [task for task in os.listdir("/proc/self/task") if int(task) != threading.get_native_id()]
    except OSError:
        return []


def _used(pid: int) -> float:
    """Its processor time in seconds so far; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
    except (OSError, ValueError):
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Started:
    """The processes that are started while it is watched; `log` is where they note what they do."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.before = set(children())
        self.waited = 0.0  # s without anything that happened, when it was given up
        self.last_words = ""  # who was doing what when nothing happened any more
        self.stood: tuple[int, str] | None = None  # line and function of the learner, innermost

    def now(self) -> dict[int, str]:
        return {pid: state for pid, state in children().items() if pid not in self.before}

    def left(self) -> list[str]:
        """What is still there half a second later, at most: of "running", "zombie"."""
        for _ in range(50):
            if not (states := self.now()):
                return []
            time.sleep(0.01)
        return sorted({"zombie" if state == "Z" else "running" for state in states.values()})

    def kill(self) -> None:
        """Ends and buries all."""
        for pid in self.now():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for _ in range(200):
            multiprocessing.active_children()  # buries those that multiprocessing knows
            for pid, state in self.now().items():
                if state == "Z":
                    try:
                        os.waitpid(pid, os.WNOHANG)
                    except ChildProcessError:
                        pass
            if not self.now():
                return
            time.sleep(0.005)

    def settle(self) -> None:
        """Waits until all sleep and nothing has happened for a while.

        The threads of this process must sleep, too: one feeds the workers' queue, and on a busy machine it may want
        to run for long before it gets a core.
        """
        quiet, size = 0, self.log.size()
        for _ in range(500):
            time.sleep(0.01)
            states = (*self.now().values(), *_other_threads())
            same = self.log.size() == size and all(state in "SZ" for state in states)
            quiet, size = (quiet + 1, size) if same else (0, self.log.size())
            if quiet == 4:
                return

    @contextmanager
    def watched(self, patience: int = PATIENCE) -> Iterator[None]:
        """Raises Stuck in the block, with all workers killed, when nothing happens any more.

        A sample that waits for what will not come is let go first. Without a timer (Windows, another thread)
        the time limit of the exercise is all there is.
        """
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            yield
            return
        idle = still = joining = 0
        size, used = self.log.size(), time.process_time()
        spent = used  # processor time of all, when the last event came

        def look(number: int, frame: Any) -> None:
            nonlocal idle, still, joining, size, used, spent
            now_size, now_used = self.log.size(), time.process_time()
            states = self.now()
            asleep = all(state in "SZ" for state in states.values()) and now_used - used < TICK / 5
            still = still + 1 if now_size == size else 0
            idle = idle + 1 if asleep and now_size == size else 0
            now_spent = now_used + sum(map(_used, states))
            spent = now_spent if not still else spent
            starved = os.path.isdir("/proc/self") and now_spent - spent < BUSY
            size, used = now_size, now_used
            events = self.log.events()
            if idle >= 4 and ["waits"] in events and ["open"] not in events:
                self.log.note("open")
            elif _joins_for_a_while(frame) and joining < JOINING:  # its clock goes on when that is over
                joining, idle, still = joining + 1, min(idle, 4), 0
            elif joining >= JOINING or idle >= patience or (still >= max(LONGEST, patience) and not starved):
                if not self.last_words:
                    self.waited = max(still, idle, joining) * TICK
                    self.last_words = _described(events, states)
                    self.stood = _place_of(frame)
                self.kill()
                raise Stuck

        old_hook, sys.unraisablehook = sys.unraisablehook, _unless_stuck
        old_handler = signal.signal(signal.SIGALRM, look)
        old_timer = signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
        try:
            yield
        except Exception:
            if (
                self.last_words
            ):  # its workers were killed under its hands: what it says of that is the check's doing
                raise Stuck from None
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, *old_timer)
            signal.signal(signal.SIGALRM, old_handler)
            sys.unraisablehook = old_hook
        if self.last_words:  # what is raised in a __del__, or under `except BaseException`, gets lost
            raise Stuck


def _place_of(frame: Any) -> tuple[int, str] | None:
    """Line and function of the learner's innermost frame."""
    while frame is not None:
        if is_learners(frame.f_code.co_filename):
            return frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
    return None


def _joins_for_a_while(frame: Any) -> bool:
    """Whether this code is waiting for the end of a process, and will give up by itself."""
    while frame is not None:
        if frame.f_code.co_name == "wait" and frame.f_globals.get("__name__") == "multiprocessing.popen_fork":
            return frame.f_locals.get("timeout") is not None
        frame = frame.f_back
    return False


def _unless_stuck(unraisable: Any) -> None:
    """Prints what a __del__ raised, unless it was the watch."""
    if not isinstance(unraisable.exc_value, Stuck):
        sys.__unraisablehook__(unraisable)


def _described(events: list[list[Any]], states: dict[int, str]) -> str:
    """Who was doing what, in words."""
    asked, got = ([event[1] for event in events if event[0] == kind] for kind in ("asked", "got"))
    loading = [event[1] for event in events if event[0] == "load"]
    done = [event[1] for event in events if event[0] == "done"]
    stopped = [index for index in loading if index not in done]
    alive = sum(state != "Z" for state in states.values())
    seen = {event[2] for event in events if event[0] == "load"} | set(states)
    lines = [
        f"batches asked of the sampler: {len(asked)}; samples loaded: {len(done)}; batches received: {len(got)}",
        f"workers: {alive} running, {len(seen) - alive} ended",
    ]
    if stopped:
        lines.append(f"begun and not finished: sample {', '.join(map(str, stopped))}")
    return "\n".join(lines)
