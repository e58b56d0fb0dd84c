"""Runs the check of an answer where it can do no harm, from the kernel's side.

The first way that works is taken:
1. a child of a fork server that has torch loaded; the answer travels by cloudpickle. One child waits ready.
2. a fork of the kernel, for answers that cannot be pickled, where a fork is safe.
3. the kernel itself, with a timer, where it is not (CUDA, Windows), or where the exercise asks for it.
"""

from __future__ import annotations

import atexit
import io
import linecache
import multiprocessing
import multiprocessing.util  # noqa: F401  before our own atexit: it joins children, which must be gone by then
import os
import pickle
import re
import signal
import sys
import threading
import time
import types
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from helpers.exercise import Exercise

GRACE = 0.3  # seconds after the limit in which the child may still say where it hangs
NAMING = 4.0  # seconds, beyond the exercise's own limit, for finding the name: some 1 s on a quiet machine
READY = 60.0  # seconds in which a child must be ready


@dataclass
class Result:
    """What a check came to. found: Finding.as_dict(), or None if the answer is right."""

    found: dict[str, Any] | None
    mistake: str | None = None
    output: str = ""
    printed: int = 0
    note: str = ""


class Child:
    """A process that checks one answer: its channel, what it prints, where it hangs."""

    def __init__(
        self, pid: int, sentinel: int, channel: Connection, output: Connection, dump: Connection
    ) -> None:
        self.pid, self.sentinel = pid, sentinel
        self.channel, self._output, self._dump = channel, output, dump
        self.output, self.printed, self.dump = b"", 0, b""
        self._live: list[Any] = [channel, output, dump, sentinel]

    def message(self, seconds: float) -> tuple[str, Any]:
        """("message", data), ("ended", None), ("late", None) or ("garbled", error), reading pipes meanwhile."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return "late", None
            ready = wait(self._live, timeout=left)
            for pipe in (self._output, self._dump):
                if pipe in ready:
                    self._read(pipe)
            if self.channel in ready:
                try:
                    return "message", pickle.loads(self.channel.recv_bytes())
                except (EOFError, OSError):
                    self._live.remove(self.channel)
                except Exception as error:
                    return "garbled", error
            elif self.sentinel in ready:
                return "ended", None

    def drain(self) -> None:
        """Reads what still lies in the pipes."""
        for pipe in (self._output, self._dump):
            if pipe in self._live:
                os.set_blocking(pipe.fileno(), False)
                try:
                    while pipe in self._live and self.printed < 1 << 24:
                        self._read(pipe)
                except BlockingIOError:
                    pass

    def _read(self, pipe: Connection) -> None:
        chunk = os.read(pipe.fileno(), 1 << 16)
        if not chunk:
            self._live.remove(pipe)
        elif pipe is self._output:
            self.printed += len(chunk)
            self.output += chunk[: max(0, 8192 - len(self.output))]
        else:
            self.dump += chunk[: max(0, 65536 - len(self.dump))]

    def kill(self) -> None:
        """Ends the child and everything that it started."""
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        for pipe in (self.channel, self._output, self._dump):
            pipe.close()

    def exit_code(self) -> int | None:
        return None


class Spare(Child):
    """A child of the fork server."""

    def __init__(self, lab: str) -> None:
        from helpers import child

        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["helpers.child"])
        channel, their_channel = context.Pipe()
        output, their_output = context.Pipe(duplex=False)
        dump, their_dump = context.Pipe(duplex=False)
        self.process = context.Process(
            target=child.main, args=(their_channel, their_output, their_dump, lab), daemon=False
        )
        with _no_main_module():
            self.process.start()
        for pipe in (their_channel, their_output, their_dump):
            pipe.close()
        super().__init__(self.process.pid, self.process.sentinel, channel, output, dump)

    def ready(self) -> bool:
        try:
            return self.channel.poll(READY) and self.channel.recv_bytes() == b"ready"
        except (EOFError, OSError):
            return False

    def kill(self) -> None:
        super().kill()
        _graves.append(self.process)

    def exit_code(self) -> int | None:
        self.process.join(0.5)
        return self.process.exitcode


class Fork(Child):
    """A fork of the kernel."""

    def __init__(self, exercise: Exercise, answer: Any, seed: int, seconds: float) -> None:
        from helpers import child

        channel, their_channel = multiprocessing.Pipe()
        output, their_output = multiprocessing.Pipe(duplex=False)
        dump, their_dump = multiprocessing.Pipe(duplex=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: fork beside threads
            pid = os.fork()
        if pid == 0:
            child.forked(
                their_channel, their_output.fileno(), their_dump.fileno(), exercise, answer, seed, seconds
            )
        for pipe in (their_channel, their_output, their_dump):
            pipe.close()
        self._pidfd = os.pidfd_open(pid)
        self._code: int | None = None
        super().__init__(pid, self._pidfd, channel, output, dump)

    def kill(self) -> None:
        super().kill()
        self.exit_code()
        os.close(self._pidfd)

    def exit_code(self) -> int | None:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code


_graves: list[multiprocessing.Process] = []
_lock = threading.Lock()
_spare: Spare | None = None
_owner = 0


def checked(exercise: Exercise, answer: Any, seed: int, seconds: float) -> Result:
    """Checks `answer` in the first way that works."""
    if exercise.inside_kernel or sys.platform == "win32":
        return _in_kernel(exercise, answer, seed, seconds)
    try:
        blob = by_value(answer)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return _unpicklable(exercise, answer, seed, seconds)
    return _in_spare(exercise, blob, seed, seconds)


def prepare(lab: str = "") -> None:
    """Starts the fork server and a spare child, in the background."""
    if sys.platform != "win32":
        threading.Thread(target=_refill, args=(lab,), daemon=True, name="spare child").start()


def _in_spare(exercise: Exercise, blob: bytes, seed: int, seconds: float) -> Result:
    import torch

    from helpers.child import Order

    lab = next((prop.check.__module__ for prop in exercise.properties), "")
    order = pickle.dumps(
        Order(
            pickle.dumps(exercise),
            blob,
            seed,
            seconds,
            torch.get_num_threads(),
            _cell_sources(),
            os.getcwd(),
            list(sys.path),
        )
    )
    child = None
    try:
        for _ in range(3):  # a spare may have died while it waited
            child = _taken(lab)
            if child.ready():
                try:
                    child.channel.send_bytes(order)
                    break
                except OSError:
                    pass
            child.kill()
        result = _followed(child, seconds)
    finally:
        if child is not None:
            child.kill()
        prepare(lab)
    if len(blob) > 50 << 20:
        result.note = f"The answer refers to {len(blob) >> 20} MB of data in the notebook; copying it makes the check slow."
    return result


def _unpicklable(exercise: Exercise, answer: Any, seed: int, seconds: float) -> Result:
    import torch

    if sys.platform != "linux" or torch.cuda.is_available():
        return _in_kernel(exercise, answer, seed, seconds)
    child = Fork(exercise, answer, seed, seconds)
    try:
        return _followed(child, seconds)
    finally:
        child.kill()


def _followed(child: Child, seconds: float) -> Result:
    """Waits for the verdict, then for the mistake's name."""
    word, data = child.message(seconds + GRACE)
    if word == "message" and _is_verdict(data):
        found, printed = data
        result = Result(found, None)
        if found:
            word, name = child.message(NAMING + seconds)
            result.mistake = name if word == "message" and isinstance(name, str) else None
        child.drain()
        result.output, result.printed = child.output.decode(errors="replace"), max(printed, child.printed)
        return result
    child.drain()
    found = dict(verdict="crashed", frames=_dumped_frames(child.dump))
    if word == "late":
        found |= dict(verdict="timed out", message=f"No result after {seconds:g} seconds.")
    elif word == "ended":
        found["message"] = _ending(child)
    else:
        found["message"] = "The answer disturbed the channel through which the check reports."
    return Result(found, None, child.output.decode(errors="replace"), child.printed)


def _is_verdict(data: Any) -> bool:
    return (
        isinstance(data, tuple)
        and len(data) == 2
        and (data[0] is None or (isinstance(data[0], dict) and data[0].get("verdict") in _VERDICTS))
        and isinstance(data[1], int)
    )


_VERDICTS = ("wrong", "crashed", "not attempted")


def _ending(child: Child) -> str:
    code = child.exit_code()
    if code is None:
        return "The process of the answer ended without a result."
    if code >= 0:
        return f"The answer ended its process (exit code {code})."
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    means = {
        "SIGSEGV": "a segmentation fault",
        "SIGABRT": "an abort",
        "SIGKILL": "it was killed; too much memory?",
    }
    return (
        f"The answer's process died: {name}, {means[name]}."
        if name in means
        else f"The answer's process died: {name}."
    )


def _in_kernel(exercise: Exercise, answer: Any, seed: int, seconds: float) -> Result:
    """In the kernel itself. A timer ends loops in Python; a loop in C++ it cannot end."""
    from helpers import guard
    from helpers.child import Output
    from helpers.judge import TimeUp, frames_of, judge, mistake

    def ring(number: int, frame: Any) -> None:
        raise TimeUp

    timed = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    before = guard.snapshot()
    sys.stdout = sys.stderr = output = _Kept()
    name = None
    try:
        if timed:
            old = signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
        found = judge(exercise, answer, seed)
        told = found.as_dict() if found else None
        if found:
            sys.stdout = sys.stderr = Output(-1)
            name = mistake(exercise, answer, seed, found)
    except TimeUp as late:
        message = f"No result after {seconds:g} seconds."
        told = dict(verdict="timed out", message=message, frames=frames_of(late))
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
        guard.restore(before)
    return Result(told, name, output.text, output.count)


class _Kept(io.TextIOBase):
    """Keeps the first characters that are written, and counts all."""

    def __init__(self) -> None:
        self.text, self.count = "", 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: max(0, 8192 - len(self.text))]
        self.count += len(text)
        return len(text)


def by_value(answer: Any) -> bytes:
    """The answer as bytes, with all of the notebook that it refers to. Raises if that cannot be done."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            # torch.backends.cudnn and torch.ops are modules of classes of their own, which pickle refuses.
            if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
                return __import__("importlib").import_module, (value.__name__,)
            return super().reducer_override(value)

    file = io.BytesIO()
    Pickler(file, protocol=5).dump(answer)
    return file.getvalue()


def _cell_sources() -> dict[str, str]:
    """The text of the notebook's cells, so that inspect.getsource works in the child."""
    return {
        file: "".join(entry[2])
        for file, entry in list(linecache.cache.items())
        if "ipykernel_" in file and len(entry) == 4
    }


_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.M)


def _dumped_frames(dump: bytes) -> list[tuple[str, int, str]]:
    """Frames of the main thread in faulthandler's dump, outermost first. It may be cut off."""
    text = dump.decode(errors="replace")
    threads = re.split(r"^(?=(?:Current thread|Thread) )", text, flags=re.M)
    main = next((part for part in reversed(threads) if "_serve" in part or "_in_kernel" in part), text)
    return [(m[1], int(m[2]), m[3]) for m in _FRAME.finditer(main)][::-1]


def _taken(lab: str) -> Spare:
    """The spare child if there is one, else a new one."""
    global _spare
    _reap()
    with _lock:
        spare, _spare = _spare, None
    if spare is not None and _owner == os.getpid():
        return spare
    return _started(lab)


def _started(lab: str) -> Spare:
    for attempt in range(20):
        try:
            return Spare(lab)
        except (ConnectionError, EOFError, OSError):  # the fork server is gone: the next try starts one
            if attempt == 19:
                raise
            time.sleep(0.05)
    raise AssertionError


def _refill(lab: str) -> None:
    global _spare, _owner
    with _lock:
        if _spare is None:
            try:
                _spare, _owner = _started(lab), os.getpid()
            except Exception:
                _spare = None  # the next check will try for itself and say what is wrong


@atexit.register
def _drop() -> None:
    global _spare
    with _lock:
        if _spare is not None and _owner == os.getpid():
            _spare.kill()
        _spare = None


def _reap() -> None:
    for process in _graves[:]:
        if not process.is_alive():
            process.join(0)
            _graves.remove(process)


@contextmanager
def _no_main_module() -> Any:
    """Hides the file of __main__, which the child would import a second time."""
    main = sys.modules.get("__main__")
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if getattr(main, name, None)}
    for name in hidden:
        setattr(main, name, None)
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)
