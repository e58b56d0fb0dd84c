"""What people write for 01.save_run, and why it is wrong."""

from __future__ import annotations

import os
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.labs.reproducibility.save_run.exercise import save_run
from helpers.labs.reproducibility.save_run.right import (
    State,
    put_back,
    put_generators,
    put_parts,
    put_place,
    right_resume,
    right_save,
    state_of,
    write,
)
from helpers.labs.reproducibility.shown.run import Run

Pair = tuple[Callable[[Path, Run], None], Callable[[Path, Run], None]]


def beside_the_right(made: Callable[[], tuple[Any, Any]]) -> Pair:
    save, resume = made()
    return save or right_save, resume or right_resume


pairs = save_run.bank(beside_the_right)


def saving(change: Callable[[State, Run], Any]) -> Callable[[Path, Run], None]:
    """A save_run that changes what it saves."""

    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        change(state, run)
        write(path, state)

    return save_run


def resuming(
    before: Callable[[State, Run], Any] | None = None, after: Callable[[State, Run], Any] | None = None
) -> Callable[[Path, Run], None]:
    """A resume_run that does something else before or after the right thing."""

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        if before:
            before(state, run)
        put_back(state, run)
        if after:
            after(state, run)

    return resume_run


def without(part: str) -> Callable[[Path, Run], None]:
    """A save_run that leaves a part out."""
    return saving(lambda state, run: state.pop(part))


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def model_forgotten():
    """The weights were not put back, so the resumed run trains a new model. Perhaps they are not in the file."""
    return (without("model"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def optimizer_forgotten():
    """Momentum, and whatever else the optimizer has gathered, starts from nothing again. Perhaps its state is not in the file."""
    return (without("optimizer"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def scheduler_forgotten():
    """The scheduler counts from 0 again, so the learning rate jumps back at the next step. Perhaps it is not in the file."""
    return (without("scheduler"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def epoch_forgotten():
    """The resumed run believes that it is in its first epoch, and trains that many epochs too many."""
    return (without("epoch"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def torch_generator_forgotten():
    """Dropout draws from torch's global generator: after the iterator is made again, it has to get the state
    that it had when the run was saved.
    """
    return (without("torch"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def numpy_generator_forgotten():
    """The augmentation draws from NumPy's global generator, which has a state of its own."""
    return (without("numpy"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def python_generator_forgotten():
    """The augmentation draws from Python's random module, which has a state of its own."""
    return (without("random"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def own_generator_forgotten():
    """A generator of the run's own is in no global state: each one in run.generators has to be saved by its
    name.
    """
    return (without("own"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def order_drawn_anew():
    """The order of an epoch is drawn from torch's global generator when a new iterator gives its first batch.
    From another state it is another order: some samples come twice in this epoch, others never.
    """
    return (without("epoch_start"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def batch_forgotten():
    """Without the number of batches that are done the epoch begins again, and samples are trained on twice."""
    return (without("batch"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def buffers_forgotten() -> Any:
    """named_parameters() leaves out the buffers, such as the running mean of batch normalisation. Training
    does not notice, evaluation does. state_dict() holds both.
    """

    def change(state: State, run: Run) -> None:
        state["model"] = {name: value.detach() for name, value in run.model.named_parameters()}

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        run.model.load_state_dict(state.pop("model"), strict=False)
        put_back(state, run)

    return saving(change), resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def parameters_assigned() -> Any:
    """assign=True puts new tensors into the model. The optimizer still holds the old ones, and trains those."""
    return None, resuming(after=lambda state, run: run.model.load_state_dict(state["model"], assign=True))


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def own_generator_replaced() -> Any:
    """The dataset holds the generator object itself. A new object in run.generators does not reach it: use
    set_state on the old one.
    """

    def replace(state: State, run: Run) -> None:
        for name in run.generators:
            run.generators[name] = torch.Generator()

    return None, resuming(before=replace)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def not_skipped() -> Any:
    """run.batch says how many batches are done, but the new iterator stands before the first one. Nor has the
    order been drawn yet: that happens at its first next().
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_place(state, run, 0)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def batch_off_by_one() -> Any:
    """run.batch counts batches that are done, so that many are skipped. One more, and no one trains on it."""

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_place(state, run, run.batch + 1)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def saved_one_batch_late() -> Any:
    """run.batch already counts the batch that was just trained on; adding 1 loses a batch."""
    return saving(lambda state, run: state.update(batch=run.batch + 1)), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def iterator_not_made() -> Any:
    """With run.batches still None the next step starts a new epoch, with a new order, in the middle of the
    old one.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def skipped_after_the_generators() -> Any:
    """Passing over a batch reads its samples, and reading draws. The generators get their state after that,
    last of all.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_generators(state, run)
        put_place(state, run, run.batch)
        torch.set_rng_state(state["torch"])

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def scheduler_stepped_again() -> Any:
    """load_state_dict has already put the scheduler where it was. One more step() and it is one batch ahead."""

    def step(state: State, run: Run) -> None:
        run.optimizer._opt_called = True  # keeps torch's warning about the order out of the report
        run.scheduler.step()

    return None, resuming(after=step)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def left_in_eval_mode() -> Any:
    """eval() switches dropout off and freezes the running statistics. A run that goes on needs train()."""
    return None, resuming(after=lambda state, run: run.model.eval())


@pairs.mistake(breaks="The run itself goes on")
def saving_leaves_eval_mode() -> Any:
    """The file is right, but the run that goes on after the save now trains in eval mode."""
    return saving(lambda state, run: run.model.eval()), None


@pairs.mistake(breaks="The run itself goes on")
def name_drawn_from_random() -> Any:
    """A random file name is a draw too. It moves Python's generator under the run that goes on; the module
    tempfile has a generator of its own.
    """

    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        beside = path.with_name(f"{random.randrange(10**9)}.part")
        torch.save(state, beside)
        os.replace(beside, path)

    return save_run, None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def numpy_spare_lost() -> Any:
    """NumPy draws normal numbers in pairs and holds one ready. The state has five parts; the last two are
    that number.
    """
    return saving(lambda state, run: state.update(numpy=state["numpy"][:3])), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def python_spare_lost() -> Any:
    """random.gauss draws in pairs and holds one number ready: the third part of getstate()."""
    return saving(lambda state, run: state.update(random=(*state["random"][:2], None))), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def python_state_as_list() -> Any:
    """random.setstate wants the tuple of 625 numbers as a tuple. torch.save keeps tuples, JSON makes lists of
    them.
    """
    return None, resuming(before=lambda state, run: random.setstate((3, state["random"][1].tolist(), None)))


@pairs.mistake(breaks="Each generator in `run.generators` is put back")
def one_generator_by_name() -> Any:
    """run.generators is a dict, and only one of its generators was saved. Save each by its name, whatever that is."""
    return saving(lambda state, run: state.update(own={"augment": state["own"]["augment"]})), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def seed_saved_instead_of_state() -> Any:
    """torch's generator is in another state than the saved one. Perhaps its seed was saved: a seed is where the stream
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


@pairs.mistake(breaks="It stays as it is")
def checkpoint_deleted() -> Any:
    """The file is gone after the first restart: a crash before the next save then loses the run."""

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=True), run)
        path.unlink()

    return None, resume_run


@pairs.mistake(breaks="No code that a file may hold is run")
def pickle_inside() -> Any:
    """The outer file is plain, but resume_run calls pickle on a part of it, and pickle runs the code of whoever wrote it."""

    def change(state: State, run: Run) -> None:
        state["random"] = list(pickle.dumps(state["random"]))

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_back(state | {"random": pickle.loads(bytes(state["random"]))}, run)

    return saving(change), resume_run


# Mistakes in what the file is, and mistakes that show later.


_kept: State = {}


@pairs.mistake(breaks="a process that never saw the run")
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


@pairs.mistake(breaks="One file holds everything")
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


@pairs.mistake(breaks="between two epochs")
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


@pairs.mistake(breaks="between two epochs")
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


@pairs.mistake(breaks="after several restarts")
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


@pairs.mistake(breaks="tensors and plain Python values only")
def array_in_file() -> Any:
    """np.random.get_state() holds a NumPy array, which torch.load refuses by default since 2.6. Store it as a
    list.
    """
    return saving(lambda state, run: state.update(numpy=np.random.get_state())), None


@pairs.mistake(breaks="tensors and plain Python values only")
def array_in_file_and_pickle_allowed() -> Any:
    """weights_only=False makes the error go away by allowing any code in the file. Store the array as a list
    instead.
    """

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=False), run)

    return saving(lambda state, run: state.update(numpy=np.random.get_state())), resume_run


@pairs.mistake(breaks="No code that a file may hold is run")
def pickle_allowed() -> Any:
    """The file is harmless, but resume_run would run the code of any other one: weights_only=False."""

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=False), run)

    return None, resume_run


@pairs.mistake(breaks="is replaced in one step")
def written_in_place() -> Any:
    """The file at path was open for writing, or held half a file: a kill at that moment loses the old run and the new one. Write a
    second file beside it, close it, and then os.replace.
    """
    return lambda path, run: torch.save(state_of(run), path), None


@pairs.mistake(breaks="is replaced in one step")
def older_file_removed_first() -> Any:
    """The older file is removed before the new one takes its place: between the two there is no file at path. os.replace puts
    the new one there in one step.
    """

    def save_run(path: Path, run: Run) -> None:
        beside = path.with_suffix(".part")
        torch.save(state_of(run), beside)
        if path.exists():
            path.unlink()
        beside.rename(path)

    return save_run, None


@pairs.mistake(breaks="is replaced in one step")
def written_in_another_folder() -> Any:
    """A rename is one step only within one disk, and the folder for temporary files is often on another one."""

    def save_run(path: Path, run: Run) -> None:
        other = path.parent.parent / "temporary.pt"
        torch.save(state_of(run), other)
        shutil.move(other, path)

    return save_run, None


@pairs.mistake(breaks="does not stop the next one")
def stopped_by_a_leftover() -> Any:
    """A save that was killed leaves its half-written file behind, and the next save failed because of it: it has to write over
    it.
    """

    def save_run(path: Path, run: Run) -> None:
        beside = path.with_name("new.pt")
        with open(beside, "xb") as file:
            torch.save(state_of(run), file)
        os.replace(beside, path)

    return save_run, None


@pairs.mistake(breaks="whatever its name")
def generators_by_place() -> Any:
    """The generators got each other's states. Perhaps they are saved as a list and put back by their place in it: another dict
    may hold the same names in a different order.
    """
    return (
        saving(lambda state, run: state.update(own=[g.get_state() for g in run.generators.values()])),
        resuming(lambda state, run: state.update(own=dict(zip(run.generators, state["own"], strict=True)))),
    )


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


@pairs.mistake(breaks="a kill in the middle of the save leaves the older one")
def leftover_preferred() -> Any:
    """After a save that was killed, the run did not resume from the file at path. Perhaps the half-written file beside it was
    read, since it is newer: what counts is the file at path.
    """

    def resume_run(path: Path, run: Run) -> None:
        beside = path.with_name(path.name + ".part")
        right_resume(beside if beside.exists() else path, run)

    return None, resume_run


@pairs.variant(epoch_start_not_kept)
def _() -> Any:
    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        if state["epoch_start"] is not None:
            torch.set_rng_state(state["epoch_start"])
            run.batches = iter(run.loader)
            for _ in range(run.batch):
                next(run.batches)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def param_groups_forgotten() -> Any:
    """The learning rate was not put back. Perhaps only the optimizer's "state" was saved: the rate stands in its param_groups, and
    load_state_dict of the scheduler does not set it.
    """

    def change(state: State, run: Run) -> None:
        state["optimizer"] = {"state": state["optimizer"]["state"]}

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        groups = run.optimizer.state_dict()["param_groups"]
        put_back(state | {"optimizer": state["optimizer"] | {"param_groups": groups}}, run)

    return saving(change), resume_run


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


@pairs.mistake(breaks="That also holds between two epochs")
def place_only_in_mid_epoch() -> Any:
    """Resumed between two epochs, the run believes that it is in an earlier one. Perhaps run.epoch is set only where an epoch has
    begun.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_back(state, run)
        if not run.batch:
            run.epoch = 0

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def batch_not_counted() -> Any:
    """run.batch was not put back. The right samples come, and the run does not know where its epoch ends."""

    def clear(state: State, run: Run) -> None:
        run.batch = 0

    return None, resuming(after=clear)


@pairs.mistake(breaks="tensors and plain Python values only")
def whole_model_in_the_file() -> Any:
    """The file holds an object of a class, and `weights_only=True` refuses it. Perhaps the model itself was saved: its state_dict()
    is tensors by name.
    """
    return (
        saving(lambda state, run: state.update(model=run.model)),
        lambda path, run: _whole(torch.load(path, weights_only=False), run),
    )


def _whole(state: State, run: Run) -> None:
    put_back(state | {"model": state["model"].state_dict()}, run)


@pairs.mistake(breaks="No code that a file may hold is run")
def evaluated() -> Any:
    """A part of the file is text, and eval runs what stands in it, whoever wrote it. Store lists and numbers as they are."""

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        version, words, spare = eval(state["random"])
        put_back(state | {"random": (version, torch.tensor(words), spare)}, run)

    return saving(lambda state, run: state.update(random=repr(random.getstate()))), resume_run


@pairs.mistake(breaks="is replaced in one step")
def older_file_moved_away_first() -> Any:
    """The older file is renamed before the new one takes its place: between the two there is no file at path. os.replace puts
    the new one there in one step.
    """

    def save_run(path: Path, run: Run) -> None:
        beside = path.with_suffix(".part")
        torch.save(state_of(run), beside)
        if path.exists():
            path.rename(path.with_suffix(".bak"))
        beside.rename(path)

    return save_run, None
