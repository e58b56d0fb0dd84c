"""How jupyter_client gets a kernel from the server: papermill, nbclient and nbval use it without knowing."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

from ci.headless import child
from ci.headless.warm.agreement import CHOSEN_BY, COMMAND, SOCKET
from ci.headless.warm.client import ForkedProcess, Refused, forked

# What else jupyter_client passes to a kernel's start. A session of its own is what every fork gets.
KNOWN = {"env", "cwd", "stdin", "stdout", "stderr", "independent", "start_new_session"}


class ForkingProvisioner(LocalProvisioner):
    """A forked kernel, or a stock one wherever a fork would not be the same. The job announces which."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        # A kernel that a cell starts is not this run's affair.
        env = {name: value for name, value in kwargs["env"].items() if name not in (SOCKET, CHOSEN_BY)}
        try:
            self.process = _forked(cmd, {**self._scrub_kwargs(kwargs), "env": env})
        except Refused as reason:
            child.announce("kernel", stock=str(reason))
            return await super().launch_kernel(cmd, **{**kwargs, "env": env})
        child.announce("kernel", stock="")
        self.pid = self.pgid = self.process.pid
        self.cwd = kwargs.get("cwd") or Path.cwd()
        return self.connection_info


def _forked(command: list[str], options: dict[str, Any]) -> ForkedProcess:
    if SOCKET not in os.environ:
        raise Refused("no kernel server")
    if command[0] != sys.executable or tuple(command[1:3]) != COMMAND:
        raise Refused("another kernel than this Python's")
    if options.get("independent") or options.keys() - KNOWN:
        raise Refused("it was asked for in a special way")
    env = options["env"] | {"JPY_PARENT_PID": str(os.getpid())}
    folder = os.path.abspath(options.get("cwd") or os.getcwd())
    with ExitStack() as stack:
        streams = [_stream(options.get(name), fd, stack) for fd, name in enumerate(STREAMS)]
        return forked(Path(os.environ[SOCKET]), command[3:], env, folder, streams)


STREAMS = ("stdin", "stdout", "stderr")


def _stream(given: Any, inherited: int, stack: ExitStack) -> int:
    """The file descriptor that stands for one of Popen's arguments."""
    if given is None and inherited == 0:  # as jupyter_client does: a pipe at its end
        ours, theirs = os.pipe()
        os.close(theirs)
        stack.callback(os.close, ours)
        return ours
    if given is None:
        return inherited
    if given == subprocess.DEVNULL:
        return stack.enter_context(open(os.devnull, "r+b")).fileno()
    if given in (subprocess.PIPE, subprocess.STDOUT):
        raise Refused("its output goes into a pipe")
    return given if isinstance(given, int) else given.fileno()
