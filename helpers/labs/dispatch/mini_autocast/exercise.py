"""Exercise 12.mini_autocast: TODO: what it is about."""

from __future__ import annotations

from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise

mini_autocast = Exercise(
    "12.mini_autocast",
    "TODO: its title",
    objective="TODO: what somebody can do who has solved it.",
    minutes=15,
    difficulty="medium",
    hints=["TODO: a nudge", "TODO: the idea", "TODO: nearly there"],
)


@mini_autocast.property(
    "TODO: what is true of every right answer", asks="TODO: the words of the docstring that it holds"
)
def _(answer: Any, trial: Trial) -> None:
    x = torch.randn(3, 5, generator=trial.generator)
    trial.given(f"x of shape {tuple(x.shape)}")
    trial.equal(trial.call(answer, x), 2 * x)
