"""Exercise 10.repair_masked_mean: the mean of what counts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, has_graph, keeps_dtype

repair_masked_mean = Exercise(
    "10.repair_masked_mean",
    "Repair: the mean over what counts",
    objective="Repair a pooling over padded sequences: the denominator, a squeeze without a dim, and padding that is NaN.",
    minutes=10,
    difficulty="medium",
    hints=[
        "How many rows does x.shape[1] count, and how many did you add? What is the shape for a batch of one sequence?",
        "`squeeze()` takes out every axis of length 1; name the axis, or do not add it. Sum over dim 1 of x, with the mask "
        "brought to shape (B, T, 1).",
        "0 * nan is nan: a product with the mask does not take a NaN out. masked_fill and where do.",
        "`kept = mask.unsqueeze(-1)`, then `x.masked_fill(~kept, 0).sum(1) / kept.sum(1).clamp(min=1)`.",
    ],
)

NEAR = 1e-5  # an eps of 1e-6 or less in the denominator is fine


def wanted(x: Tensor, mask: Tensor) -> Tensor:
    """Sequence by sequence."""
    rows = [sequence[keep] for sequence, keep in zip(x, mask, strict=True)]
    return torch.stack([row.sum(0) / max(len(row), 1) for row in rows])


def masked(trial: Trial, kept: list[int], length: int) -> Tensor:
    """A mask with so many True a sequence, at random places."""
    places = [torch.randperm(length, generator=trial.generator) for _ in kept]
    return torch.stack([place < count for place, count in zip(places, kept, strict=True)])


def _compared(answer: Any, trial: Trial, kept: list[int], length: int, width: int) -> None:
    mask, x = masked(trial, kept, length), drawn(trial, len(kept), length, width)
    trial.given(f"x of shape {tuple(x.shape)}, a mask that keeps {kept} of {length} rows")
    trial.equal(trial.call(answer, x, mask), wanted(x, mask), "The means", rtol=NEAR, atol=1e-7)


@repair_masked_mean.property("where all rows count, their mean")
def all_kept(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [5, 5, 5], 5, 2)


@repair_masked_mean.property("where some rows count, the mean of these")
def some_kept(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [2, 5, 1, 3], 5, 3)


@repair_masked_mean.property("a batch of one sequence, and one feature, keep their axes")
def ones(answer: Any, trial: Trial) -> None:
    for batch, width in ((1, 3), (3, 1), (1, 1)):
        _compared(answer, trial, [4] * batch, 4, width)


@repair_masked_mean.property("what stands in the padding has no effect, not even NaN")
def nan_in_padding(answer: Any, trial: Trial) -> None:
    mask, x = masked(trial, [2, 4, 1], 4), drawn(trial, 3, 4, 2)
    want = wanted(x, mask)
    trial.given("x of shape (3, 4, 2) with NaN where the mask is False; it keeps [2, 4, 1] of 4 rows")
    got = trial.call(answer, x.masked_fill(~mask.unsqueeze(-1), float("nan")), mask)
    trial.equal(got, want, "The means", rtol=NEAR, atol=1e-7)


@repair_masked_mean.property(
    "zeros for a sequence of which nothing counts", after=(all_kept, some_kept, ones)
)
def nothing_kept(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [2, 0, 4], 4, 3)


@repair_masked_mean.property(
    "the gradient is finite, and 0 in the padding",
    after=(
        all_kept,
        some_kept,
        ones,
        nan_in_padding,
        nothing_kept,
    ),
)
def gradient(answer: Any, trial: Trial) -> None:
    mask, c = masked(trial, [2, 0, 3], 3), drawn(trial, 3, 2)
    x = drawn(trial, 3, 3, 2).requires_grad_()
    own = x.detach().clone().requires_grad_()
    trial.given("x that requires grad; the mask keeps [2, 0, 3] of 3 rows; random numbers come in")
    got = trial.call(answer, x, mask)
    has_graph(trial, got, "The rows of x")
    (grad,) = torch.autograd.grad(got, x, c, allow_unused=True)
    (want,) = torch.autograd.grad(wanted(own, mask), own, c)
    trial.equal(grad, want, "The gradient of x", rtol=NEAR, atol=1e-7)


@repair_masked_mean.property("the dtype of x is kept")
def dtype_kept(answer: Any, trial: Trial) -> None:
    mask, x = masked(trial, [2, 3], 3), drawn(trial, 2, 3, 4, dtype=torch.float32)
    trial.given("x in float32")
    keeps_dtype(trial, trial.call(answer, x, mask), torch.float32, "The result")
