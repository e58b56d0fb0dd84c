"""The process in which one answer is checked. Whatever the answer does dies with it.

A child is forked from a server that has imported torch but never computed (see sandbox.py), or, for an
answer that cannot be sent, from the kernel itself. It sends messages of plain data: what `judge` found; then, if that
is a mistake, its name and the words that it breaks, and whether something that the answer keeps between calls makes it.
"""

from __future__ import annotations

import builtins
import ctypes
import faulthandler
import importlib
import io
import json
import multiprocessing
import os
import pickle
import signal
import stat
import sys
import threading
import types
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from helpers.check import guard
from helpers.check.fresh import keeps_something
from helpers.check.judge import Finding, judge, tried
from helpers.check.naming import mistake
from helpers.check.protocol import KEPT, ORPHAN, PROPERTY, WHERE, Order
from helpers.check.spec import Spec
from helpers.notebook.cells import know_cells
from helpers.notebook.frames import frames_of

MEMORY = 4 << 30  # bytes that an answer may allocate


def main(channel: Connection, output: Connection, dump: Connection, lab: str) -> None:
    """A warm worker: gets ready, waits for an order, obeys it and ends."""
    _take_over(output.fileno(), dump.fileno())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    guard.set_standard()
    _warm_up(lab)
    channel.send_bytes(b"ready")
    order: Order = pickle.loads(channel.recv_bytes())

    def both() -> tuple[Spec, Any]:
        sys.path[:] = order.path
        os.environ.clear()
        os.environ.update(order.environ)
        os.chdir(order.folder)
        know_cells(order.sources)
        exercise = pickle.loads(order.exercise)
        if exercise.prepare is not None:
            exercise.prepare()
        answer = pickle.loads(order.answer)
        for part in answer if isinstance(answer, tuple) else (answer,):
            _adopt(part)
        return exercise, answer

    _serve(channel, both, order.seed, order.answer)


def forked(channel: Connection, output: int, dump: int, exercise: Spec, answer: Any, seed: int) -> None:
    """A child that was forked from the kernel. Does not return.

    One thread only: the kernel's thread pool does not survive a fork, and the first parallel loop would hang.
    """
    try:
        _let_go_of_sockets({channel.fileno(), output, dump})
        _take_over(output, dump)
        guard.set_standard()
        _serve(channel, lambda: (exercise, answer), seed)
    finally:
        os._exit(1)


def _let_go_of_sockets(keep: set[int]) -> None:
    """Lets every socket of the kernel lead nowhere here: an answer that writes into all of them would reach it.

    Pipes stay: a queue that the notebook made is one.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            is_socket = stat.S_ISSOCK(os.fstat(number).st_mode)
        except OSError:  # the list's own
            continue
        if is_socket and number > 2 and number not in keep:
            os.dup2(nowhere, number)
    os.close(nowhere)


def _serve(
    channel: Connection, both: Callable[[], tuple[Spec, Any]], seed: int, blob: bytes | None = None
) -> None:
    """Checks, sends what was found, names the mistake, and waits for its end. Messages are JSON.

    blob: the answer by pickle, None where it was not sent: of such a one there are no copies.
    """
    # Taken now: the answer may replace them.
    send, dumps, write, wait_for_end = channel.send_bytes, json.dumps, os.write, signal.pause
    dump = _dump_file.fileno()

    def begins(description: str) -> None:
        write(dump, f"{PROPERTY}{description}\n".encode())

    _limit_memory()
    try:
        exercise, answer = both()
    except BaseException as error:
        # Not the answer's fault: what it refers to could not be rebuilt here.
        send(dumps({"unbuilt": f"{type(error).__name__}: {error}"[:300]}).encode())
        wait_for_end()
    try:
        found = judge(exercise, answer, seed, begins)
    except BaseException as error:
        description = f"The answer ended the check: {type(error).__name__}."
        found = Finding("crashed", description, frames=frames_of(error))
    finding = found.as_dict() | {"observed": None} if found else None  # observed: large, and of use here only
    send(dumps({"found": finding, "printed": sys.stdout.count}).encode())
    if found:
        _be_quiet()
        try:
            unused = pickle.loads(blob) if blob is not None and exercise.kind == "function" else answer
            name = mistake(exercise, unused, seed, found)
            words = exercise.mistakes[name].breaks if name else ""
        except BaseException:
            name, words = None, ""
        send(dumps({"mistake": name, "breaks": words}).encode())
        try:
            keeps = blob is not None and keeps_something(exercise, answer, blob, seed, found)
        except BaseException:
            keeps = False
        send(dumps({"keeps": keeps}).encode())
    while True:  # the kernel ends this process, with all that the answer started
        wait_for_end()


_dump_file: Any = None


def _be_quiet() -> None:
    """From here on the mistakes of the bank run: what they print, also from C++, is none of the learner's."""
    sys.stdout = sys.stderr = Output(-1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _take_over(output: int, dump: int) -> None:
    """Own process group, output and error dumps into the pipes."""
    global _dump_file
    os.setsid()  # grandchildren die with the group; the stop button does not reach it
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = sys.stderr = Output(1)
    sys.stdin = open(os.devnull)
    builtins.display = print  # IPython's, which every notebook has
    _adopt_orphans()
    _dump_file = os.fdopen(os.dup(dump), "w")
    faulthandler.enable(file=_dump_file)
    if WHERE:
        faulthandler.register(WHERE, file=_dump_file)
    if sys.platform == "linux":
        multiprocessing.set_start_method(
            "fork", force=True
        )  # workers of an answer: forkserver costs 3 s here
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except ImportError:  # Windows
        pass


def _adopt_orphans() -> None:
    """On Linux, processes that the answer starts and abandons stay below this one, where the kernel ends them."""
    if sys.platform == "linux":
        set_child_subreaper = 36
        ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def _limit_memory() -> None:
    """MEMORY bytes beyond what the process has. RLIMIT_AS would count addresses that CUDA only reserves."""
    try:
        import resource

        with open("/proc/self/status") as status:
            now = next(int(line.split()[1]) for line in status if line.startswith("VmData")) * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (now + MEMORY, now + MEMORY))
    except (ImportError, OSError):  # not Linux: the time limit is what is left
        pass


def _end_with_parent() -> None:
    wait([multiprocessing.parent_process().sentinel])
    os._exit(ORPHAN)


def _warm_up(lab: str) -> None:
    """Touches what a check touches: pages that are first written after a fork are copied one by one."""
    warm = Spec(
        "00.warm_up", "", objective="", minutes=0, difficulty="easy", hints=["", "", ""], names=("warm_up",)
    )
    warm.property("warm")(
        lambda answer, trial: trial.equal(trial.call(answer, torch.zeros(2)), torch.ones(2))
    )
    judge(warm, lambda x: x + 1, 0)
    tried(warm, warm.properties[0], lambda x: x, 0)
    for exercise in vars(importlib.import_module(lab)).values() if lab else ():
        if isinstance(exercise, Spec) and exercise.prepare is not None:
            exercise.prepare()  # the first time in a process takes long: a back end of torch is made
    guard.restore(guard.snapshot())


def _adopt(answer: Any) -> None:
    """Puts the notebook's names into __main__, where they are looked up by name.

    Classes: by pickle, torch.save and workers. Modules: by torch 2.11's export.
    """
    main_names = vars(sys.modules["__main__"])
    kind = answer if isinstance(answer, type) else type(answer)
    if kind.__module__ == "__main__":
        main_names[kind.__name__] = kind
    for member in [answer, *vars(kind).values()]:
        function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if not isinstance(function, types.FunctionType):
            continue
        for name, value in function.__globals__.items():
            in_main = isinstance(value, type) and value.__module__ == "__main__"
            if in_main or isinstance(value, types.ModuleType):
                main_names.setdefault(name, value)


class Output(io.TextIOBase):
    """What an answer prints: the first KEPT characters go out at once, the rest is only counted.

    At once, so that they are there when the process is killed; only counted, so that a million lines cost
    little.
    """

    encoding = "utf-8"

    def __init__(self, fd: int) -> None:
        self._fd, self.count, self._write = fd, 0, os.write

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, text: str) -> int:
        if self._fd >= 0 and self.count < KEPT:
            self._write(self._fd, text[: KEPT - self.count].encode("utf-8", "backslashreplace"))
        self.count += len(text)
        return len(text)

    def flush(self) -> None:
        pass
