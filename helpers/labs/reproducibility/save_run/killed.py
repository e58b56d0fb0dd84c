"""A save that is watched, and one that is killed half-way (exercise 01.save_run). Runs in a fork."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.labs.reproducibility.shown.run import Run

IN_PLACE = "opens path itself for writing"


def digest_of(path: Path) -> str:
    """Stands for the content of a file; "" if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


class Saver:
    """What the fork does: saves over an older file, watched; then saves once more and is killed in it."""

    def __init__(self, save: Callable[[Path, Run], Any], path: Path, run: Run) -> None:
        self.save, self.path, self.run = save, path, run
        self.random = random.getstate()  # Python seeds it anew in every fork

    def __call__(self, word: str) -> tuple[Any, ...]:
        return self.saved() if word == "save" else self.killed()

    def saved(self) -> tuple[str, str, str]:
        """("saved", digest of the file, what the save did to the older file: "" if all is well)."""
        random.setstate(self.random)
        self.save(self.path, self.run)
        self.run.step()
        with watched(self.path) as broken:
            self.save(self.path, self.run)
        return "saved", digest_of(self.path), broken[0] if broken else ""

    def killed(self) -> tuple[str]:
        """Sets the largest size of a file to half of what is written; the system then kills this process.

        That is a kill in mid-write, at the same byte each time, whatever writes: Python, NumPy or torch's C++.
        """
        import resource

        self.run.step()
        half = self.path.stat().st_size // 2
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (half, resource.RLIM_INFINITY))
        self.save(self.path, self.run)
        return ("alive",)


@contextmanager
def watched(path: Path) -> Iterator[list[str]]:
    """What Python does to the file at `path` itself, other than to put a new one in its place.

    An audit hook cannot be taken away again, so this is for a process that ends soon.
    """
    seen: list[str] = []
    watching = True
    target = os.path.realpath(path)

    def is_target(name: Any) -> bool:
        return isinstance(name, (str, bytes, os.PathLike)) and os.path.realpath(os.fsdecode(name)) == target

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not watching:
            return
        if event == "open" and isinstance(args[2], int) and args[2] & os.O_TRUNC and is_target(args[0]):
            seen.append(IN_PLACE)
        elif event == "os.remove" and is_target(args[0]):
            seen.append("removes the older file first")
        elif event == "os.rename" and is_target(args[0]):
            seen.append("moves the older file away first")

    sys.addaudithook(hook)
    try:
        yield seen
    finally:
        watching = False
