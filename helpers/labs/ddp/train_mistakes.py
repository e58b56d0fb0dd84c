"""What people write for 07.train: something is forgotten in the file, or the file is not safe."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from helpers.labs.ddp.train import train
from helpers.labs.ddp.train_right import Trainer
from helpers.labs.ddp.training_job import Job


def wrong(name: str, why: str, seen: str) -> Any:
    """Decorates a Trainer with one part exchanged; its instance is the wrong answer."""

    def add(kind: type[Trainer]) -> type[Trainer]:
        train.wrong_answer(name, why=why, seen=seen, answer=kind())
        return kind

    return add


def also(name: str) -> Any:
    def add(kind: type[Trainer]) -> type[Trainer]:
        train.another_form(name)(kind())
        return kind

    return add


@wrong(
    "sampler_epoch_lost",
    "set_epoch was never called: every epoch has the order of epoch 0, before a restart and after it.",
    "set_epoch was never called",
)
class _(Trainer):
    def run_epoch(self, job: Job, epoch: int) -> None:
        for x, y in job.loader:
            job.step(x, y)


@wrong(
    "epochs_counted_from_the_restart",
    "The right number of epochs is left to do, but set_epoch counts them from 0 again: the orders of the first epochs come "
    "twice.",
    "the orders of the first epochs come twice",
)
class _(Trainer):
    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        done = self.load(ckpt, job)
        for epoch in range(epochs - done):
            self.run_epoch(job, epoch)
            self.save(ckpt, job, done + epoch)


@wrong(
    "epoch_starts_again",
    "The weights came back, the epoch did not: the loop starts at epoch 0, and the run trains longer than it should.",
    "The weights came back, the epoch did not",
)
class _(Trainer):
    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(epochs)


@wrong(
    "all_starts_again",
    "The file is written and never read: a restart throws all work away.",
    "written and never read",
)
class _(Trainer):
    def load(self, ckpt: Path, job: Job) -> int:
        return 0


@wrong(
    "last_epoch_twice",
    "The file names the epoch that was just done, and the restart begins with it: it is trained twice. Save how many are "
    "done.",
    "the restart begins with it",
)
class _(Trainer):
    def state(self, job: Job, epoch: int) -> dict[str, Any]:
        return super().state(job, epoch) | {"epochs_done": epoch}


@wrong(
    "an_epoch_skipped",
    "The file says how many epochs are done, and the restart adds one more: an epoch is never trained.",
    "an epoch is never trained",
)
class _(Trainer):
    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(done + 1 if done else 0, epochs)


@wrong(
    "optimizer_forgotten",
    "The momentum is not in the model's state_dict: without the optimizer's own, the first steps after a restart are "
    "smaller, and the run ends elsewhere.",
    "The momentum is not in the model's state_dict",
)
class _(Trainer):
    def load_optimizer(self, job: Job, state: dict[str, Any]) -> None:
        pass


@wrong(
    "generators_forgotten",
    "Dropout draws from the generator. A new process has one that starts again: the masks of the first epoch come a "
    "second time.",
    "the masks of the first epoch come a second time",
)
class _(Trainer):
    def load_generator(self, state: dict[str, Any]) -> None:
        pass


@wrong(
    "one_generator_for_all",
    "Rank 0 saved its own generator, and all ranks loaded that one: from then on all draw the same dropout masks.",
    "all draw the same dropout masks",
)
class _(Trainer):
    def load_generator(self, state: dict[str, Any]) -> None:
        torch.set_rng_state(state["generators"][0])


@wrong(
    "only_rank_0_loads",
    "Only rank 0 read the file. The others go on with fresh weights, and do not even know which epoch it is.",
    "do not even know which epoch it is",
)
class _(Trainer):
    def load(self, ckpt: Path, job: Job) -> int:
        return super().load(ckpt, job) if dist.get_rank() == 0 else 0


@also("only_rank_0_loads")
class _(Trainer):
    def load(self, ckpt: Path, job: Job) -> int:
        done = torch.tensor([super().load(ckpt, job) if dist.get_rank() == 0 else 0])
        dist.broadcast(done, 0)
        return int(done)


@wrong(
    "saves_at_the_end_only",
    "The file is written when all is done: what a kill before that costs is the whole run.",
    "The file is written when all is done",
)
class _(Trainer):
    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        done = self.load(ckpt, job)
        for epoch in range(done, epochs):
            self.run_epoch(job, epoch)
        if done < epochs:
            self.save(ckpt, job, epochs - 1)


@wrong(
    "every_rank_writes",
    "Every rank wrote the same file.",
    "Every rank wrote the same file",
)
class _(Trainer):
    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        state = self.state(job, epoch)
        beside = ckpt.with_suffix(f".{dist.get_rank()}")
        torch.save(state, beside)
        os.replace(beside, ckpt)
        dist.barrier()


@wrong(
    "written_in_place",
    "torch.save(state, ckpt) empties the older file first and fills it slowly.",
    "empties the older file first and fills it slowly",
)
class _(Trainer):
    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        torch.save(state, ckpt)


@also("written_in_place")
class _(Trainer):
    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        torch.save(self.state(job, epoch), ckpt)
        dist.barrier()


@also("written_in_place")
class _(Trainer):
    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        beside = ckpt.with_suffix(".tmp")
        torch.save(state, beside)
        shutil.copy(beside, ckpt)


@wrong(
    "removed_first",
    "The older file was deleted before the new one had its name. os.replace needs no free place.",
    "os.replace needs no free place",
)
class _(Trainer):
    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        beside = ckpt.with_suffix(".tmp")
        torch.save(state, beside)
        if ckpt.exists():
            os.remove(ckpt)
        os.rename(beside, ckpt)


@wrong(
    "nobody_waits",
    "There is no barrier after the save: the other ranks return while rank 0 still writes.",
    "the other ranks return while rank 0 still writes",
)
class _(Trainer):
    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        state = self.state(job, epoch)
        if dist.get_rank() == 0:
            self.write(state, ckpt)
