"""What people write for 07.train, and why it is wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from helpers.labs.ddp.shown.training_job import Job
from helpers.labs.ddp.train.exercise import train
from helpers.labs.ddp.train.right import Trainer

# A Trainer with one part exchanged: its instance is the answer.
trainers = train.bank(lambda kind: kind())


@trainers.mistake()
class SamplerEpochLost(Trainer):
    """set_epoch was never called: every epoch has the order of epoch 0, before a restart and after it."""

    def run_epoch(self, job: Job, epoch: int) -> None:
        for x, y in job.loader:
            job.step(x, y)


@trainers.mistake()
class EpochsCountedFromTheRestart(Trainer):
    """The right number of epochs is left to do, but set_epoch counts them from 0 again: the orders of the
    first epochs come twice.
    """

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        done = self.load(ckpt, job)
        for epoch in range(epochs - done):
            self.run_epoch(job, epoch)
            self.save(ckpt, job, done + epoch)


@trainers.mistake()
class EpochStartsAgain(Trainer):
    """The weights came back, the epoch did not: the loop starts at epoch 0, and the run trains longer than it
    should.
    """

    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(epochs)


@trainers.mistake()
class AllStartsAgain(Trainer):
    """The file is written and never read: a restart throws all work away."""

    def load(self, ckpt: Path, job: Job) -> int:
        return 0


@trainers.mistake()
class LastEpochTwice(Trainer):
    """The file names the epoch that was just done, and the restart begins with it: it is trained twice. Save
    how many are done.
    """

    def state(self, job: Job, epoch: int) -> dict[str, Any]:
        return super().state(job, epoch) | {"epochs_done": epoch}


@trainers.mistake()
class AnEpochSkipped(Trainer):
    """The file says how many epochs are done, and the restart adds one more: an epoch is never trained."""

    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(done + 1 if done else 0, epochs)


@trainers.mistake()
class OptimizerForgotten(Trainer):
    """The momentum is not in the model's state_dict: without the optimizer's own, the first steps after a
    restart are smaller, and the run ends elsewhere.
    """

    def load_optimizer(self, job: Job, state: dict[str, Any]) -> None:
        pass


@trainers.mistake()
class GeneratorsForgotten(Trainer):
    """Dropout draws from the generator. A new process has one that starts again: the masks of the first epoch
    come a second time.
    """

    def load_generator(self, state: dict[str, Any]) -> None:
        pass


@trainers.mistake()
class OneGeneratorForAll(Trainer):
    """Rank 0 saved its own generator, and all ranks loaded that one: from then on all draw the same dropout
    masks.
    """

    def load_generator(self, state: dict[str, Any]) -> None:
        torch.set_rng_state(state["generators"][0])


@trainers.mistake()
class only_rank_0_loads(Trainer):
    """Only rank 0 read the file. The others go on with fresh weights, and do not even know which epoch it is."""

    def load(self, ckpt: Path, job: Job) -> int:
        return super().load(ckpt, job) if dist.get_rank() == 0 else 0


@trainers.variant(only_rank_0_loads)
class _(Trainer):
    def load(self, ckpt: Path, job: Job) -> int:
        done = torch.tensor([super().load(ckpt, job) if dist.get_rank() == 0 else 0])
        dist.broadcast(done, 0)
        return int(done)


@trainers.mistake()
class SavesAtTheEndOnly(Trainer):
    """The file is written when all is done: what a kill before that costs is the whole run."""

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        done = self.load(ckpt, job)
        for epoch in range(done, epochs):
            self.run_epoch(job, epoch)
        if done < epochs:
            self.save(ckpt, job, epochs - 1)


@trainers.mistake()
class EveryRankWrites(Trainer):
    """Every rank wrote the same file."""

    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        state = self.state(job, epoch)
        beside = ckpt.with_suffix(f".{dist.get_rank()}")
        torch.save(state, beside)
        os.replace(beside, ckpt)
        dist.barrier()


@trainers.mistake()
class WrittenInPlace(Trainer):
    """torch.save(state, ckpt) empties the older file first and fills it slowly."""

    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        torch.save(state, ckpt)


@trainers.variant(WrittenInPlace)
class _(Trainer):
    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        torch.save(self.state(job, epoch), ckpt)
        dist.barrier()


@trainers.variant(WrittenInPlace)
class _(Trainer):
    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        beside = ckpt.with_suffix(".tmp")
        torch.save(state, beside)
        shutil.copy(beside, ckpt)


@trainers.mistake()
class RemovedFirst(Trainer):
    """The older file was deleted before the new one had its name. os.replace needs no free place."""

    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        beside = ckpt.with_suffix(".tmp")
        torch.save(state, beside)
        if ckpt.exists():
            os.remove(ckpt)
        os.rename(beside, ckpt)


@trainers.mistake()
class NobodyWaits(Trainer):
    """There is no barrier after the save: the other ranks return while rank 0 still writes."""

    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        state = self.state(job, epoch)
        if dist.get_rank() == 0:
            self.write(state, ckpt)
