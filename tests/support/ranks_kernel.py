"""A real kernel that runs cells with ranks, for the tests."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psutil

from tests.support.kernel_session import started_kernel
from tests.support.living import lives

SET_UP = """
import os, sys, time, torch, torch.distributed as dist
from helpers import ranks
"""


@dataclass
class Cell:
    """What a cell did: its text on both streams, and the error that it ended with."""

    out: str = ""
    err: str = ""
    error: str | None = None
    shown: str = ""
    streams: list[tuple[str, str]] = field(default_factory=list)


class Kernel:
    def __init__(self) -> None:
        self.manager, self.client = started_kernel()
        self.process = psutil.Process(self.manager.provisioner.pid)
        self.run(SET_UP)

    def run(self, code: str, seen: Callable[[Cell], Any] | None = None, seconds: float = 120) -> Cell:
        """Runs a cell to its end. seen: called after each message, with the cell so far."""
        message, cell = self.client.execute(code), Cell()
        while True:
            try:
                found = self.client.get_iopub_msg(timeout=seconds)
            except queue.Empty:
                raise TimeoutError(f"the kernel said nothing for {seconds} s") from None
            if found["parent_header"].get("msg_id") != message:
                continue
            kind, content = found["msg_type"], found["content"]
            if kind == "stream":
                cell.streams.append((content["name"], content["text"]))
                if content["name"] == "stdout":
                    cell.out += content["text"]
                else:
                    cell.err += content["text"]
            elif kind == "error":
                cell.error = f"{content['ename']}: {content['evalue']}"
                cell.shown = "\n".join(content["traceback"])
            elif kind == "status" and content["execution_state"] == "idle":
                return cell
            if seen:
                seen(cell)

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def all_gone(pids: list[int], seconds: float = 60) -> bool:
    """Whether these processes end in time."""
    left = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            left.append(psutil.Process(pid))
    until = time.monotonic() + seconds
    while left and time.monotonic() < until:
        _, left = psutil.wait_procs(left, timeout=0.05)
        left = [one for one in left if lives(one)]
    return not left
