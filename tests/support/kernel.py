"""A real kernel that runs cells, for the tests."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psutil

from tests.support.kernel_session import started_kernel


@dataclass
class Cell:
    """What a cell did: its text on both streams, and the error that it ended with."""

    out: str = ""
    err: str = ""
    error: str | None = None
    shown: str = ""
    streams: list[tuple[str, str]] = field(default_factory=list)


class Kernel:
    """A kernel that has run `set_up`."""

    def __init__(self, set_up: str) -> None:
        self.manager, self.client = started_kernel()
        self.process = psutil.Process(self.manager.provisioner.pid)
        self.printed(set_up)

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

    def printed(self, code: str, seconds: float = 180) -> str:
        """What a cell prints to stdout. Raises if it raises."""
        cell = self.run(code, seconds=seconds)
        if cell.error:
            raise AssertionError(cell.shown)
        return cell.out

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
