"""Right answers to 01.save_run, in different shapes."""

from __future__ import annotations

import io
import json
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.labs.reproducibility.shown.run import Run


def save_plainly(path: Path, run: Run) -> None:
    """The solution of the notebook, written out."""
    kind, keys, *rest = np.random.get_state()
    state = {
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "scheduler": run.scheduler.state_dict(),
        "place": (run.epoch, run.batch, run.epoch_start),
        "torch": torch.get_rng_state(),
        "numpy": (kind, keys.tolist(), *rest),
        "random": random.getstate(),
        "own": {name: generator.get_state() for name, generator in run.generators.items()},
    }
    beside = path.with_suffix(".part")
    torch.save(state, beside)
    os.replace(beside, path)


def resume_plainly(path: Path, run: Run) -> None:
    state = torch.load(path, weights_only=True)
    run.epoch, run.batch, epoch_start = state["place"]
    if epoch_start is not None:
        torch.set_rng_state(epoch_start)
        run.start_epoch()
        for _ in range(run.batch):
            next(run.batches)
    put_back(run, state)


def put_back(run: Run, state: dict[str, Any]) -> None:
    """All but the place in the data."""
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    put_generators_back(run, state)


def put_generators_back(run: Run, state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    np.random.set_state(state["numpy"])
    random.setstate(state["random"])
    for name, generator in run.generators.items():
        generator.set_state(state["own"][name])


def save_as_json_and_bytes(path: Path, run: Run) -> None:
    """Generators as JSON text, all in memory first, then through a named temporary file, flushed to the disk."""
    numpy_state = np.random.get_state(legacy=False)
    numpy_state["state"]["key"] = numpy_state["state"]["key"].tolist()
    memory = io.BytesIO()
    torch.save(
        {
            "parts": [part.state_dict() for part in (run.model, run.optimizer, run.scheduler)],
            "text": json.dumps(
                {"numpy": numpy_state, "random": random.getstate(), "at": [run.epoch, run.batch]}
            ),
            "start": run.epoch_start,
            "states": torch.stack(
                [torch.get_rng_state(), *(own.get_state() for own in run.generators.values())]
            ),
        },
        memory,
    )
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".save-", delete=False) as file:
        file.write(memory.getvalue())
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)


def resume_without_reading_samples(path: Path, run: Run) -> None:
    """Takes the indices of the batches that are done from the sampler, and reads no sample."""
    state = torch.load(path)
    for part, own in zip((run.model, run.optimizer, run.scheduler), state["parts"], strict=True):
        part.load_state_dict(own)
    text = json.loads(state["text"])
    run.epoch, run.batch = text["at"]
    if run.batch:
        torch.set_rng_state(state["start"])
        run.start_epoch()
        for _ in range(run.batch):
            run.batches._next_index()
    version, words, spare = text["random"]
    random.setstate((version, tuple(words), spare))
    np.random.set_state(text["numpy"])
    for set_state, own in zip(
        (torch.set_rng_state, *(own.set_state for own in run.generators.values())),
        state["states"],
        strict=True,
    ):
        set_state(own.clone())


def resume_late(path: Path, run: Run) -> None:
    """Draws the order of the epoch, and passes over its first batches, only when the next one is asked for."""
    state = torch.load(path, weights_only=True)
    run.epoch, run.batch, run.epoch_start = state["place"]
    if run.batch:
        run.batches = rest_of_the_epoch(run, state)
    put_back(run, state)


def rest_of_the_epoch(run: Run, state: dict[str, Any]) -> Iterator[Any]:
    torch.set_rng_state(run.epoch_start)
    batches = iter(run.loader)
    for _ in range(run.batch):
        next(batches)
    put_generators_back(run, state)
    yield from batches


class Saver:
    """Both functions as bound methods."""

    def save(self, path: Path, run: Run, /) -> None:
        save_plainly(path, run)

    def resume(self, path: Path, run: Run, /) -> None:
        resume_plainly(path, run)


RIGHT = [
    (save_plainly, resume_plainly),
    (save_as_json_and_bytes, resume_without_reading_samples),
    (save_plainly, resume_late),
    (Saver().save, Saver().resume),
]
