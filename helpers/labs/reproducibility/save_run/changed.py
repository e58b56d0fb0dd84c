"""A right save and resume with one thing changed: how the mistakes of 01.save_run are made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from helpers.labs.reproducibility.save_run.exercise import save_run
from helpers.labs.reproducibility.save_run.right import (
    State,
    put_back,
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
