"""Right answers to 07.train, in different shapes."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


def all_in_one(ckpt: Any, job: Any, epochs: int) -> None:
    start = 0
    if os.path.exists(ckpt):
        state = torch.load(ckpt)
        job.model.load_state_dict(state["model"])
        job.optimizer.load_state_dict(state["optim"])
        torch.random.set_rng_state(state["rng"][dist.get_rank()])
        start = state["epoch"] + 1
    for epoch in range(start, epochs):
        job.sampler.set_epoch(epoch)
        for batch in job.loader:
            job.step(*batch)
        states = [torch.zeros_like(torch.get_rng_state()) for _ in range(dist.get_world_size())]
        dist.all_gather(states, torch.get_rng_state())
        if dist.get_rank() == 0:
            state = dict(
                model=job.model.state_dict(), optim=job.optimizer.state_dict(), rng=states, epoch=epoch
            )
            torch.save(state, f"{ckpt}.part")
            os.rename(f"{ckpt}.part", ckpt)
        dist.barrier()


def rank_0_reads(ckpt: Path, job: Any, epochs: int) -> None:
    """Only rank 0 opens the file, for reading too; the others get it as an object."""
    rank = dist.get_rank()
    box = [ckpt.read_bytes() if rank == 0 and ckpt.exists() else None]
    dist.broadcast_object_list(box, src=0)
    done = 0
    if box[0] is not None:
        model, optimizer, generators, done = torch.load(io.BytesIO(box[0]), weights_only=True)
        job.model.load_state_dict(model)
        job.optimizer.load_state_dict(optimizer)
        torch.set_rng_state(generators[rank])
    while done < epochs:
        job.sampler.set_epoch(done)
        for x, y in job.loader:
            job.step(x, y)
        done += 1
        generators = [None] * dist.get_world_size() if rank == 0 else None
        dist.gather_object(torch.get_rng_state(), generators, dst=0)
        if rank == 0:
            state = (job.model.state_dict(), job.optimizer.state_dict(), generators, done)
            with tempfile.NamedTemporaryFile(dir=ckpt.parent, delete=False) as file:
                torch.save(state, file)
            Path(file.name).replace(ckpt)
        dist.barrier()


def pickled(ckpt: Path, job: Any, epochs: int) -> None:
    """Plain pickle; the whole job's state under one name; waits at the start, too."""

    def parts() -> dict[str, Any]:
        return {"model": job.model, "optimizer": job.optimizer}

    done = 0
    dist.barrier()
    if ckpt.is_file():
        with open(ckpt, "rb") as file:
            saved = pickle.load(file)
        for name, part in parts().items():
            part.load_state_dict(saved[name])
        torch.set_rng_state(saved["rng"][dist.get_rank()])
        done = saved["done"]
    for epoch in range(done, epochs):
        job.sampler.set_epoch(epoch)
        for x, y in job.loader:
            job.step(x, y)
        rng: list[Any] = [None for _ in range(dist.get_world_size())]
        dist.all_gather_object(rng, torch.get_rng_state())
        if not dist.get_rank():
            saved = {name: part.state_dict() for name, part in parts().items()} | {
                "rng": rng,
                "done": epoch + 1,
            }
            with open(ckpt.with_name("new"), "wb") as file:
                pickle.dump(saved, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(ckpt.with_name("new"), ckpt)
        dist.barrier()


def masks_by_epoch(ckpt: Path, job: Any, epochs: int) -> None:
    """Seeds every rank's generator anew in each epoch, so that no generator has to be saved."""
    done = 0
    if ckpt.exists():
        model, optimizer, done = torch.load(ckpt)
        job.model.load_state_dict(model)
        job.optimizer.load_state_dict(optimizer)
    for epoch in range(done, epochs):
        torch.manual_seed(1000 * epoch + dist.get_rank())
        job.sampler.set_epoch(epoch)
        for x, y in job.loader:
            job.step(x, y)
        if dist.get_rank() == 0:
            torch.save([job.model.state_dict(), job.optimizer.state_dict(), epoch + 1], f"{ckpt}~")
            shutil.move(f"{ckpt}~", ckpt)
        dist.barrier()


def saves_the_start(ckpt: Path, job: Any, epochs: int) -> None:
    """There is a file before the first epoch, too."""

    def save(done: int) -> None:
        states = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
        dist.gather_object(torch.get_rng_state(), states)
        if states:
            torch.save((job.model.state_dict(), job.optimizer.state_dict(), states, done), f"{ckpt}.next")
            os.rename(f"{ckpt}.next", ckpt)
        dist.barrier()

    if not ckpt.exists():
        dist.barrier()
        save(0)
    model, optimizer, states, done = torch.load(ckpt)
    job.model.load_state_dict(model)
    job.optimizer.load_state_dict(optimizer)
    torch.set_rng_state(states[dist.get_rank()])
    for epoch in range(done, epochs):
        job.sampler.set_epoch(epoch)
        for batch in job.loader:
            job.step(*batch)
        save(epoch + 1)


RIGHT = [all_in_one, rank_0_reads, pickled, masks_by_epoch, saves_the_start]
