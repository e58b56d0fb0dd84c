"""Runs the check of an answer where it can do no harm, from the kernel's side.

The first way that works is taken:
1. a child of a fork server that has torch loaded; the answer travels by cloudpickle. One child waits ready.
2. a fork of the kernel, for answers that cannot be pickled, where a fork is safe.
3. the kernel itself, with a timer, where it is not (CUDA, Windows), or where the exercise asks for it.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import signal
import sys
import threading
from typing import Any

from helpers.check.limits import BY_THE_CLOCK, Limits, by_the_clock, of_processor_time
from helpers.check.pool import Child, Fork, prepare, warm_worker
from helpers.check.protocol import KEPT, PROPERTY, Order, Result
from helpers.check.spec import Spec
from helpers.notebook.cells import cell_sources
from helpers.notebook.frames import dumped
from helpers.processes.by_value import by_value
from helpers.processes.endings import ending

NAMING = 10.0  # seconds of processor time for finding the name, beyond the exercise's own limit
STOPPED = f"The search for this mistake's name was stopped after {NAMING:g} seconds: no name does not mean that it is unknown."

LOOKING = 2.0  # seconds of processor time, after that, for a look at what the answer keeps between calls
KEEPS = (
    "Something stays from one call to the next: with a fresh copy of your answer for each call, this property holds. "
    "Look for what a call changes: a global, a default argument, a closure, an attribute of the function."
)


def checked(exercise: Spec, answer: Any, seed: int, seconds: float) -> Result:
    """Checks `answer` in the first way that works."""
    if exercise.inside_kernel or sys.platform == "win32":
        return _in_kernel(exercise, answer, seed, seconds)
    try:
        blob = by_value(answer)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return _unpicklable(exercise, answer, seed, seconds)
    return _in_worker(exercise, answer, blob, seed, seconds)


def _in_worker(exercise: Spec, answer: Any, blob: bytes, seed: int, seconds: float) -> Result:
    lab = next((prop.check.__module__ for prop in exercise.properties), "")
    order = pickle.dumps(
        Order(
            pickle.dumps(exercise),
            blob,
            seed,
            cell_sources(),
            os.getcwd(),
            dict(os.environ),
            list(sys.path),
        )
    )
    try:
        result = _ordered(lab, order, seconds)
    except Unbuilt:
        result = None  # not checked here: an error of the answer would show this one before it
    finally:
        prepare(lab)
    if result is None:
        return _unpicklable(exercise, answer, seed, seconds)
    if result.found and result.found["verdict"] == "crashed" and result.found.get("frames") and _can_fork():
        # It may have asked for something of the notebook that did not travel: a name looked up when it runs,
        # a registration. A fork of the kernel has all of that.
        again = _forked(exercise, answer, seed, seconds)
        if again.found is None or again.found["verdict"] == "wrong":
            return again
    if len(blob) > 50 << 20:
        large = f"The answer refers to {len(blob) >> 20} MB of data in the notebook; copying it makes the check slow."
        result.note = f"{result.note} {large}".strip()
    return result


def _ordered(lab: str, order: bytes, seconds: float) -> Result:
    """What a warm worker says to this order. A second one is asked where the first one's server died under it."""
    for last in (False, True):
        child = None
        try:
            for _ in range(3):  # a warm worker may have died while it waited
                child = warm_worker(lab)
                if child.ready():
                    try:
                        child.channel.send_bytes(order)
                        break
                    except OSError:
                        pass
                child.kill()
            result = _followed(child, seconds)
            if last or not child.lost_its_server():
                break
        finally:
            if child is not None:
                child.kill()
    return result


def _unpicklable(exercise: Spec, answer: Any, seed: int, seconds: float) -> Result:
    import helpers.check.preloaded  # noqa: F401  else each fork imports it within the limits of the answer

    way = _forked if _can_fork() else _in_kernel
    return way(exercise, answer, seed, seconds)


def _can_fork() -> bool:
    """Whether a fork of the kernel is safe: not on macOS, and not once CUDA was started.

    Not is_available(): it counts the devices, and torch then takes every later fork for one that CUDA was lost in.
    """
    import torch

    return sys.platform == "linux" and not torch.cuda.is_initialized()


def _forked(exercise: Spec, answer: Any, seed: int, seconds: float) -> Result:
    child = Fork(exercise, answer, seed)
    try:
        return _followed(child, seconds)
    finally:
        child.kill()


def _followed(child: Child, seconds: float) -> Result:
    """Waits for the verdict, then for the mistake's name, and whether the answer keeps something between calls."""
    word, data = child.message(Limits(child.pid, seconds))
    if word == "message" and isinstance(data, dict) and "unbuilt" in data:
        raise Unbuilt(data["unbuilt"])
    if word == "message" and _is_verdict(data):
        result = Result(data["found"])
        if result.found:
            word, name = child.message(Limits(child.pid, NAMING))
            if word == "message" and isinstance(name, dict):
                result.mistake, result.breaks = name.get("mistake"), str(name.get("breaks", ""))
            if word == "late":
                result.note = STOPPED
            elif word == "message":
                word, told = child.message(Limits(child.pid, LOOKING))
                keeps = word == "message" and isinstance(told, dict) and told.get("keeps") is True
                result.note = KEEPS if keeps else ""
        return _with_output(result, child, data["printed"])
    found = dict(verdict="crashed", frames=None)
    if word == "late":
        found |= dict(verdict="timed out", message=data)
        child.say_where()
    elif word == "ended":
        found["message"] = _ending(child)
    else:
        found["message"] = "The answer disturbed the channel through which the check reports."
    result = _with_output(Result(found), child, 0)
    found["frames"] = _dumped_frames(child.dump)
    found["at"] = _last_property(child.dump)
    return result


class Unbuilt(Exception):
    """What an answer refers to could not be rebuilt in another process."""


def _with_output(result: Result, child: Child, printed: int) -> Result:
    """Adds what the answer printed; printed: characters that went through sys.stdout."""
    child.drain()
    result.output = child.output.decode(errors="replace")
    result.cut = printed > KEPT or child.printed > len(child.output)
    return result


def _is_verdict(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("printed"), int):
        return False
    found = data.get("found", ...)
    return found is None or (isinstance(found, dict) and found.get("verdict") in _VERDICTS)


_VERDICTS = ("wrong", "crashed", "not attempted")


def _ending(child: Child) -> str:
    code = child.exit_code()
    if code is not None and code >= 0:
        return f"The answer ended its process (exit code {code})."
    return f"The answer's process {ending(code)}."


def _in_kernel(exercise: Spec, answer: Any, seed: int, seconds: float) -> Result:
    """In the kernel itself. A timer ends loops in Python; a loop in C++ it cannot end."""
    from helpers.check import guard
    from helpers.check.judge import TimeUp, judge
    from helpers.check.naming import mistake
    from helpers.check.worker import Output
    from helpers.notebook.frames import frames_of

    stopped = False

    def ring(number: int, frame: Any) -> None:
        raise TimeUp((of_processor_time if number == signal.SIGPROF else by_the_clock)(seconds))

    def stop(number: int, frame: Any) -> None:
        nonlocal stopped
        stopped = True  # the answer, or the check of it, may swallow what is raised here
        raise KeyboardInterrupt

    def stop_timers() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    timed = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    before = guard.snapshot()
    guard.set_standard()
    sys.stdout = sys.stderr = output = _Kept()
    finding, name, words, note = None, None, "", ""
    try:
        if timed:
            old = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
            old[signal.SIGINT] = signal.signal(signal.SIGINT, stop)
            signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
            signal.setitimer(signal.ITIMER_REAL, seconds * BY_THE_CLOCK, 0.1)
        found = judge(exercise, answer, seed)
        finding = found.as_dict() if found else None
        if timed:
            stop_timers()
        if found:
            sys.stdout = sys.stderr = Output(-1)
            if timed:
                signal.setitimer(signal.ITIMER_PROF, NAMING, 0.1)
            name = mistake(exercise, answer, seed, found)
            words = exercise.mistakes[name].breaks if name else ""
    except TimeUp as late:
        if finding:
            note = STOPPED
        else:
            finding = dict(verdict="timed out", message=str(late), frames=frames_of(late))
    finally:
        if timed:
            stop_timers()
            for number, handler in old.items():
                signal.signal(number, handler)
        guard.restore(before)
    if stopped:
        raise KeyboardInterrupt
    return Result(finding, name, words, output.text, output.count > len(output.text), note)


class _Kept(io.TextIOBase):
    """Keeps the first characters that are written, and counts all."""

    def __init__(self) -> None:
        self.text, self.count = "", 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: max(0, KEPT - len(self.text))]
        self.count += len(text)
        return len(text)


def _dumped_frames(dump: bytes) -> list[tuple[str, int, str]]:
    """Frames of the thread that ran, in faulthandler's dump, outermost first. It may be cut off."""
    text = dump.decode(errors="replace")
    threads = re.split(r"^(?=(?:Current thread|Thread) )", text, flags=re.M)
    ranks = [part for part in threads if _RANK.search(part) and not _WAITS.match(part)]
    main = next((part for part in reversed(threads) if "_serve" in part or "_in_kernel" in part), text)
    return dumped(ranks[0] if ranks else main)[::-1]


_RANK = re.compile(r'ranks[/\\]scheduler\.py", line \d+ in _play$', re.M)
_WAITS = re.compile(r'[^\n]*\n  File "[^"\n]*threading\.py"')  # the innermost frame


def _last_property(dump: bytes) -> str:
    """The property that was tried when the answer's process was last heard of."""
    lines = [line for line in dump.decode(errors="replace").splitlines() if line.startswith(PROPERTY)]
    return lines[-1].removeprefix(PROPERTY) if lines else ""
