"""A training job that is watched and killed (exercise 07.train): where each step starts, who writes which file."""

from __future__ import annotations

import errno
import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.ddp.shown.training_job import Job
from helpers.ranks.in_threads import in_threads
from helpers.ranks.scheduler import scheduler

Train = Callable[[Path, Job, int], Any]
PARTS = ("weights", "momentum", "generator", "epoch of the sampler", "samples", "train or eval mode")


class Killed(BaseException):
    """Ends a rank, as a signal would: no `except Exception` may hold it up."""


@dataclass(frozen=True)
class Place:
    """What a step starts from, on one rank; parts in the order of PARTS."""

    parts: tuple[Any, ...]

    @property
    def generator(self) -> Any:
        return self.parts[PARTS.index("generator")]

    @property
    def epoch(self) -> int:
        """That of the sampler."""
        return self.parts[PARTS.index("epoch of the sampler")]

    def differs_from(self, other: Place, parts: tuple[str, ...] = PARTS) -> list[str]:
        pairs = zip(PARTS, self.parts, other.parts, strict=True)
        return [name for name, a, b in pairs if a != b and name in parts]


class WatchedJob(Job):
    """Notes where each of its steps starts; kill_at: the step, counted from 0, in which this rank is killed."""

    def __init__(self, seed: int, kill_at: int | None = None) -> None:
        super().__init__(seed)
        self.places: list[Place] = []
        self.kill_at = kill_at

    def step(self, x: Tensor, y: Tensor) -> None:
        momenta = [self.optimizer.state[p].get("momentum_buffer") for p in self.model.parameters()]
        self.places.append(
            Place(
                (
                    [p.detach().tolist() for p in self.model.parameters()],
                    [None if m is None else m.tolist() for m in momenta],
                    torch.get_rng_state().tolist(),
                    self.sampler.epoch,
                    x.tolist(),
                    [module.training for module in self.model.modules()],
                )
            )
        )
        if self.kill_at == len(self.places) - 1:
            raise Killed
        super().step(x, y)

    def weights(self) -> list[Tensor]:
        return [p.detach().clone() for p in self.model.parameters()]


def uninterrupted(ckpt: Path, job: Job, epochs: int) -> None:
    """What training is when nothing is saved and nothing comes between."""
    for epoch in range(epochs):
        job.sampler.set_epoch(epoch)
        for x, y in job.loader:
            job.step(x, y)


@functools.lru_cache(maxsize=16)
def reference(seed: int, epochs: int, ranks: int) -> list[tuple[list[Place], list[Tensor]]]:
    """By rank: where each step of the uninterrupted training starts, and the weights at its end.

    Kept, since all known mistakes are tried with the seeds of the answer.
    """

    def on_rank() -> tuple[list[Place], list[Tensor]]:
        job = WatchedJob(seed)
        uninterrupted(Path(), job, epochs)
        return job.places, job.weights()

    return in_threads(on_rank, ranks=ranks).results


@dataclass
class Watch:
    """What is done to the file at path. renames: the rank of each new file that took its place; done: the steps
    that rank 0 had begun by then, as `steps` tells.

    writers: the rank of each file that was opened in the folder of path, to be written.
    kill_at: the rename, counted from 0, before which the process is killed. slow: the other ranks go as far as they
    can before a new file takes its place. own_disk: path and what lies in the folder above its own are on a disk of their own,
    so that a file from elsewhere cannot be renamed to path. faults: what must not be done to it.
    """

    path: Path
    kill_at: int | None = None
    slow: bool = False
    own_disk: bool = False
    steps: Callable[[], int] = lambda: 0
    renames: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    writers: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def saw(self, event: str, args: tuple[Any, ...]) -> None:
        if (
            event == "os.rename"
            and self.is_path(args[1])
            and self.own_disk
            and not self.is_on_its_disk(args[0])
        ):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), args[0], None, args[1])
        if event == "os.rename" and self.is_path(args[1]):
            self.renames.append(dist.get_rank())
            self.done.append(self.steps())
            if self.kill_at == len(self.renames) - 1:
                raise Killed
            for _ in range(20 if self.slow and not self.renames[-1] else 0):
                if (now := scheduler()) and not now.let_others():
                    break
        elif event == "os.rename" and self.is_path(args[0]):
            self.faults.append("moves the older file away first")
        elif event == "os.remove" and self.is_path(args[0]):
            self.faults.append("removes the older file first")
        elif (
            event == "open"
            and args[2] & (os.O_WRONLY | os.O_RDWR)
            and self.is_beside(args[0])
            and scheduler()
        ):
            self.writers.append(dist.get_rank())

    def is_beside(self, name: Any) -> bool:
        return isinstance(name, str | bytes | os.PathLike) and os.path.dirname(
            os.path.realpath(os.fsdecode(name))
        ) == str(self.path.parent)

    def is_on_its_disk(self, name: Any) -> bool:
        return self.path.parent.parent in Path(os.path.realpath(os.fsdecode(name))).parents

    def is_path(self, name: Any) -> bool:
        return isinstance(name, str | bytes | os.PathLike) and os.path.realpath(os.fsdecode(name)) == str(
            self.path
        )


_watches: list[Watch] = []
_installed: list[bool] = []


@contextmanager
def watched(
    path: Path, kill_at: int | None = None, slow: bool = False, own_disk: bool = False
) -> Iterator[Watch]:
    """Watches a file. Python keeps an audit hook for ever, so there is one for all, which asks who is watching."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(lambda event, args: _watches[-1].saw(event, args) if _watches else None)
    _watches.append(Watch(path, kill_at, slow, own_disk))
    try:
        yield _watches[-1]
    finally:
        _watches.pop()


@contextmanager
def a_path(name: str = "run") -> Iterator[Path]:
    """A path for ckpt, in a folder of this name."""
    with tempfile.TemporaryDirectory(prefix="labbook-") as folder:
        (inner := Path(os.path.realpath(folder)) / name).mkdir()
        yield inner / "ckpt.pt"


def half_written(path: Path) -> None:
    """Cuts what lies beside path to half: what a kill in the middle of a write leaves."""
    for other in path.parent.iterdir():
        if other != path and other.is_file():
            os.truncate(other, other.stat().st_size // 2)
