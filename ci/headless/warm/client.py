"""Asks the server for a kernel, and stands for the process that it gives."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ci.headless.warm.agreement import conditions, is_private, peer

PATIENCE = 120.0  # seconds: at the start of a run the server is still importing


class Refused(Exception):
    """No fork for this kernel; the text says why, for the run's summary."""


class ForkedProcess:
    """What LocalProvisioner uses of subprocess.Popen, for a process that is the server's child and not ours."""

    stdin = stdout = stderr = None

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self.pid, self.returncode = pid, None
        self._connection = connection

    def poll(self) -> int | None:
        """The exit code, negative for a signal, or None while it runs."""
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self.returncode = self._heard()
            self._connection.close()
        return self.returncode

    def _heard(self) -> int:
        try:
            message = self._connection.recv(1024)
        except OSError:
            message = b""
        if message:
            return json.loads(message)["exit"]
        try:  # the server is dead, and its kernels die with it: this makes it certain
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        return -signal.SIGKILL

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it has not, after `timeout` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired("kernel", timeout)
            select.select([self._connection], [], [], left)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def forked(
    path: Path, arguments: Sequence[str], env: Mapping[str, str], folder: str, streams: Sequence[int]
) -> ForkedProcess:
    """A kernel from the server that listens at `path`.

    Args:
        arguments: Those of the kernel, after its module's name.
        folder: Its working directory.
        streams: File descriptors of its stdin, stdout and stderr.

    Raises:
        Refused: a fork would not be the same as a fresh kernel, or there is no server.
    """
    umask = os.umask(0)
    os.umask(umask)
    request: dict[str, Any] = {
        "arguments": list(arguments),
        "environment": dict(env),
        "folder": folder,
        "umask": umask,
        "conditions": conditions(),
    }
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        if not is_private(path):
            raise Refused("the socket of the kernel server is open to others")
        connection.settimeout(PATIENCE)
        connection.connect(str(path))
        if peer(connection)[1] != os.getuid():
            raise Refused("the kernel server belongs to somebody else")
        socket.send_fds(connection, [json.dumps(request).encode()], list(streams))
        answer = connection.recv(1 << 16)
        if not answer:
            raise Refused("the kernel server has ended")
        message = json.loads(answer)
        if "refused" in message:
            raise Refused(message["refused"])
        connection.settimeout(None)
        return ForkedProcess(connection, message["pid"])
    except OSError as error:
        connection.close()
        raise Refused(f"the kernel server does not answer: {error.strerror or error}") from None
    except BaseException:
        connection.close()
        raise
