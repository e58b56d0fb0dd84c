"""A right save and resume in pieces, of which the known mistakes of 01.save_run change one each."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.labs.reproducibility.shown.run import Run

State = dict[str, Any]


def state_of(run: Run) -> State:
    """All that the next batch depends on, as tensors and plain values.

    Long lists of numbers are tensors: torch.load reads them ten times faster.
    """
    name, keys, *rest = np.random.get_state()
    version, words, spare = random.getstate()
    return {
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "scheduler": run.scheduler.state_dict(),
        "epoch": run.epoch,
        "batch": run.batch,
        "epoch_start": run.epoch_start,
        "torch": torch.get_rng_state(),
        "numpy": (name, torch.from_numpy(keys.astype(np.int64)), *rest),
        "random": (version, torch.tensor(words), spare),
        "own": {name: generator.get_state() for name, generator in run.generators.items()},
    }


def write(path: Path, state: State) -> None:
    """A whole file at `path`, or the older one."""
    beside = path.with_name(path.name + ".part")
    torch.save(state, beside)
    os.replace(beside, path)


def put_parts(state: State, run: Run) -> None:
    """Model, optimizer, scheduler and place, as far as they are in `state`."""
    for name in ("model", "optimizer", "scheduler"):
        if name in state:
            getattr(run, name).load_state_dict(state[name])
    run.epoch, run.batch = state.get("epoch", run.epoch), state.get("batch", run.batch)


def put_place(state: State, run: Run, skip: int) -> None:
    """The epoch's iterator, made as it was made first, without the first `skip` batches."""
    if run.batch or "batch" not in state:
        if state.get("epoch_start") is not None:
            torch.set_rng_state(state["epoch_start"])
        run.start_epoch()
        for _ in range(skip):
            next(run.batches)


def put_generators(state: State, run: Run) -> None:
    """The generators, as far as they are in `state`."""
    if "torch" in state:
        torch.set_rng_state(state["torch"])
    if "numpy" in state:
        name, keys, *rest = state["numpy"]
        np.random.set_state((name, np.asarray(keys), *rest))
    if "random" in state:
        version, words, spare = state["random"]
        random.setstate((version, tuple(words.tolist()), spare))
    for name, own in state.get("own", {}).items():
        run.generators[name].set_state(own)


def right_save(path: Path, run: Run) -> None:
    write(path, state_of(run))


def put_back(state: State, run: Run) -> None:
    put_parts(state, run)
    put_place(state, run, run.batch)
    put_generators(state, run)


def right_resume(path: Path, run: Run) -> None:
    put_back(torch.load(path, weights_only=True), run)
