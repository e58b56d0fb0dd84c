"""A process that knows nothing of what this one does later: for what is kept on disk, and for a worker's start."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import torch


@contextmanager
def hidden_gpu() -> Iterator[None]:
    """No GPU for what runs inside, if none is in use yet: a process that has used one cannot be forked."""
    name = "CUDA_VISIBLE_DEVICES"
    old = os.environ.get(name)
    if not torch.cuda.is_initialized():
        os.environ[name] = ""
    try:
        yield
    finally:
        if old is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = old


def can_fork() -> bool:
    """Whether a fork of this process could train a model.

    Not on Windows, not with a GPU in use, and not in a kernel that may have started autograd's threads.
    """
    if sys.platform == "win32" or torch.cuda.is_initialized():
        return False
    return multiprocessing.parent_process() is not None or not torch.cuda.is_available()


class Fork:
    """This process as it is now, waiting: `ask(data)` returns what `work(data)` gives there.

    Use it in a `with`; the process is gone afterwards.
    """

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._here, there = multiprocessing.Pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._here.close()
            _answer(there, work)
        there.close()

    def __enter__(self) -> Fork:
        return self

    def __exit__(self, *error: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._here.close()

    def ask(self, data: Any) -> Any:
        """The result; ("raised", "KeyError: 'model'") after an error there; ("died",) if the process died."""
        try:
            self._here.send(data)
            return self._here.recv()
        except (EOFError, OSError):
            return ("died",)


def in_a_fork(work: Callable[[], Any]) -> Any:
    """What `work()` gives in a process of its own, so that nothing which it keeps is there the next time.

    In this process where that cannot be; also after an error, which is best seen here.
    """
    if not can_fork():
        return work()
    with Fork(lambda _: ("done", work())) as fork:
        found = fork.ask(None)
    return found[1] if found[0] == "done" else work()


def _answer(channel: Connection, work: Callable[[Any], Any]) -> None:
    """Life of the fork. Threads of the parent did not come along, so torch may use one only."""
    try:
        torch.set_num_threads(1)
        while True:
            data = channel.recv()
            try:
                result = work(data)
            except BaseException as error:
                result = ("raised", f"{type(error).__name__}: {error}"[:300])
            channel.send(result)
    finally:
        os._exit(0)
