"""The process that kernels are forked from: `python -m ci.headless.warm.server FOLDER LISTENER OWNER`.

It imports what notebooks import, never computes, and stays on one thread. FOLDER is its own and goes when it ends,
LISTENER the descriptor of its socket, OWNER that of a pipe whose end means that the run is over.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

# As ipykernel_launcher does: the folder that it was started in is not for imports.
if __name__ == "__main__" and sys.path[0] == os.getcwd():
    del sys.path[0]

from ci.headless import child
from ci.headless.warm.agreement import LONGEST, peer
from ci.headless.warm.kernel import Order, become
from ci.headless.warm.refusals import process_error, request_error, stamped

# Not the project's own code, which may change from one run to the next, and is what is tested.
# Of ipykernel and IPython only what every kernel loads at its start: nothing else hides a forgotten import.
AT_START = (
    *("ipykernel.ipkernel", "ipykernel.kernelapp", "ipykernel.zmqshell", "ipykernel.debugger"),
    *("IPython.core.completerlib", "IPython.core.debugger", "IPython.core.logger", "IPython.core.oinspect"),
    *("IPython.extensions.storemagic", "sqlite3", "tornado.platform.asyncio", "tornado.queues"),
)
IMPORTED = (*AT_START, "ipywidgets", "torch", "torchvision", "matplotlib.pyplot")
PATIENCE = 5.0  # seconds for a request to arrive whole, once its client has connected


@dataclass
class Kernel:
    """A fork. `client` is None once its end has been told, or nobody is left to tell; `job` is the process that asked."""

    pid: int
    pidfd: int
    mark: str
    job: int
    client: socket.socket | None


class Server:
    """Forks a kernel for each request, tells its exit code, and ends those whose clients are gone."""

    def __init__(self, listener: socket.socket, owner: int, env: dict[str, str], error: str) -> None:
        self.listener, self.owner, self.env, self.error = listener, owner, env, error
        self.stamps = stamped()
        self.added = {name: value for name, value in os.environ.items() if env.get(name) != value}
        self.kernels: list[Kernel] = []

    def serve(self) -> Order | None:
        """In a fork, the kernel to become; in the server None, when the run is over."""
        while True:
            poll = select.poll()
            ends = {kernel.client.fileno(): kernel for kernel in self.kernels if kernel.client}
            pidfds = {kernel.pidfd: kernel for kernel in self.kernels}
            for fd in (self.listener.fileno(), self.owner, *ends, *pidfds):
                poll.register(fd, select.POLLIN)
            ready = {fd for fd, _ in poll.poll()}
            for fd in ready & pidfds.keys():
                self.ended(pidfds[fd])
            for fd in ready & ends.keys():
                if ends[fd] in self.kernels:  # a client never writes again: it is gone
                    self.end(ends[fd])
            if self.owner in ready:
                for kernel in list(self.kernels):
                    self.end(kernel)
                return None
            if self.listener.fileno() in ready and (order := self.answer()):
                return order

    def ended(self, kernel: Kernel) -> None:
        """Tell the exit code of a kernel that has ended to its client."""
        code = os.waitstatus_to_exitcode(os.waitpid(kernel.pid, 0)[1])
        os.close(kernel.pidfd)
        self.kernels.remove(kernel)
        if kernel.client:
            send(kernel.client, exit=code)
            kernel.client.close()

    def end(self, kernel: Kernel) -> None:
        """Kill a kernel with all that it started, also what left its group."""
        import psutil

        try:
            below = psutil.Process(kernel.pid).children(recursive=True)
        except psutil.Error:
            below = []
        with suppress(OSError):
            os.killpg(kernel.pid, signal.SIGKILL)
        with suppress(OSError):  # just forked, it may not lead its group yet
            signal.pidfd_send_signal(kernel.pidfd, signal.SIGKILL)
        for process in below:
            with suppress(psutil.Error):
                process.kill()
        self.ended(kernel)
        # Only now: it waits for all that carry the mark, and would take the kernel's exit code. A job that still lives
        # has its own things to clear away.
        if kernel.mark:
            child.kill_marked(kernel.mark, but=kernel.job)

    def answer(self) -> Order | None:
        """Meet or refuse the next request; in the fork, the kernel to become."""
        client, _ = self.listener.accept()
        streams: list[int] = []
        try:
            client.settimeout(PATIENCE)
            request, streams = received(client)
            problem = self.error or request_error(request, self.env, self.stamps)
        except Exception as error:  # whatever was sent, the next request is served
            problem = f"the kernel server did not understand: {error!r}"
        if not problem:
            try:
                pid = os.fork()
            except OSError as error:
                problem = f"no more processes: {error.strerror}"
        if problem:
            send(client, refused=problem)
            client.close()
        elif pid == 0:
            self.leave(client)
            return Order(request, streams, os.getppid(), self.added, self.stamps)
        else:
            mark = request["environment"].get(child.MARK, "")
            self.kernels.append(Kernel(pid, os.pidfd_open(pid), mark, peer(client)[0], client))
            send(client, pid=pid)
        for stream in streams:
            os.close(stream)
        return None

    def leave(self, client: socket.socket) -> None:
        """In a fork: let go of all that is the server's."""
        os.setsid()
        client.close()
        self.listener.close()
        os.close(self.owner)
        for kernel in self.kernels:
            os.close(kernel.pidfd)
            if kernel.client:
                kernel.client.close()


def received(client: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A request and the three streams that came with it.

    Raises:
        ValueError: it is no such thing.
    """
    data, streams, flags, _ = socket.recv_fds(client, LONGEST, 3)
    try:
        if peer(client)[1] != os.getuid():
            raise ValueError("another user")
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) or len(streams) != 3:
            raise ValueError("too long, or without its streams")
        return json.loads(data), streams
    except ValueError:
        for stream in streams:
            os.close(stream)
        raise


def send(client: socket.socket, **answer: object) -> None:
    """Send an answer to a client that may be gone."""
    with suppress(OSError):
        client.sendall(json.dumps(answer).encode())


def imported(owner: int) -> str:
    """Import everything, unless the run is over meanwhile; why that failed, or ""."""
    for name in IMPORTED:
        if select.select([owner], [], [], 0)[0]:
            return "the run is over"
        try:
            importlib.import_module(name)
        except Exception as error:
            return f"{name} cannot be imported: {error!r}"
    return process_error()


def main(folder: str, listener: int, owner: int) -> None:
    """Serve until the run is over; a fork becomes its kernel here."""
    env = dict(os.environ)
    # Imports leave little garbage, and looking for it takes a quarter of their time. A collection in a fork looks at
    # nothing that is here now: it would touch all of it, and so copy it page by page.
    gc.disable()
    error = imported(owner)
    server = Server(socket.socket(fileno=listener), owner, env, error)
    gc.freeze()
    gc.enable()
    if order := server.serve():
        del server
        become(order)
    else:
        ended(folder)


def ended(folder: str) -> NoReturn:
    """The run is over. Nothing here is worth the time that torch takes to end."""
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
