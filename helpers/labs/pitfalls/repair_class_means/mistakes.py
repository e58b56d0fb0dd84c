"""What people write for 10.repair_class_means, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from helpers.labs.pitfalls.repair_class_means.exercise import repair_class_means
from helpers.labs.pitfalls.shared.repairs import add_pitfalls


def broken(have: set[str]) -> Callable[[Tensor, Tensor, int], Tensor]:
    """The text's code with some of its pitfalls."""

    def class_means(features: Tensor, labels: Tensor, classes: int) -> Tensor:
        sums, counts = features.new_zeros(classes, features.shape[1]), features.new_zeros(classes)
        if "duplicates_lost" in have:
            sums[labels] += features
        else:
            sums.index_add_(0, labels, features)
        if "counted_once" in have:
            counts[labels] += 1
        else:
            counts = torch.bincount(labels, minlength=classes)
        means = sums / counts.unsqueeze(1)
        if "chained_write" in have:
            means[counts == 0][:] = 0
        else:
            means[counts == 0] = 0
        return means

    return class_means


add_pitfalls(
    repair_class_means,
    broken,
    {
        "duplicates_lost": (
            "`sums[labels] += features` reads all rows, adds, and writes all rows back. Of several samples of one class "
            "the last write stays. index_add_ adds each of them."
        ),
        "counted_once": (
            "`counts[labels] += 1` reads each count once, so no class is ever counted higher than 1. The sums are right "
            "now, and divided by 1."
        ),
        "chained_write": (
            "0 / 0 is NaN, and it is still there. `means[counts == 0][:] = 0` changes nothing: indexing with a mask or a list "
            "makes a copy, and the second pair of brackets writes into the copy. Only numbers and slices give views."
        ),
    },
)


@repair_class_means.variant("duplicates_lost")
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    sums = features.new_zeros(classes, features.shape[1]).index_put((labels,), features)
    return sums / torch.bincount(labels, minlength=classes).clamp(min=1).unsqueeze(1)


@repair_class_means.variant("chained_write")
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    sums = features.new_zeros(classes, features.shape[1]).index_add(0, labels, features)
    return sums / torch.bincount(labels, minlength=classes).unsqueeze(1)


@repair_class_means.mistake()
def present_classes_only(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """unique() knows the classes that occur. One that does not occur has no row, and all rows behind it move
    up.
    """
    return torch.stack([features[labels == label].mean(0) for label in labels.unique()])


@repair_class_means.mistake()
def highest_class_unknown(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """bincount without minlength, or labels.max() + 1, ends with the highest label that occurs: the number of
    classes is then that of the batch.
    """
    counts = torch.bincount(labels)
    sums = features.new_zeros(len(counts), features.shape[1]).index_add(0, labels, features)
    return sums / counts.clamp(min=1).unsqueeze(1)


@repair_class_means.mistake()
def divided_by_the_batch(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A class's sum belongs over its own count. Over the size of the batch, rare classes shrink."""
    return features.new_zeros(classes, features.shape[1]).index_add(0, labels, features) / len(labels)


@repair_class_means.mistake()
def zeros_averaged_in(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """One row of zeros too many is averaged in. scatter_reduce with 'mean' counts the row that it starts from
    (unless include_self=False), and adding 1 to every count against 0 / 0 does the same.
    """
    start = features.new_zeros(classes, features.shape[1])
    return start.scatter_reduce(0, labels.unsqueeze(1).expand_as(features), features, "mean")


@repair_class_means.variant(zeros_averaged_in)
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    sums = features.new_zeros(classes, features.shape[1]).index_add(0, labels, features)
    return sums / (torch.bincount(labels, minlength=classes) + 1).unsqueeze(1)


@repair_class_means.mistake()
def graph_cut(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """np.add.at, detach() and .data add correctly, and autograd sees none of it: features that are learned
    get no gradient.
    """
    sums = np.zeros((classes, features.shape[1]), dtype=features.detach().numpy().dtype)
    np.add.at(sums, labels.numpy(), features.detach().numpy())
    return torch.from_numpy(sums) / torch.bincount(labels, minlength=classes).clamp(min=1).unsqueeze(1)


@repair_class_means.mistake()
def default_dtype(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """torch.zeros(...) is float32 whatever the features are; index_add_ refuses a mixture, and a loop or
    scatter that casts by hand loses half of the digits. Use features.new_zeros, or dtype=features.dtype.
    """
    sums = torch.zeros(classes, features.shape[1]).index_add(0, labels, features.float())
    return sums / torch.bincount(labels, minlength=classes).clamp(min=1).unsqueeze(1)
