"""A right train in small parts: the mistakes of 07.train exchange one part each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from helpers.labs.ddp.shown.training_job import Job


class Trainer:
    """Trainer()(ckpt, job, epochs) trains; it is what `train` is."""

    def __call__(self, ckpt: Path, job: Job, epochs: int) -> None:
        for epoch in self.epochs_left(self.load(Path(ckpt), job), epochs):
            self.run_epoch(job, epoch)
            self.save(Path(ckpt), job, epoch)

    def epochs_left(self, done: int, epochs: int) -> Any:
        return range(done, epochs)

    def run_epoch(self, job: Job, epoch: int) -> None:
        job.sampler.set_epoch(epoch)
        for x, y in job.loader:
            job.step(x, y)

    def load(self, ckpt: Path, job: Job) -> int:
        if not ckpt.exists():
            return 0
        state = torch.load(ckpt, weights_only=True)
        job.model.load_state_dict(state["model"])
        self.load_optimizer(job, state)
        self.load_generator(state)
        return state["epochs_done"]

    def load_optimizer(self, job: Job, state: dict[str, Any]) -> None:
        job.optimizer.load_state_dict(state["optimizer"])

    def load_generator(self, state: dict[str, Any]) -> None:
        torch.set_rng_state(state["generators"][dist.get_rank()])

    def save(self, ckpt: Path, job: Job, epoch: int) -> None:
        state = self.state(job, epoch)
        if dist.get_rank() == 0:
            self.write(state, ckpt)
        dist.barrier()

    def state(self, job: Job, epoch: int) -> dict[str, Any]:
        generators: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(generators, torch.get_rng_state())
        return {
            "model": job.model.state_dict(),
            "optimizer": job.optimizer.state_dict(),
            "generators": generators,
            "epochs_done": epoch + 1,
        }

    def write(self, state: dict[str, Any], ckpt: Path) -> None:
        beside = ckpt.with_suffix(".tmp")
        torch.save(state, beside)
        os.replace(beside, ckpt)
