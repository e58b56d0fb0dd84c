"""Parts of a run that are not put back, and its place in the epoch (exercise 01.save_run)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
)
from helpers.labs.reproducibility.shown.run import Run


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
    """run.epoch of the resumed run is too small: it trains so many epochs too many. Perhaps it is not saved, or not put back."""
    return (without("epoch"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def batch_forgotten():
    """run.batch is 0, and the samples come in a different order. Perhaps the number of batches that are done was
    not put back: the epoch begins again, and samples are trained on twice.
    """
    return (without("batch"), None)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def buffers_forgotten() -> Any:
    """The buffers, such as the running mean of batch normalisation, were not put back. Perhaps by
    named_parameters(), which leaves them out. Training does not notice, evaluation does. state_dict() holds
    both.
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
    """The optimizer holds other tensors than the model, and trains those. Perhaps assign=True, which puts new tensors
    into the model.
    """
    return None, resuming(after=lambda state, run: run.model.load_state_dict(state["model"], assign=True))


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def not_skipped() -> Any:
    """The samples come in a different order, though run.batch is right. Perhaps no batch was passed over: the new
    iterator stands before the first one, and the order is drawn at its first next().
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_place(state, run, 0)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def batch_off_by_one() -> Any:
    """One batch too many was passed over, and no one trains on it. run.batch counts batches that are done: so
    many are skipped.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_place(state, run, run.batch + 1)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def saved_one_batch_late() -> Any:
    """run.batch is one too large, and a batch is lost. Perhaps 1 was added: it already counts the batch that
    was just trained on.
    """
    return saving(lambda state, run: state.update(batch=run.batch + 1)), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def iterator_not_made() -> Any:
    """run.epoch_start was not put back, and the samples come in a different order. Perhaps run.batches is still
    None: the next step starts a new epoch, with a new order, in the middle of the old one.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_generators(state, run)

    return None, resume_run


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def scheduler_stepped_again() -> Any:
    """The scheduler is one batch ahead. Perhaps step() was called again: load_state_dict has already put it where it
    was.
    """

    def step(state: State, run: Run) -> None:
        run.optimizer._opt_called = True  # keeps torch's warning about the order out of the report
        run.scheduler.step()

    return None, resuming(after=step)


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def left_in_eval_mode() -> Any:
    """The resumed run is in eval mode: dropout is off, and the running statistics are frozen. A run that goes on
    needs train().
    """
    return None, resuming(after=lambda state, run: run.model.eval())


@pairs.mistake(breaks="The run itself goes on")
def saving_leaves_eval_mode() -> Any:
    """The run that goes on after the save now trains in eval mode. Perhaps eval() was called for the save."""
    return saving(lambda state, run: run.model.eval()), None


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
    """A run that was resumed, saved and resumed again does not go on as the first. Perhaps the iterator was
    made, and run.epoch_start of the resumed run not set: the next save in this epoch has none.
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


@pairs.variant(optimizer_forgotten)
def _() -> Any:
    return saving(lambda state, run: state["optimizer"].update(state={})), None


@pairs.mistake(breaks="its next batch is the saved run's next batch")
def model_and_optimizer_only() -> Any:
    """The model and the optimizer go on, and all else starts anew: the place in the epoch, the learning rate and the generators.
    Perhaps the file holds these two alone.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        run.model.load_state_dict(state["model"])
        run.optimizer.load_state_dict(state["optimizer"])

    def change(state: State, run: Run) -> None:
        for part in set(state) - {"model", "optimizer"}:
            del state[part]

    return saving(change), resume_run
