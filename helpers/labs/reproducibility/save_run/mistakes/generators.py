"""Generators that are not put back, or not at the right time (exercise 01.save_run)."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.labs.reproducibility.save_run.changed import (
    pairs,
    resuming,
    saving,
    without,
)
from helpers.labs.reproducibility.save_run.right import (
    State,
    put_back,
    put_generators,
    put_parts,
    put_place,
    state_of,
    write,
)
from helpers.labs.reproducibility.shown.run import Run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def torch_generator_forgotten():
    """torch's global generator was not put back, and dropout draws from it: after the iterator is made again, it has
    to get the state that it had when the run was saved.
    """
    return (without("torch"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def numpy_generator_forgotten():
    """NumPy's global generator was not put back. The augmentation draws from it; it has a state of its own."""
    return (without("numpy"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def python_generator_forgotten():
    """Python's generator was not put back. The augmentation draws from the module random, which has a state of its
    own.
    """
    return (without("random"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def own_generator_forgotten():
    """A generator in run.generators was not put back. It is in no global state: each has to be saved by its name."""
    return (without("own"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def order_drawn_anew():
    """The samples come in a different order: some twice in this epoch, others never. The order is drawn from torch's
    global generator when a new iterator gives its first batch: perhaps it had a different state then.
    """
    return (without("epoch_start"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def own_generator_replaced() -> Any:
    """run.generators holds a new object, and the dataset holds the old one: it goes on drawing from that. Use
    set_state on the object that is there.
    """

    def replace(state: State, run: Run) -> None:
        for name in run.generators:
            run.generators[name] = torch.Generator()

    return None, resuming(before=replace)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def skipped_after_the_generators() -> Any:
    """Generators moved on while batches were passed over. Perhaps they got their states before that: passing
    over a batch reads its samples, and reading draws. The generators come last of all.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_generators(state, run)
        put_place(state, run, run.batch)
        torch.set_rng_state(state["torch"])

    return None, resume_run


@pairs.mistake(breaks="The run itself goes on")
def name_drawn_from_random() -> Any:
    """Saving moves Python's generator: the run that goes on draws other numbers. Perhaps a random file name
    is drawn: the module tempfile has a generator of its own.
    """

    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        beside = path.with_name(f"{random.randrange(10**9)}.part")
        torch.save(state, beside)
        os.replace(beside, path)

    return save_run, None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def numpy_spare_lost() -> Any:
    """NumPy's generator is right, but for a spare normal number. It draws these in pairs and holds one ready: the
    last two of the state's five parts.
    """
    return saving(lambda state, run: state.update(numpy=state["numpy"][:3])), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def python_spare_lost() -> Any:
    """Python's generator is right, but for a spare normal number. random.gauss draws these in pairs and holds one
    ready: the third part of getstate().
    """
    return saving(lambda state, run: state.update(random=(*state["random"][:2], None))), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def python_state_as_list() -> Any:
    """random.setstate refused a state: it wants the tuple of 625 numbers as a tuple. Perhaps a list was
    saved. torch.save keeps tuples, JSON makes lists of them.
    """
    return None, resuming(before=lambda state, run: random.setstate((3, state["random"][1].tolist(), None)))


@pairs.mistake(breaks="Each generator in `run.generators` is put back")
def one_generator_by_name() -> Any:
    """Not all of run.generators were put back. Perhaps only the one called "augment" was saved: it is a dict, save
    each by its name, whatever that is.
    """
    return saving(lambda state, run: state.update(own={"augment": state["own"]["augment"]})), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def seed_saved_instead_of_state() -> Any:
    """torch's generator is in a different state from the saved one. Perhaps its seed was saved: a seed is where the stream
    began, and the run is further along.
    """

    def seed(state: State, run: Run) -> None:
        torch.manual_seed(torch.initial_seed())
        torch.manual_seed(int.from_bytes(bytes(state["torch"][:8].tolist()), "little"))

    return None, resuming(after=seed)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def put_back_in_fork_rng() -> Any:
    """torch's global generator stands where it stood before resume_run. Perhaps the state was set inside fork_rng,
    which takes it back at the end.
    """

    def resume_run(path: Path, run: Run) -> None:
        with torch.random.fork_rng(devices=[]):
            put_back(torch.load(path, weights_only=True), run)

    return None, resume_run


_kept: State = {}


@pairs.mistake(breaks="a process that never saw the run")
def kept_in_memory() -> Any:
    """In a process that never saw the run something is missing, perhaps since it was kept in a variable of the
    notebook. After a crash that variable is gone.
    """

    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        _kept["numpy"] = state.pop("numpy")
        right = path.with_name(path.name + ".part")
        torch.save(state, right)
        os.replace(right, path)

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=True) | _kept, run)

    return save_run, resume_run


@pairs.mistake(breaks="between two epochs")
def none_between_epochs() -> Any:
    """Between two epochs None was used as a state of a generator. Perhaps it was run.epoch_start, which is
    None there, as no iterator has begun.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        torch.set_rng_state(state["epoch_start"])
        run.start_epoch()
        for _ in range(run.batch):
            next(run.batches)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="whatever its name")
def generators_among_the_parts() -> Any:
    """A generator of the run is called as a different part of the file is, and one of the two is lost. Perhaps all stand in one
    dict: give the generators a dict of their own.
    """

    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        write(path, state.pop("own") | state)

    return save_run, resuming(
        lambda state, run: state.update(own={name: state[name] for name in run.generators})
    )


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def own_generators_before_the_skip() -> Any:
    """A generator of run.generators moved on while batches were passed over. Perhaps it got its state before that: passing over a
    batch reads its samples, and reading draws. Generators come last.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        for name, own in state.pop("own").items():
            run.generators[name].set_state(own)
        put_place(state, run, run.batch)
        put_generators(state, run)

    return None, resume_run


@pairs.variant(skipped_after_the_generators)
def _() -> Any:
    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_generators(state, run)
        put_place(state, run, run.batch)

    return None, resume_run


@pairs.mistake(breaks="goes on as if it had not been saved")
def torch_moved_by_the_save() -> Any:
    """Saving moves torch's global generator: the run that goes on draws other numbers. Perhaps it draws, or seeds, in save_run."""
    return saving(lambda state, run: torch.rand(1)), None


@pairs.mistake(breaks="goes on as if it had not been saved")
def numpy_moved_by_the_save() -> Any:
    """Saving moves NumPy's global generator: the run that goes on draws other numbers. Perhaps it draws, or seeds, in save_run."""
    return saving(lambda state, run: np.random.random()), None
