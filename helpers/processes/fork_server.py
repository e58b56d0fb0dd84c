"""The one fork server of this process: a process that has imported what its children need, and never computed.

Python has one fork server a process. What it imports beforehand is fixed when it starts, so those who use it
agree on that here. It also keeps the environment of its start: children are told the present one.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.context import BaseContext
from typing import TypeVar

Started = TypeVar("Started")
PATIENCE = 10.0  # seconds; on a busy machine a killed server takes a while to be gone
IMPORTED = ["helpers.check.preloaded", "helpers.check.worker", "helpers.check.pool", "helpers.ranks.rank"]


def fork_server() -> BaseContext:
    """The multiprocessing context whose children come from the fork server."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(imported())
    return context


def imported() -> list[str]:
    """What a fork server that is started now imports beforehand, in order."""
    return ["helpers.processes.uncollected", *IMPORTED, "helpers.processes.frozen"]


def started(start: Callable[[], Started]) -> Started:
    """What `start` gives, which starts children. If the server is dying, a later try starts a new one."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return start()
        except (EOFError, OSError):
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def end_fork_server() -> None:
    """Ends the fork server and the process beside it that tracks resources, and waits for both.

    As multiprocessing's own tests do. Its children must be gone: the second process ends with the last that knows it.
    """
    from multiprocessing import forkserver, resource_tracker  # not on Windows

    for process in (forkserver._forkserver, resource_tracker._resource_tracker):
        # Something else may have waited for it, as psutil does: then it is gone all the same.
        with suppress(ChildProcessError):
            process._stop()


@contextmanager
def no_main_module() -> Iterator[None]:
    """Hides the file of __main__, which a child would import a second time."""
    main = sys.modules.get("__main__")
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if getattr(main, name, None)}
    if "__spec__" in hidden:
        main.__spec__ = None
    if "__file__" in hidden:
        # Not None: inspect, in another thread or in a fork, asks only whether there is one.
        del main.__file__
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)
