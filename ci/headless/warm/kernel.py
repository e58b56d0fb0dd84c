"""What a fork of the server does to become a kernel like one that was started afresh."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import process
from typing import Any, NoReturn

from ci import NOT_IMPORTED
from ci.headless.child import MARK, leave
from ci.headless.warm.refusals import Stamp
from ci.headless.warm.spare import Spare

_PR_SET_PDEATHSIG = 1
CONTROL_ENDS = 5.0  # seconds, at most
BLANK = "0" * 32  # the server's own mark, as long as a job's


@dataclass(frozen=True)
class Order:
    """The kernel that is asked for: its request, its stdin, stdout and stderr, and who forks it.

    added: The variables that importing has set in the server, as it would have in the kernel.
    stamps: What `stamped` gave in the server.
    """

    request: dict[str, Any]
    streams: Sequence[int]
    server: int
    added: dict[str, str]
    stamps: Mapping[str, Stamp]


def become(order: Order) -> NoReturn:
    """Be the kernel until it ends."""
    # The last of the exit functions, as by Python's own end: IPython's has cleared the notebook's names before.
    atexit.register(gc.collect)
    request = order.request
    _end_with(order.server)
    for fd, stream in enumerate(order.streams):
        os.dup2(stream, fd)
    for stream in order.streams:
        os.close(stream)
    # As a job leaves them to a fresh kernel. The others come from the run itself, here as there.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wear(request["environment"].get(MARK, ""))
    os.environ.clear()
    os.environ.update(order.added | request["environment"])
    os.chdir(request["folder"])
    os.umask(request["umask"])
    process.ORIGINAL_DIR = os.getcwd()  # where spawned children look for modules
    threading.main_thread()._native_id = threading.get_native_id()  # Python 3.11 keeps the server's
    new_random_states()
    sys.modules.pop(NOT_IMPORTED)
    for name in [name for name in sys.modules if name == "ci" or name.startswith("ci.")]:
        del sys.modules[name]  # as fresh as all of the project's own code
    try:
        spare = Spare(order.stamps)
        app = _kernel(request["arguments"], order.server)
        spare.offer()
    except BaseException as error:
        # No cell has run, so nothing is lost; torch's own end would hide these words, the last that a run shows.
        if isinstance(error, SystemExit):
            print(error.code, file=sys.stderr, flush=True)
        else:
            traceback.print_exc()
        os._exit(1)
    app.start()
    # ipykernel closes the thread for output first, and then waits for the one for control, which may be waiting for the
    # one for output: 10 s. It has been told to stop, and needs no more than the outputs that are still to be sent.
    if app.control_thread and app.control_thread.is_alive():
        app.control_thread.join(CONTROL_ENDS)
    leave(0)


def _end_with(server: int) -> None:
    """Die when the server does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)


def wear(mark: str) -> None:
    """Carry a job's mark as a process does that was started with it.

    /proc shows the environment as it lay in memory when the server began, so the mark is written over the server's.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    place = libc.getenv(MARK.encode())
    if place and len(mark) == len(BLANK) and ctypes.string_at(place) == BLANK.encode():
        ctypes.memmove(place, mark.encode(), len(mark))


def new_random_states() -> None:
    """Draw anew what a fresh process draws at its start. Python's own `random` does so at each fork."""
    process.current_process().authkey = os.urandom(32)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    if torch := sys.modules.get("torch"):
        torch.default_generator.seed()
    if sympy := sys.modules.get("sympy.core.random"):  # torch imports it
        sympy.rng.seed()


def _kernel(arguments: Sequence[str], server: int) -> Any:
    """The kernel's application, ready to start."""
    import ipykernel_launcher
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = [ipykernel_launcher.__file__, *arguments]
    # Whose end is this kernel's end, too; the class has read the server's own from the environment.
    app = IPKernelApp.instance(parent_handle=server)
    app.initialize(list(arguments))
    if "__mp_main__" in sys.modules:  # the module that a fresh kernel's multiprocessing finds
        sys.modules["__mp_main__"] = sys.modules["__main__"]
    return app
