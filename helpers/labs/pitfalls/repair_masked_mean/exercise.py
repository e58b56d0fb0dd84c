"""Exercise 10.repair_masked_mean: the mean of what counts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, has_graph, keeps_dtype, same_dtype

repair_masked_mean = Exercise(
    "10.repair_masked_mean",
    "Repair: the mean over what counts",
    objective="Repair a pooling over padded sequences: the denominator, a squeeze without a dim, and padding that is NaN.",
    minutes=10,
    difficulty="medium",
    core=False,
    hints=[
        "How many rows does x.shape[1] count, and how many did you add? What is the shape for a batch of one sequence?",
        "`squeeze()` takes out every axis of length 1; name the axis, or do not add it. Sum over dim 1 of x, with the mask "
        "brought to shape (B, T, 1).",
        "0 * nan is nan: a product with the mask does not take a NaN out. masked_fill and where do.",
        "`kept = mask.unsqueeze(-1)`, then `x.masked_fill(~kept, 0).sum(1) / kept.sum(1).clamp(min=1)`.",
    ],
)

MEAN = "The mean of those rows of each sequence that count."
SHAPE = "Returns a tensor of shape (B, D), also for B = 1 and D = 1"
ZEROS = "zeros for a sequence of which nothing counts."
PADDING = "What stands in the padding has no effect, also where it is NaN or infinite."
SHOWN = "A NaN in a row that counts is not hidden."
GRADIENT = "The gradient is finite, and 0 in the padding."
LEFT = "The arguments are left as they are."
NEAR = 1.5e-6  # an eps of 1e-6 or less in the denominator is fine: digits behind the sixth are not checked


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
    trial.given(
        f"x of shape {tuple(x.shape)}, a mask that keeps {kept} of {length} rows"
        + ("" if min(kept) == length else f", at these places: {mask.int().tolist()}")
    )
    trial.arguments_stay(LEFT)
    got, want = trial.call(answer, x, mask), wanted(x, mask)
    same_dtype(trial, got, want, "The means")
    observed = "a little added to the counts" if _added(got, want, mask) else None
    trial.equal(got, want, "The means", rtol=NEAR, atol=1e-9, observed=observed)


def _added(got: Any, want: Tensor, mask: Tensor) -> bool:
    """Whether each sum was divided by its count and one small number more."""
    some = mask.any(1)
    if not isinstance(got, Tensor) or got.shape != want.shape:
        return False
    counts = mask[some].sum(1, keepdim=True)
    more = counts * want[some] / got[some].double() - counts
    first = float(more.flatten()[0].detach())
    return 0 < first < 0.5 and bool(torch.allclose(more, torch.full_like(more, first), rtol=0.01, atol=0))


@repair_masked_mean.property("where all rows count, their mean", asks=(MEAN, LEFT))
def all_kept(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [5, 5, 5], 5, 2)


@repair_masked_mean.property("where some rows count, the mean of these", asks=MEAN)
def some_kept(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [2, 4, 1, 3], 5, 3)  # none is full: the largest count is not the length


@repair_masked_mean.property("a batch of one sequence, and one feature, keep their axes", asks=SHAPE)
def ones(answer: Any, trial: Trial) -> None:
    for batch, width in ((1, 3), (3, 1), (1, 1)):
        _compared(answer, trial, [4] * batch, 4, width)


@repair_masked_mean.property("what stands in the padding has no effect, not even NaN", asks=PADDING)
def nan_in_padding(answer: Any, trial: Trial) -> None:
    for name in ("nan", "inf"):
        mask, x = masked(trial, [2, 4, 1], 4), drawn(trial, 3, 4, 2)
        want = wanted(x, mask)
        trial.given(f"x of shape (3, 4, 2) with {name} where the mask is False; it keeps [2, 4, 1] of 4 rows")
        got = trial.call(answer, x.masked_fill(~mask.unsqueeze(-1), float(name)), mask)
        kind = "not finite" if isinstance(got, Tensor) and not got.isfinite().all() else plain(got)
        trial.equal(got, want, "The means", rtol=NEAR, atol=1e-7, observed=(name, kind))


@repair_masked_mean.property(
    "zeros for a sequence of which nothing counts", asks=ZEROS, after=(all_kept, some_kept, ones)
)
def nothing_kept(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [2, 0, 4], 4, 3)


VALUES = (all_kept, some_kept, ones, nan_in_padding, nothing_kept)


@repair_masked_mean.property("a NaN in a row that counts stands in the mean", asks=SHOWN, after=VALUES)
def nan_shown(answer: Any, trial: Trial) -> None:
    mask, x = masked(trial, [3, 4, 2], 4), drawn(trial, 3, 4, 2)
    x[0, int(mask[0].nonzero()[1]), 1] = float("nan")
    trial.given(
        "x of shape (3, 4, 2), the mask keeps [3, 4, 2] of 4 rows; a row of sequence 0 that counts holds a NaN"
    )
    got = trial.call(answer, x, mask)
    trial.true(
        bool(got[0, 1].isnan()),
        "The mean hides the NaN of a row that counts. Whoever looks at the means sees a number.",
        expected="NaN in [0, 1] of the means",
        got=got,
        observed="0" if got[0, 1] == 0 else "left out",
    )
    trial.true(
        bool(got.isnan().sum() == 1),
        "A NaN in a row that counts stands in means that have nothing to do with it.",
        expected=wanted(x, mask),
        got=got,
        observed=("spread", got.isnan().tolist()),
    )


@repair_masked_mean.property("zeros in rows that count are numbers like any other", asks=MEAN, after=VALUES)
def zeros_count(answer: Any, trial: Trial) -> None:
    for zeros in ("both features", "the first feature"):
        mask, x = masked(trial, [3, 4, 2], 4), drawn(trial, 3, 4, 2)
        for rows, keep in zip(x, mask, strict=True):
            rows[int(keep.nonzero()[1]), slice(2 if "both" in zeros else 1)] = 0.0
        trial.given(
            f"x of shape (3, 4, 2), the mask keeps [3, 4, 2] of 4 rows; in each sequence one row that counts is 0 in {zeros}"
        )
        got = trial.call(answer, x, mask)
        trial.equal(got, wanted(x, mask), "The means", rtol=NEAR, atol=1e-9)


@repair_masked_mean.property("the gradient is finite, and 0 in the padding", asks=GRADIENT, after=VALUES)
def gradient(answer: Any, trial: Trial) -> None:
    for name in ("numbers", "nan"):
        mask, c, x = masked(trial, [2, 0, 3], 3), drawn(trial, 3, 2), drawn(trial, 3, 3, 2)
        x = (x if name == "numbers" else x.masked_fill(~mask.unsqueeze(-1), float(name))).requires_grad_()
        own = x.detach().clone().requires_grad_()
        trial.given(
            f"x that requires grad, with {name} in the padding; the mask keeps [2, 0, 3] of 3 rows; the means get a random gradient"
        )
        got = trial.call(answer, x, mask)
        has_graph(trial, got, "The rows of x")
        (grad,) = torch.autograd.grad(got, x, c, allow_unused=True)
        (want,) = torch.autograd.grad(wanted(own, mask), own, c)
        lost = grad.isnan().any(-1) if isinstance(grad, Tensor) else torch.zeros_like(mask)
        trial.true(
            not lost.any(),
            "The gradient of x holds NaN.",
            expected="finite numbers, and 0 where the mask is False",
            got=f"NaN in the rows [sequence, row] {lost.nonzero().tolist()}; the mask keeps {mask.nonzero().tolist()}",
            observed=("NaN", bool((lost & mask).any()), bool((lost & ~mask).any())),
        )
        trial.equal(grad, want, "The gradient of x", rtol=NEAR, atol=1e-7)


@repair_masked_mean.property("the dtype of x is kept", asks="of the dtype of x")
def dtype_kept(answer: Any, trial: Trial) -> None:
    mask, x = masked(trial, [2, 3], 3), drawn(trial, 2, 3, 4, dtype=torch.float32)
    trial.given("x in float32")
    keeps_dtype(trial, trial.call(answer, x, mask), torch.float32, "the means")
