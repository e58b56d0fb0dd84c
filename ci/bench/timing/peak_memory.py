"""The memory of a process and of all below it, at its highest; on Linux what they share is counted once."""

from __future__ import annotations

import threading

import psutil

from ci.headless.free_memory import held

PAUSE = 0.2  # seconds between two looks


class Peak:
    """Watches a process in a thread: `with Peak(pid) as peak: ...`. `mb` is None if it was over before the first look."""

    def __init__(self, pid: int) -> None:
        self.pid, self.mb = pid, None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(PAUSE):
            if now := megabytes(self.pid):
                self.mb = max(self.mb or 0.0, now)


def megabytes(pid: int) -> float:
    """What a process and all below it hold together, in MB; 0 if it is gone."""
    try:
        top = psutil.Process(pid)
        return held([top, *top.children(recursive=True)]) / 1e6
    except psutil.Error:
        return 0.0
