"""What is wrong with the file: what it holds, and how it gets to its place (exercise 01.save_run)."""

from __future__ import annotations

import os
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.labs.reproducibility.save_run.changed import (
    pairs,
    saving,
)
from helpers.labs.reproducibility.save_run.right import (
    State,
    put_back,
    right_resume,
    state_of,
)
from helpers.labs.reproducibility.shown.run import Run


@pairs.mistake(breaks="It stays as it is")
def checkpoint_deleted() -> Any:
    """The file is gone after the first restart: a crash before the next save then loses the run."""

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=True), run)
        path.unlink()

    return None, resume_run


@pairs.mistake(breaks="No code that a file may hold is run")
def pickle_inside() -> Any:
    """The outer file is plain, but resume_run calls pickle.load or loads on a part of it, and pickle runs the code of
    whoever wrote it.
    """

    def change(state: State, run: Run) -> None:
        state["random"] = list(pickle.dumps(state["random"]))

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        put_back(state | {"random": pickle.loads(bytes(state["random"]))}, run)

    return saving(change), resume_run


@pairs.mistake(breaks="One file holds everything")
def second_file() -> Any:
    """In a process that never saw the run a file is missing. Perhaps a part of the state is in a second file
    beside the first: a kill between the two leaves halves of two saves, and whoever copies the checkpoint
    copies half of it.
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


@pairs.mistake(breaks="tensors and plain Python values only")
def array_in_file() -> Any:
    """torch.load refused the file. Perhaps it holds a NumPy array, as np.random.get_state() does, which it
    refuses by default since 2.6. Store it as a list.
    """
    return saving(lambda state, run: state.update(numpy=np.random.get_state())), None


@pairs.mistake(breaks="tensors and plain Python values only")
def array_in_file_and_pickle_allowed() -> Any:
    """The file holds a NumPy array, which `weights_only=True` refuses. Perhaps weights_only=False made the
    error go away, by allowing any code in the file. Store the array as a list instead.
    """

    def resume_run(path: Path, run: Run) -> None:
        put_back(torch.load(path, weights_only=False), run)

    return saving(lambda state, run: state.update(numpy=np.random.get_state())), resume_run


@pairs.mistake(breaks="No code that a file may hold is run")
def pickle_allowed() -> Any:
    """The file is harmless, but resume_run unpickles it, and would run the code of any other one. Perhaps
    weights_only=False, or a pickle.Unpickler.
    """

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


@pairs.mistake(breaks="a kill in the middle of the save leaves the older one")
def leftover_preferred() -> Any:
    """After a save that was killed, the run did not resume from the file at path. Perhaps the half-written file beside it was
    read, since it is newer: what counts is the file at path.
    """

    def resume_run(path: Path, run: Run) -> None:
        beside = path.with_name(path.name + ".part")
        right_resume(beside if beside.exists() else path, run)

    return None, resume_run


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
    """A part of the file is text, and eval or exec runs what stands in it, whoever wrote it. Store lists and numbers
    as they are.
    """

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


@pairs.mistake(breaks="No code that a file may hold is run")
def unpickled_from_a_part() -> Any:
    """pickle reads a part of the file, and may then run what somebody wrote into it. Perhaps a state went through
    pickle.dumps into bytes or a tensor: store its numbers as they are.
    """

    def resume_run(path: Path, run: Run) -> None:
        state = torch.load(path, weights_only=True)
        version, words, spare = pickle.loads(state["random"].numpy().tobytes())
        put_back(state | {"random": (version, torch.tensor(words), spare)}, run)

    def change(state: State, run: Run) -> None:
        state["random"] = torch.frombuffer(bytearray(pickle.dumps(random.getstate())), dtype=torch.uint8)

    return saving(change), resume_run
