"""The spare's side of spare.py: whether it would do as a fork server, and how it becomes one."""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing import process, util
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from ci.headless.child import leave
from ci.headless.warm.agreement import LONGEST
from ci.headless.warm.refusals import Stamp, request_error

READY = b"ready"
STREAMS = (0, 1, 2)
MOST = 16  # descriptors in an order: the streams, and the two or three that a fork server needs
STATUS = Path("/proc/thread-self/status")
STARTER = ("Umask", "SigBlk", "Cap", "NoNewPrivs", "Seccomp")  # not in `conditions`
BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}  # ignored by every Python from its start on


def from_starter() -> list[str]:
    """What else a process has from the thread that starts it."""
    return [line for line in STATUS.read_text().splitlines() if line.startswith(STARTER)]


def ignored() -> set[int]:
    """The signals that this process ignores, and so what it starts."""
    [mask] = [line.split()[1] for line in STATUS.read_text().splitlines() if line.startswith("SigIgn")]
    return {number for number in signal.valid_signals() if int(mask, 16) >> (number - 1) & 1}


def obey(connection: socket.socket, stamps: Mapping[str, Stamp]) -> NoReturn:
    """Wait for the order and be the fork server until that ends. Without a fitting order, end."""
    try:
        data, fds, _, _ = socket.recv_fds(connection, LONGEST, MOST)
        # Nothing came: the kernel has ended.
        if data and _fits(order := json.loads(data), stamps):
            connection, fds = _high(connection, fds, max(order["fds"]))
            _place(fds, [*STREAMS, *order["fds"]])
            os.setpgid(0, os.getpgid(os.getppid()))  # the kernel's, as a fresh process
            _wear(order)
            connection.send(READY)
            connection.close()
            _run(order["arguments"][-1])
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def _fits(order: Mapping[str, Any], stamps: Mapping[str, Stamp]) -> bool:
    """Whether a fresh process would be the same as this one."""
    return (
        order["arguments"][:-1] == [sys.executable, *util._args_from_interpreter_flags(), "-c"]
        and order["folder"] == os.getcwd()
        and order["from starter"] == from_starter()
        and not request_error(order, order["began"], stamps)
    )


def _high(connection: socket.socket, fds: Sequence[int], most: int) -> tuple[socket.socket, list[int]]:
    """The connection and the descriptors that came, above all numbers that they will be given."""
    mine = (connection.detach(), *fds)
    first, *others = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, most + 1) for fd in mine)
    for fd in mine:
        os.close(fd)
    return socket.socket(fileno=first), others


def _place(fds: Sequence[int], wanted: Sequence[int]) -> None:
    """Give the descriptors the numbers that the command names.

    Raises:
        ValueError: one of them is in use here.
    """
    for fd, number in zip(fds, wanted, strict=True):
        if number not in STREAMS and os.path.lexists(f"/proc/self/fd/{number}"):
            raise ValueError(f"descriptor {number} is in use")
        os.dup2(fd, number)
        os.close(fd)


def _wear(order: Mapping[str, Any]) -> None:
    """Take over what a fresh process would have from the kernel, and let go of what it would not have."""
    os.environ.clear()
    os.environ.update(order["environment"])
    process.ORIGINAL_DIR = os.getcwd()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        is_ignored = number in BY_PYTHON or number in order["ignored"]
        signal.signal(number, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    if signal.SIGINT not in order["ignored"]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["-c"]
    if not sys.flags.safe_path:
        sys.path.insert(0, "")
    importlib.invalidate_caches()
    sys.modules["__main__"] = ModuleType("__main__")


def _run(command: str) -> NoReturn:
    """What `python -c` does with a command."""
    code = 1
    try:
        exec(command, vars(sys.modules["__main__"]))
    except SystemExit:  # how a fork server ends
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        leave(code)
