"""What the repairs share: random tensors, two questions to a result, and the broken code with any of its pitfalls."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random normal numbers from the trial's generator."""
    return torch.randn(shape, generator=trial.generator, dtype=torch.float64).to(dtype)


def keeps_dtype(trial: Trial, got: Any, dtype: torch.dtype, what: str = "the result") -> None:
    """Wrong if `got` is not of this dtype; its values are left to others, as rounding would hide a mistake's name."""
    kind = str(getattr(got, "dtype", type(got).__name__))
    kind = kind if isinstance(got, Tensor) else f"no dtype: it is of type {kind}"
    message = f"The dtype of {what} is not that of the inputs."
    trial.true(kind == str(dtype), message, expected=dtype, got=kind, observed=(str(dtype), kind))


def same_dtype(trial: Trial, got: Any, want: Tensor, what: str) -> None:
    """Wrong if `got` has the numbers of `want`, as far as its dtype holds them, in a different dtype: it is told by that."""
    if not isinstance(got, Tensor) or got.shape != want.shape or got.dtype == want.dtype:
        return
    if got.is_floating_point() and torch.allclose(got.double(), want.double(), rtol=1e-2, atol=1e-2):
        trial.equal(got, want, what, observed=("dtype", str(got.dtype)))


def has_graph(trial: Trial, got: Any, what: str) -> None:
    """Wrong if no gradient could come back from `got`. what: "features", which require grad."""
    trial.true(
        isinstance(got, Tensor) and got.requires_grad,
        f"{what} require grad, and the result does not: the graph is cut.",
        expected="a result with a graph",
        got=f"requires_grad={getattr(got, 'requires_grad', None)}",
        observed="no graph",
    )


def add_pitfalls(
    exercise: Exercise, broken: Callable[..., Any], pitfalls: dict[str, tuple[str, str]]
) -> None:
    """Adds a mistake for each pitfall, and as its variants all codes in which later pitfalls stand beside it.

    broken: `broken(have)` is the code of the text with the pitfalls of the set `have` left in it.
    pitfalls: name -> (why, breaks): the sentence, and the words of the docstring that it breaks. The first one that is still there gives the name: so a learner who repairs
    one pitfall at a time is led from the first to the last.
    """
    names = list(pitfalls)
    for place, (name, (why, breaks)) in enumerate(pitfalls.items()):
        later = names[place + 1 :]
        exercise.add_mistake(name, broken({name}), why=why, breaks=breaks)
        for count in range(1, len(later) + 1):
            for others in combinations(later, count):
                exercise.add_variant(name, broken({name, *others}))
