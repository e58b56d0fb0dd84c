"""Exercise 10.repair_class_means: writing to the same place twice, and writing to a copy."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, has_graph, keeps_dtype, same_dtype

repair_class_means = Exercise(
    "10.repair_class_means",
    "Repair: the mean of each class",
    objective="Repair sums and counts that lose repeated indices, and a write that goes to a copy.",
    minutes=10,
    difficulty="medium",
    core=False,
    hints=[
        "What does `c[torch.tensor([1, 1, 2])] += 1` do to c[1]? Write it as `c[i] = c[i] + 1` and think about when the "
        "right side is read.",
        "index_add_ adds once for each index, however often it comes. bincount counts; tell it how many classes there "
        "are.",
        "`means[empty]` with a mask is a copy, and `[:] = 0` writes into that copy. Write `means[empty] = 0`, one pair of "
        "brackets, or divide by counts.clamp(min=1).",
        "`sums = features.new_zeros(classes, features.shape[1]).index_add_(0, labels, features)`; "
        "`counts = torch.bincount(labels, minlength=classes)`.",
    ],
)


MEAN = "The mean of the features of each class."
SHAPE = "Returns a tensor of shape (classes, D)"
ZEROS = "zeros for a class without samples."
LEFT = "The arguments are left as they are."
GRADIENT = "The gradient reaches the features."
NEAR = 1e-5  # an eps of 1e-6 or less in the denominator is fine


def wanted(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Class by class."""
    rows = [features[labels == label] for label in range(classes)]
    return torch.stack([row.sum(0) / max(len(row), 1) for row in rows])


def _compared(answer: Any, trial: Trial, labels: Tensor, classes: int, about: str) -> None:
    features = drawn(trial, len(labels), 2)
    trial.arguments_stay(LEFT.removesuffix("."))
    trial.given(
        f"labels {labels.tolist()} ({about}), classes = {classes}, features of shape {tuple(features.shape)}"
    )
    got = trial.call(answer, features, labels, classes)
    want = wanted(features, labels, classes)
    same_dtype(trial, got, want, "The means")
    trial.equal(got, want, "The means", rtol=NEAR, atol=1e-7)


@repair_class_means.property(
    "with one sample a class, the samples in the order of their classes",
    asks=(MEAN, SHAPE, LEFT),
)
def one_each(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, torch.tensor([2, 0, 1, 3]), 4, "each once")


@repair_class_means.property("with several samples a class, their mean", asks=MEAN)
def several(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, torch.tensor([1, 1, 0, 1, 2, 0, 1, 1]), 3, "repeated")


@repair_class_means.property(
    "many samples of a class, and features that are 0: each sample counts once", asks=MEAN, after=(several,)
)
def many(answer: Any, trial: Trial) -> None:
    labels = torch.tensor([0] * 300 + [1] * 4)[torch.randperm(304, generator=trial.generator)]
    for rows, name in ((4, "4 samples of each class"), (304, "300 samples of class 0, 4 of class 1")):
        few = torch.tensor([0, 1] * 4) if rows == 4 else labels
        features = drawn(trial, len(few), 2).relu()
        features[(few == 1).nonzero()[0]] = 0.0
        trial.given(
            f"{name}, classes = 2, features of shape {tuple(features.shape)} from a relu, so about half of them are 0"
        )
        trial.equal(
            trial.call(answer, features, few, 2), wanted(features, few, 2), "The means", rtol=NEAR, atol=1e-7
        )


@repair_class_means.property("zeros for a class without samples", asks=ZEROS)
def empty_class(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, torch.tensor([2, 0, 3]), 4, "none of class 1")


@repair_class_means.property("zeros for the last classes, if they have no samples", asks=(SHAPE, ZEROS))
def empty_last(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, torch.tensor([1, 0, 2]), 5, "none of classes 3 and 4")


@repair_class_means.property(
    "the gradient is shared out to the samples",
    asks=GRADIENT,
    after=(
        one_each,
        several,
        empty_class,
        empty_last,
    ),
)
def gradient(answer: Any, trial: Trial) -> None:
    labels, c = torch.tensor([1, 1, 0, 1, 3]), drawn(trial, 4, 2)
    leaf = drawn(trial, 5, 2).requires_grad_()
    own = leaf.detach().clone().requires_grad_()
    trial.given("labels [1, 1, 0, 1, 3], classes = 4, features that require grad; random numbers come in")
    got = trial.call(answer, leaf, labels, 4)
    has_graph(trial, got, "The features")
    (grad,) = torch.autograd.grad(got, leaf, c, allow_unused=True)
    (want,) = torch.autograd.grad(wanted(own, labels, 4), own, c)
    trial.equal(grad, want, "The gradient of the features", rtol=NEAR, atol=1e-7)


@repair_class_means.property(
    "a NaN among the features of a class stands in its mean",
    asks="A NaN among the features of a class is not hidden: it stands in the mean of that class.",
    after=(one_each, several, empty_class, empty_last),
)
def nan_shown(answer: Any, trial: Trial) -> None:
    features, labels = drawn(trial, 5, 2), torch.tensor([1, 1, 0, 1, 3])
    features[1, 0] = float("nan")
    trial.given("labels [1, 1, 0, 1, 3], classes = 4, features of shape (5, 2) with NaN in [1, 0]")
    got = trial.call(answer, features, labels, 4)
    trial.true(
        bool(got[1, 0].isnan()),
        "The mean of class 1 hides the NaN of one of its samples. Whoever looks at the means sees a number.",
        expected="NaN in [1, 0] of the means",
        got=got,
        observed="0" if got[1, 0] == 0 else "left out",
    )


@repair_class_means.property("the dtype of the features is kept", asks="of the dtype of the features")
def dtype_kept(answer: Any, trial: Trial) -> None:
    features, labels = drawn(trial, 4, 3, dtype=torch.float32), torch.tensor([0, 1, 1, 0])
    trial.given("features in float32")
    got = trial.call(answer, features, labels, 2)
    keeps_dtype(trial, got, torch.float32, "the means")
