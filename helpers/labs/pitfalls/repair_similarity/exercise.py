"""Exercise 10.repair_similarity: functions that choose a dim for you, and a reshape that is no transpose."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, keeps_dtype, same_dtype

repair_similarity = Exercise(
    "10.repair_similarity",
    "Repair: each with each",
    objective="Repair a matrix of cosines that is right for two axes and wrong for three.",
    minutes=8,
    difficulty="easy",
    core=False,
    hints=[
        "Which rows of F.normalize(a) have length 1 if a has shape (2, 3, 4)? Compute the norms over each dim.",
        "F.normalize's default is dim=1: the last axis of a matrix, and the middle one of a batch. Say dim=-1.",
        "reshape keeps the order in memory and draws other borders; a transpose exchanges two axes: `b.mT`, or "
        "`b.transpose(-2, -1)`.",
        "`F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT`",
    ],
)


COSINE = "The cosine of each row of a with each row of b."
SHAPE = "Returns a tensor of shape (..., N, M)"
ZEROS = "A row of zeros has no direction: its cosines are 0."


def wanted(a: Tensor, b: Tensor) -> Tensor:
    """Pair by pair; a row of zeros has no direction, and gets 0."""
    a, b = a.unsqueeze(-2), b.unsqueeze(-3)
    lengths = (a * a).sum(-1).sqrt() * (b * b).sum(-1).sqrt()
    return (a * b).sum(-1) / lengths.masked_fill(lengths == 0, 1)


def _compared(answer: Any, trial: Trial, a: Tensor, b: Tensor, about: str = "") -> None:
    trial.given(f"a of shape {tuple(a.shape)}, b of shape {tuple(b.shape)}{about}")
    got, want = trial.call(answer, a, b), wanted(a, b)
    same_dtype(trial, got, want, "The cosines")
    is_less = "a little nearer to 0" if a_little_nearer_to_0(got, want) else None
    trial.equal(got, want, "The cosines", rtol=1e-6, atol=1e-6, observed=is_less)


def a_little_nearer_to_0(got: Any, want: Tensor) -> bool:
    """Whether all cosines are too small by one part in ten at most."""
    if not isinstance(got, Tensor) or got.shape != want.shape or not want.all():
        return False
    share = got.detach() / want
    return bool(((share > 0.9) & (share < 1)).all())


@repair_similarity.property(
    "two matrices: each row with each row, whatever their lengths", asks=(COSINE, SHAPE)
)
def matrices(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 3 * drawn(trial, 3, 4), drawn(trial, 2, 4) / 5)


@repair_similarity.property("one vector with one", asks=COSINE)
def one_pair(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 3 * drawn(trial, 1, 4), drawn(trial, 1, 4) / 5)


@repair_similarity.property("batches of matrices: within each member of the batch", asks=(COSINE, SHAPE))
def batches(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, drawn(trial, 2, 3, 4), drawn(trial, 2, 5, 4))
    _compared(answer, trial, drawn(trial, 2, 3, 2, 4), drawn(trial, 2, 3, 5, 4))


@repair_similarity.property("a batch of one-row matrices", asks=SHAPE)
def one_row_each(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, drawn(trial, 3, 1, 4), drawn(trial, 3, 1, 4))


@repair_similarity.property(
    "a row of zeros gives 0",
    asks=ZEROS,
    after=(
        one_pair,
        matrices,
        batches,
        one_row_each,
    ),
)
def zero_row(answer: Any, trial: Trial) -> None:
    for name, place in (("a[1]", 0), ("b[1]", 1)):
        pair = drawn(trial, 3, 4), drawn(trial, 2, 4)
        pair[place][1] = 0
        _compared(answer, trial, *pair, f", {name} is all zeros")


@repair_similarity.property("the dtype of the inputs is kept", asks="of the dtype of the inputs")
def dtype_kept(answer: Any, trial: Trial) -> None:
    a, b = drawn(trial, 3, 4, dtype=torch.float32), drawn(trial, 2, 4, dtype=torch.float32)
    trial.given("a and b in float32")
    keeps_dtype(trial, trial.call(answer, a, b), torch.float32, "the cosines")
