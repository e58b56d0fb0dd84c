"""What people write for 01.save_run: each is a whole answer in which one thing is wrong.

MISTAKES: name -> ((save_run, resume_run), teacher's sentence, words that the report holds).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from helpers.labs.reproducibility.run import Run
from helpers.labs.reproducibility.save_run_parts import (
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

Pair = tuple[Callable[[Path, Run], None], Callable[[Path, Run], None]]
MISTAKES: dict[str, tuple[Pair, str, str]] = {}


def mistake(name: str, why: str, seen: str) -> Callable[[Callable[[], Any]], None]:
    """Keeps a wrong answer. The function gives (save_run, resume_run); where one is None, the right one is taken."""

    def keep(made: Callable[[], Any]) -> None:
        save, resume = made()
        MISTAKES[name] = ((save or right_save, resume or right_resume), why, seen)

    return keep


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


def left_out(name: str, part: str, why: str, seen: str) -> None:
    """A part that is not saved."""
    mistake(name, why, seen)(lambda: (saving(lambda state, run: state.pop(part)), None))


left_out(
    "model_forgotten",
    "model",
    "The weights are not in the file, so the resumed run trains a new model.",
    "After resume_run: the parameters: not put back",
)
left_out(
    "optimizer_forgotten",
    "optimizer",
    "Momentum, and whatever else the optimizer has gathered, starts from nothing again.",
    "After resume_run: the optimizer's state: not put back",
)
left_out(
    "scheduler_forgotten",
    "scheduler",
    "The scheduler counts from 0 again, so the learning rate jumps back at the next step.",
    "After resume_run: the scheduler's count: 0 instead of 4",
)
left_out(
    "epoch_forgotten",
    "epoch",
    "The resumed run believes that it is in its first epoch, and trains that many epochs too many.",
    "After resume_run: run.epoch: 0 instead of 1",
)
left_out(
    "torch_generator_forgotten",
    "torch",
    "Dropout draws from torch's global generator: after the iterator is made again, it has to get the state that "
    "it had when the run was saved.",
    "After resume_run: torch's generator: left as",
)
left_out(
    "numpy_generator_forgotten",
    "numpy",
    "The augmentation draws from NumPy's global generator, which has a state of its own.",
    "After resume_run: NumPy's generator: not put back",
)
left_out(
    "python_generator_forgotten",
    "random",
    "The augmentation draws from Python's random module, which has a state of its own.",
    "After resume_run: Python's generator: not put back",
)
left_out(
    "own_generator_forgotten",
    "augment",
    "A generator of the run's own is in no global state: each one in run.generators has to be saved by its name.",
    "After resume_run: the generator 'augment': not put back",
)
left_out(
    "order_drawn_anew",
    "epoch_start",
    "The order of an epoch is drawn from torch's global generator when a new iterator gives its first batch. From "
    "another state it is another order: some samples come twice in this epoch, others never.",
    "After resume_run: run.epoch_start: not what was saved",
)
left_out(
    "batch_forgotten",
    "batch",
    "Without the number of batches that are done the epoch begins again, and samples are trained on twice.",
    "After resume_run: run.batch: 0 instead of 1",
)


@mistake(
    "buffers_forgotten",
    "named_parameters() leaves out the buffers, such as the running mean of batch normalisation. Training does "
    "not notice, evaluation does. state_dict() holds both.",
    "After resume_run: the buffers: not put back",
)
def _() -> Any:
    def change(state: State, run: Run) -> None:
        state["model"] = {name: value.detach() for name, value in run.model.named_parameters()}

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        run.model.load_state_dict(state.pop("model"), strict=False)
        put_back(state, run)

    return saving(change), resume_run


@mistake(
    "parameters_assigned",
    "assign=True puts new tensors into the model. The optimizer still holds the old ones, and trains those.",
    "the optimizer's parameters: no longer those of the model",
)
def _() -> Any:
    return None, resuming(after=lambda state, run: run.model.load_state_dict(state["model"], assign=True))


@mistake(
    "own_generator_replaced",
    "The data set holds the generator object itself. A new object in run.generators does not reach it: use "
    "set_state on the old one.",
    "the data set's generator: no longer the one in run.generators",
)
def _() -> Any:
    def replace(state: State, run: Run) -> None:
        run.generators["augment"] = torch.Generator()

    return None, resuming(before=replace)


@mistake(
    "not_skipped",
    "run.batch says how many batches are done, but the new iterator stands before the first one. Nor has the order "
    "been drawn yet: that happens at its first next().",
    "After resume_run: the samples come in another order",
)
def _() -> Any:
    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_place(state, run, 0)
        put_generators(state, run)

    return None, resume_run


@mistake(
    "batch_off_by_one",
    "run.batch counts batches that are done, so that many are skipped. One more, and no one trains on it.",
    "After resume_run: the epoch goes on at batch 2 instead of batch 1",
)
def _() -> Any:
    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_place(state, run, run.batch + 1)
        put_generators(state, run)

    return None, resume_run


@mistake(
    "saved_one_batch_late",
    "run.batch already counts the batch that was just trained on; adding 1 loses a batch.",
    "run.batch: 2 instead of 1",
)
def _() -> Any:
    return saving(lambda state, run: state.update(batch=run.batch + 1)), None


@mistake(
    "iterator_not_made",
    "With run.batches still None the next step starts a new epoch, with a new order, in the middle of the old one.",
    "After resume_run: run.epoch_start: not put back",
)
def _() -> Any:
    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_generators(state, run)

    return None, resume_run


@mistake(
    "skipped_after_the_generators",
    "Passing over a batch reads its samples, and reading draws. The generators get their state after that, last of all.",
    "moved on, as if",
)
def _() -> Any:
    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_parts(state, run)
        put_generators(state, run)
        put_place(state, run, run.batch)
        torch.set_rng_state(state["torch"])

    return None, resume_run


@mistake(
    "scheduler_stepped_again",
    "load_state_dict has already put the scheduler where it was. One more step() and it is one batch ahead.",
    "the scheduler's count: 5 instead of 4",
)
def _() -> Any:
    def step(state: State, run: Run) -> None:
        run.optimizer._opt_called = True  # keeps torch's warning about the order out of the report
        run.scheduler.step()

    return None, resuming(after=step)


@mistake(
    "left_in_eval_mode",
    "eval() switches dropout off and freezes the running statistics. A run that goes on needs train().",
    "After resume_run: the training mode: not as it was",
)
def _() -> Any:
    return None, resuming(after=lambda state, run: run.model.eval())


@mistake(
    "saving_leaves_eval_mode",
    "The file is right, but the run that goes on after the save now trains in eval mode.",
    "After save_run, in the run that was saved: the training mode: not as it was",
)
def _() -> Any:
    return saving(lambda state, run: run.model.eval()), None


@mistake(
    "name_drawn_from_random",
    "A random file name is a draw too. It moves Python's generator under the run that goes on; the module tempfile "
    "has a generator of its own.",
    "After save_run, in the run that was saved: Python's generator",
)
def _() -> Any:
    def save_run(path: Path, run: Run) -> None:
        state = state_of(run)
        beside = path.with_name(f"{random.randrange(10**9)}.part")
        torch.save(state, beside)
        os.replace(beside, path)

    return save_run, None


@mistake(
    "numpy_spare_lost",
    "NumPy draws normal numbers in pairs and holds one ready. The state has five parts; the last two are that number.",
    "NumPy's generator: right, but for the spare",
)
def _() -> Any:
    return saving(lambda state, run: state.update(numpy=state["numpy"][:3])), None


@mistake(
    "python_spare_lost",
    "random.gauss draws in pairs and holds one number ready: the third part of getstate().",
    "Python's generator: right, but for the spare",
)
def _() -> Any:
    return saving(lambda state, run: state.update(random=(*state["random"][:2], None))), None


@mistake(
    "python_state_as_list",
    "random.setstate wants the tuple of 625 numbers as a tuple. torch.save keeps tuples, JSON makes lists of them.",
    "state vector must be a tuple",
)
def _() -> Any:
    return None, resuming(before=lambda state, run: random.setstate((3, state["random"][1].tolist(), None)))
