"""A process beside a forked kernel that becomes its fork server: it has imported all, and never computed.

A fresh fork server imports torch for seconds, and the kernel's first check waits for it. multiprocessing starts one by
a command: the spare obeys that command where a fresh process would have the same environment, options and limits, and
ends elsewhere. It has imported more than a fresh one, as the kernel itself has.
This is the kernel's side; obeying.py is the spare's.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import util
from typing import Any

from ci.headless.warm.agreement import conditions
from ci.headless.warm.obeying import READY, STREAMS, from_starter, ignored, obey
from ci.headless.warm.refusals import Stamp

PATIENCE = 10.0  # seconds in which the spare must answer


class Spare:
    """Making it forks, so the kernel must still be on one thread.

    Args:
        stamps: What the kernel server's `stamped` gave.
    """

    def __init__(self, stamps: Mapping[str, Stamp]) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._connection.close()
            obey(theirs, stamps)
        # Until it obeys in a group of its own: the stop button is for the kernel, and ipykernel would end what is in the
        # kernel's group, and wait half a minute for somebody to ask how it ended.
        os.setpgid(self.pid, self.pid)
        theirs.close()
        self._connection.settimeout(PATIENCE)

    def offer(self) -> None:
        """Have multiprocessing take the spare when it first starts the fork server for checks and ranks.

        To be called when the kernel has set its own variables and no cell has run.
        """
        fresh, began = util.spawnv_passfds, dict(os.environ)

        def start(path: Any, arguments: Sequence[Any], fds: Sequence[int]) -> int:
            if not _is_for_checks(arguments):
                return fresh(path, arguments, fds)
            util.spawnv_passfds = fresh  # there is one spare
            return self.pid if self._obeys(arguments, fds, began) else fresh(path, arguments, fds)

        util.spawnv_passfds = start

    def _obeys(self, arguments: Sequence[Any], fds: Sequence[int], began: Mapping[str, str]) -> bool:
        """Whether the spare does what the command says. Where it does not, it is gone."""
        try:
            order = {
                "arguments": [os.fsdecode(one) for one in arguments],
                "fds": list(fds),
                "began": began,
                "environment": dict(os.environ),
                "folder": os.getcwd(),
                "conditions": conditions(),
                "from starter": from_starter(),
                "ignored": sorted(ignored()),
            }
            socket.send_fds(self._connection, [json.dumps(order).encode()], [*STREAMS, *fds])
            if self._connection.recv(len(READY)) == READY:
                return True
        except OSError:  # it is dead or silent, or the folder or a descriptor is gone
            pass
        finally:
            self._connection.close()
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        return False


def _is_for_checks(arguments: Sequence[Any]) -> bool:
    """Whether a command starts a fork server that imports what checks and ranks need."""
    ours, command = sys.modules.get("helpers.processes.fork_server"), os.fsdecode(arguments[-1])
    return (
        ours is not None
        and command.startswith("from multiprocessing.forkserver ")
        and repr(ours.imported()) in command
    )
