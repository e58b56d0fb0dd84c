"""What people write for 07.train, and why it is wrong."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from helpers.labs.ddp.shown.training_job import Job
from helpers.labs.ddp.train.exercise import train
from helpers.labs.ddp.train.right import Trainer

# A Trainer with one part exchanged: its instance is the answer.
trainers = train.bank(lambda kind: kind())


@trainers.mistake(
    breaks="An epoch is `job.sampler.set_epoch(epoch)`, then `job.step(x, y)` for each batch of job.loader."
)
class SamplerEpochLost(Trainer):
    """In the second epoch the sampler is still in epoch 0: every epoch has the order of the first. Perhaps
    set_epoch is not called.
    """

    def run_epoch(self, job: Job, epoch: int) -> None:
        for x, y in job.loader:
            job.step(x, y)


@trainers.mistake(
    breaks="Each step starts as in a run that nothing interrupted, whatever step was the last and whichever rank was killed, and how often"
)
class EpochsCountedFromTheRestart(Trainer):
    """After a restart the right number of epochs is left to do, but the sampler's are counted from 0 again:
    the orders of the first epochs come twice.
    """

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        done = self.load(ckpt, job)
        for epoch in range(epochs - done):
            self.run_epoch(job, epoch)
            self.save(ckpt, job, done + epoch)


@trainers.mistake(breaks="If there is a file at ckpt, training goes on after the last epoch in it.")
class EpochStartsAgain(Trainer):
    """The weights come back and the epoch does not: after a restart the loop starts at epoch 0, and the run
    trains longer than it should.
    """

    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(epochs)


@trainers.mistake(breaks="If there is a file at ckpt, training goes on after the last epoch in it.")
class AllStartsAgain(Trainer):
    """A restart throws all work away: it starts as a new run does. Perhaps the file is written and never
    read.
    """

    def load(self, ckpt: Path, job: Job) -> int:
        return 0


@trainers.mistake(breaks="If there is a file at ckpt, training goes on after the last epoch in it.")
class LastEpochTwice(Trainer):
    """The last epoch in the file is trained twice. Perhaps the file names the epoch that was just done, and
    the restart begins with it: save how many are done.
    """

    def state(self, job: Job, epoch: int) -> dict[str, Any]:
        return super().state(job, epoch) | {"epochs_done": epoch}


@trainers.mistake(breaks="If there is a file at ckpt, training goes on after the last epoch in it.")
class AnEpochSkipped(Trainer):
    """After a restart an epoch is never trained. Perhaps the file says how many epochs are done, and the
    restart adds one more.
    """

    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(done + 1 if done else 0, epochs)


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class OptimizerForgotten(Trainer):
    """After a restart the momentum is a different one. It is not in the model's state_dict: without the
    optimizer's own, the first steps after a restart are smaller, and the run ends elsewhere.
    """

    def load_optimizer(self, job: Job, state: dict[str, Any]) -> None:
        pass


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class GeneratorsForgotten(Trainer):
    """After a restart every rank's generator is that of a new process: the dropout masks of the first epoch
    come a second time.
    """

    def load_generator(self, state: dict[str, Any]) -> None:
        pass


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class OneGeneratorForAll(Trainer):
    """After a restart all ranks have rank 0's generator: from then on all draw the same dropout masks.
    Perhaps rank 0 saves its own, and all ranks load that one.
    """

    def load_generator(self, state: dict[str, Any]) -> None:
        torch.set_rng_state(state["generators"][0])


@trainers.mistake(breaks="If there is a file at ckpt, training goes on after the last epoch in it.")
class only_rank_0_loads(Trainer):
    """After a restart rank 0 goes on, and the others begin with fresh weights, or with a different epoch.
    Perhaps only rank 0 reads the file.
    """

    def load(self, ckpt: Path, job: Job) -> int:
        return super().load(ckpt, job) if dist.get_rank() == 0 else 0


@trainers.variant(only_rank_0_loads)
class _(Trainer):
    def load(self, ckpt: Path, job: Job) -> int:
        done = torch.tensor([super().load(ckpt, job) if dist.get_rank() == 0 else 0])
        dist.broadcast(done, 0)
        return int(done)


@trainers.mistake(breaks="Trains the job up to this number of epochs, and saves to ckpt after each of them.")
class SavesAtTheEndOnly(Trainer):
    """A kill costs more than the epoch in which it came: the restart begins at epoch 0. Perhaps the file is not written after
    each epoch: only when all is done, or after every second one.
    """

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        done = self.load(ckpt, job)
        for epoch in range(done, epochs):
            self.run_epoch(job, epoch)
        if done < epochs:
            self.save(ckpt, job, epochs - 1)


@trainers.mistake(breaks="Rank 0 alone writes.")
class EveryRankWrites(Trainer):
    """A rank other than 0 writes the file, too."""

    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        state = self.state(job, epoch)
        beside = ckpt.with_suffix(f".{dist.get_rank()}")
        torch.save(state, beside)
        os.replace(beside, ckpt)
        dist.barrier()


@trainers.mistake(
    breaks="The file at ckpt is whole at every moment: the older one until the new one takes its place."
)
class WrittenInPlace(Trainer):
    """The older file is overwritten where it stands, as torch.save(state, ckpt) does: it is emptied first and
    filled slowly.
    """

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


@trainers.mistake(
    breaks="The file at ckpt is whole at every moment: the older one until the new one takes its place."
)
class RemovedFirst(Trainer):
    """The older file is deleted before the new one has its name. os.replace needs no free place."""

    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        beside = ckpt.with_suffix(".tmp")
        torch.save(state, beside)
        if ckpt.exists():
            os.remove(ckpt)
        os.rename(beside, ckpt)


@trainers.mistake(breaks="When train returns, on any rank, the last file is there.")
class NobodyWaits(Trainer):
    """A rank returns while rank 0 still writes. Perhaps there is no barrier after the save."""

    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        state = self.state(job, epoch)
        if dist.get_rank() == 0:
            self.write(state, ckpt)


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class only_rank_0_restores_its_generator(Trainer):
    """After a restart rank 0's generator is the right one, and those of the other ranks are those of new processes. Perhaps
    only rank 0 saves or loads its state: each rank has one of its own.
    """

    def load_generator(self, state: dict[str, Any]) -> None:
        if dist.get_rank() == 0:
            super().load_generator(state)


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class GeneratorsOfTheEpochBefore(Trainer):
    """After a restart the generators are as where the last epoch in the file began: its dropout masks come a second time.
    Perhaps their state is taken before the epoch; take it when the epoch is over.
    """

    def run_epoch(self, job: Job, epoch: int) -> None:
        self.before: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(self.before, torch.get_rng_state())
        super().run_epoch(job, epoch)

    def state(self, job: Job, epoch: int) -> dict[str, Any]:
        return super().state(job, epoch) | {"generators": self.before}


@trainers.mistake(breaks="Files that a kill leaves beside ckpt do no harm.")
class LeftoverTakenForALock(Trainer):
    """After a kill in a save nothing is saved any more. Perhaps a file beside ckpt is taken for a sign that somebody is
    writing: it may be what a kill has left.
    """

    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        if not ckpt.with_suffix(".tmp").exists():
            super().write(state, ckpt)


@trainers.mistake(breaks="If all epochs are done, train only loads.")
class NothingLoadedWhenDone(Trainer):
    """With all epochs done, train returns and the job has its first weights. Perhaps it looks at the number of epochs and
    returns before it loads: whoever called it wants the trained model.
    """

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        if ckpt.exists() and torch.load(ckpt, weights_only=True)["epochs_done"] >= epochs:
            return
        super().__call__(ckpt, job, epochs)


@trainers.mistake(
    breaks="Each step starts as in a run that nothing interrupted, whatever step was the last and whichever rank was killed, and how often"
)
class FileOfTheFirstRunOnly(Trainer):
    """After a restart it trains on and saves no more: a second kill costs what the restart has done. Perhaps the files are
    counted from the first run.
    """

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        fresh = not ckpt.exists()
        dist.barrier()
        for epoch in self.epochs_left(self.load(ckpt, job), epochs):
            self.run_epoch(job, epoch)
            if fresh:
                self.save(ckpt, job, epoch)


@trainers.mistake(breaks="Trains the job up to this number of epochs, and saves to ckpt after each of them.")
class EpochsAfterTheRestart(Trainer):
    """After a restart more is trained than was left to do. Perhaps `epochs` is taken for how many come after the restart: it
    is the number up to which the job is trained.
    """

    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(done, done + epochs)


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class only_rank_0_loads_the_weights(Trainer):
    """After a restart rank 0 has the right weights, and the other ranks do not. Perhaps only rank 0 loads them: torch's DDP
    would send them to the others, and this job has no DDP.
    """

    def load(self, ckpt: Path, job: Job) -> int:
        fresh = {name: value.clone() for name, value in job.model.state_dict().items()}
        done = super().load(ckpt, job)
        if dist.get_rank():
            job.model.load_state_dict(fresh)
        return done


@trainers.mistake(breaks="When train returns, on any rank, the last file is there.")
class FileRemovedAtTheEnd(Trainer):
    """No file is at ckpt when train has returned. Perhaps it is removed when all is done, as something that is no longer
    needed: whoever calls train again, with more epochs, needs it.
    """

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        super().__call__(ckpt, job, epochs)
        if dist.get_rank() == 0:
            ckpt.unlink(missing_ok=True)
        dist.barrier()


@trainers.mistake(breaks="Rank 0 alone writes.")
class AFileForEachRank(Trainer):
    """A rank other than 0 writes a file of its own beside ckpt. Perhaps for its generator: dist.all_gather_object brings the
    states to rank 0, and all of them go into the one file.
    """

    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        super().save(ckpt, job, epoch)
        torch.save(torch.get_rng_state(), ckpt.with_name(f"{ckpt.name}.rank{dist.get_rank()}"))


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class DrawsAfterLoading(Trainer):
    """After a restart a generator is further on than in a run that nothing interrupted. Perhaps something draws from it
    when it has its state: `iter(job.loader)` draws a seed each time, also to look at a batch, or to pass over an epoch.
    """

    def load(self, ckpt: Path, job: Job) -> int:
        done = super().load(ckpt, job)
        next(iter(job.loader))
        return done


@trainers.mistake(breaks="If all epochs are done, train only loads.")
class SavesWhenDone(Trainer):
    """With all epochs done nothing is trained, and a file is written all the same. Perhaps a save stands after the loop: the
    one after the last epoch has written that file already.
    """

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        super().__call__(ckpt, job, epochs)
        self.save(Path(ckpt), job, epochs - 1)


@trainers.mistake(
    breaks="with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)"
)
class SeededAlikeInEachEpoch(Trainer):
    """Every epoch draws the same dropout masks. Perhaps a rank's generator is seeded where an epoch begins, by the rank alone:
    a restart then needs no state, and the dropout is that of one epoch for ever. Save the states, or put the epoch in the seed.
    """

    def run_epoch(self, job: Job, epoch: int) -> None:
        torch.manual_seed(dist.get_rank())
        super().run_epoch(job, epoch)


@trainers.mistake(
    breaks="The file at ckpt is whole at every moment: the older one until the new one takes its place."
)
class WrittenOnADifferentDisk(Trainer):
    """Right where ckpt and the folder for temporary files are on one disk. On a cluster they are not: os.replace raises there,
    and shutil.move copies the file to its place bit by bit. Write the new file beside ckpt, in the same folder.
    """

    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            torch.save(state, new := Path(folder) / ckpt.name)
            self.put(new, ckpt)

    def put(self, new: Path, ckpt: Path) -> None:
        os.replace(new, ckpt)


@trainers.variant(WrittenOnADifferentDisk)
class _(WrittenOnADifferentDisk):
    def put(self, new: Path, ckpt: Path) -> None:
        shutil.move(new, ckpt)
