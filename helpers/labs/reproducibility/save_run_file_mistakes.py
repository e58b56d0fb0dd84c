"""What people write for 01.save_run: mistakes in what the file is, and mistakes that show later."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.labs.reproducibility.run import Run
from helpers.labs.reproducibility.save_run_mistakes import pairs, saving
from helpers.labs.reproducibility.save_run_parts import State, put_back, put_generators, put_parts, state_of

_kept: State = {}


@pairs.mistake()
def kept_in_memory() -> Any:
    """NumPy's state was kept in a variable of the notebook. After a crash that variable is gone."""

    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        _kept["numpy"] = state.pop("numpy")
        right = path.with_name(path.name + ".part")
        torch.save(state, right)
        os.replace(right, path)

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=True) | _kept, run)

    return save_run, resume_run


@pairs.mistake()
def second_file() -> Any:
    """A part of the state is in a second file beside the first. A kill between the two leaves halves of two
    saves, and whoever copies the checkpoint copies half of it.
    """

    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        torch.save(state.pop("torch"), path.with_name(path.name + ".rng"))
        part = path.with_name(path.name + ".part")
        torch.save(state, part)
        os.replace(part, path)

    def resume_run(path: Path, run: Run) -> None:
        second = torch.load(path.with_name(path.name + ".rng"), weights_only=True)
        put_back(torch.load(path, weights_only=True) | {"torch": second}, run)

    return save_run, resume_run


@pairs.mistake()
def none_between_epochs() -> Any:
    """Between two epochs there is no iterator and run.epoch_start is None, which is no state of a generator."""

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        torch.set_rng_state(state["epoch_start"])
        run.start_epoch()
        for _ in range(run.batch):
            next(run.batches)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake()
def epoch_started_too_early() -> Any:
    """Between two epochs the next one has not begun: its iterator has to be made by the next step, from the
    state that the generators have then.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        if state["epoch_start"] is not None:
            torch.set_rng_state(state["epoch_start"])
        run.start_epoch()
        for _ in range(run.batch):
            next(run.batches)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake()
def epoch_start_not_kept() -> Any:
    """The iterator is right, but run.epoch_start of the resumed run is not set: the next save in this epoch
    has none.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        if run.batch:
            torch.set_rng_state(state["epoch_start"])
            run.batches = iter(run.loader)
            for _ in range(run.batch):
                next(run.batches)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake()
def array_in_file() -> Any:
    """np.random.get_state() holds a NumPy array, which torch.load refuses by default since 2.6. Store it as a
    list.
    """
    return saving(lambda state, run: state.update(numpy=np.random.get_state())), None


@pairs.mistake()
def array_in_file_and_pickle_allowed() -> Any:
    """weights_only=False makes the error go away by allowing any code in the file. Store the array as a list
    instead.
    """

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=False), run)

    return saving(lambda state, run: state.update(numpy=np.random.get_state())), resume_run


@pairs.mistake()
def pickle_allowed() -> Any:
    """The file is harmless, but resume_run would run the code of any other one: weights_only=False."""

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=False), run)

    return None, resume_run


@pairs.mistake()
def written_in_place() -> Any:
    """While path itself is written it holds half a file. A kill then loses the old run and the new one."""
    return lambda path, run: torch.save(state_of(run), path), None


@pairs.mistake()
def older_file_removed_first() -> Any:
    """Between removing the old file and renaming the new one there is no file at all. os.replace does both in
    one step.
    """

    def save_run(path: Path, run: Run) -> None:
        beside = path.with_suffix(".part")
        torch.save(state_of(run), beside)
        if path.exists():
            path.unlink()
        beside.rename(path)

    return save_run, None


@pairs.mistake()
def written_in_another_folder() -> Any:
    """A rename is one step only within one disk, and the folder for temporary files is often on another one."""

    def save_run(path: Path, run: Run) -> None:
        other = path.parent.parent / "temporary.pt"
        torch.save(state_of(run), other)
        shutil.move(other, path)

    return save_run, None


@pairs.mistake()
def stopped_by_a_leftover() -> Any:
    """A killed save leaves its half-written file behind. The next save has to write over it, not to stop
    there.
    """

    def save_run(path: Path, run: Run) -> None:
        beside = path.with_name("new.pt")
        with open(beside, "xb") as file:
            torch.save(state_of(run), file)
        os.replace(beside, path)

    return save_run, None
