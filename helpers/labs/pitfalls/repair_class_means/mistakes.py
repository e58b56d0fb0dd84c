"""What people write for 10.repair_class_means, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from helpers.labs.pitfalls.repair_class_means.exercise import (
    GRADIENT,
    MEAN,
    SHAPE,
    ZEROS,
    repair_class_means,
)
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
            "Of several samples of one class only one is in the sum. Perhaps `sums[labels] += features`, or `=`: it "
            "writes a row for each sample, and the last write of a class stays. index_add_ adds each of them.",
            MEAN,
        ),
        "counted_once": (
            "These are the sums of the classes: they are divided by 1, or by nothing. Perhaps they are not divided, "
            "or `counts[labels] += 1` counts: it reads each count once, so none gets higher than 1. bincount counts.",
            MEAN,
        ),
        "chained_write": (
            "A class without samples has 0 / 0, NaN. Perhaps nothing mends it, or `means[counts == 0][:] = 0` was "
            "to: a mask in brackets makes a copy, and the second pair writes into it. One pair, or counts.clamp(min=1).",
            ZEROS,
        ),
    },
)


def zeros_of(features: Tensor, classes: int) -> Tensor:
    return features.new_zeros(classes, features.shape[1])


def sums_of(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    return zeros_of(features, classes).index_add(0, labels, features)


def counts_of(labels: Tensor, classes: int) -> Tensor:
    return torch.bincount(labels, minlength=classes).unsqueeze(1)


def right(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    return sums_of(features, labels, classes) / counts_of(labels, classes).clamp(min=1)


@repair_class_means.variant("duplicates_lost")
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    sums = zeros_of(features, classes).index_put((labels,), features)
    return sums / counts_of(labels, classes).clamp(min=1)


@repair_class_means.variant("chained_write")
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    return sums_of(features, labels, classes) / counts_of(labels, classes)


@repair_class_means.mistake(breaks=SHAPE)
def present_classes_only(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A class that does not occur has no row, and all rows behind it move up. Perhaps the classes are taken from
    unique().
    """
    return torch.stack([features[labels == label].mean(0) for label in labels.unique()])


@repair_class_means.mistake(breaks=SHAPE)
def highest_class_unknown(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The rows end with the highest label that occurs. Perhaps by bincount without minlength, or labels.max() + 1:
    the number of classes is then that of the batch.
    """
    counts = torch.bincount(labels)
    return sums_of(features, labels, len(counts)) / counts.clamp(min=1).unsqueeze(1)


@repair_class_means.mistake(breaks=MEAN)
def divided_by_the_batch(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The sum of a class is divided by the size of the batch, so rare classes shrink. It belongs over its own count."""
    return sums_of(features, labels, classes) / len(labels)


@repair_class_means.variant("counted_once")
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    return sums_of(features, labels, classes)


@repair_class_means.mistake(breaks=MEAN)
def zeros_averaged_in(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """One row of zeros too many is averaged in. Perhaps by scatter_reduce with 'mean', which counts the row that it
    starts from (unless include_self=False), or by adding 1 to every count against 0 / 0.
    """
    start = zeros_of(features, classes)
    return start.scatter_reduce(0, labels.unsqueeze(1).expand_as(features), features, "mean")


@repair_class_means.variant(zeros_averaged_in)
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    return sums_of(features, labels, classes) / (counts_of(labels, classes) + 1)


@repair_class_means.mistake(breaks="The arguments are left as they are.")
def features_edited(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The caller's tensors hold other numbers after the call. Perhaps the features are divided in place before they
    are added up.
    """
    features.data.div_(counts_of(labels, classes)[labels])
    return sums_of(features, labels, classes)


@repair_class_means.mistake(breaks=GRADIENT)
def graph_cut(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The means are right, and features that are learned get no gradient. Perhaps NumPy, detach() or .data adds, or
    all stands under no_grad: autograd sees none of it.
    """
    sums = np.zeros((classes, features.shape[1]), dtype=features.detach().numpy().dtype)
    np.add.at(sums, labels.numpy(), features.detach().numpy())
    return torch.from_numpy(sums) / torch.bincount(labels, minlength=classes).clamp(min=1).unsqueeze(1)


@repair_class_means.mistake(breaks="A NaN among the features of a class is not hidden")
def nan_to_0(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A NaN among the features of a class comes out as 0. Perhaps nan_to_num, or a question for NaN, mends the
    0 / 0 of the empty classes: it hides every other NaN, too. Mend the divisor, not the quotient.
    """
    return torch.nan_to_num(sums_of(features, labels, classes) / counts_of(labels, classes))


@repair_class_means.variant(nan_to_0)
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    means = sums_of(features, labels, classes) / counts_of(labels, classes)
    return torch.where(means.isnan(), 0.0, means)


@repair_class_means.mistake(breaks="A NaN among the features of a class is not hidden")
def nan_left_out(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A sample with NaN is left out of its class, or counts as 0, and the mean looks like any other. Perhaps by
    nanmean, or nan_to_num of the features.
    """
    return right(torch.nan_to_num(features), labels, classes)


@repair_class_means.variant(nan_left_out)
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    rows = [features[labels == label].nanmean(0) for label in range(classes)]
    return torch.stack(rows).nan_to_num()


@repair_class_means.mistake(breaks="of the dtype of the features")
def default_dtype(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """From float64 a float32 comes out, and half of the digits are lost. Perhaps torch.zeros(...) begins the sums,
    which is float32 whatever the features are, or .float() converts. Use features.new_zeros, or dtype=features.dtype.
    """
    return right(features.float(), labels, classes)


@repair_class_means.mistake(breaks="of the dtype of the features")
def float64_comes_out(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """From float32 a float64 comes out. Perhaps the sums or the counts are float64, and the means are not brought
    back.
    """
    return right(features.double(), labels, classes)


@repair_class_means.mistake(breaks=MEAN)
def zeros_not_counted(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A feature that is exactly 0 does not count as a sample, and the mean gets too large. Perhaps the entries that
    differ from 0 are counted: count the labels.
    """
    counts = zeros_of(features, classes).index_add(0, labels, (features != 0).to(features.dtype))
    return sums_of(features, labels, classes) / counts.clamp(min=1)


@repair_class_means.mistake(breaks=MEAN)
def counted_in_a_byte(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The mean of few samples is right, and that of 300 is far too large. Perhaps the counts are uint8, which begins
    at 0 again after 255. bincount gives int64.
    """
    counts = torch.zeros(classes, dtype=torch.uint8).index_add(0, labels, torch.ones_like(labels).byte())
    return sums_of(features, labels, classes) / counts.clamp(min=1).unsqueeze(1)


@repair_class_means.mistake(breaks=SHAPE)
def transposed(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """This is the transpose: a row for each feature. A row for each class was asked for."""
    return right(features, labels, classes).T.clone()


@repair_class_means.mistake(breaks=ZEROS)
def mean_of_all_for_nothing(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A class without samples gets the mean of all samples, and zeros were asked for. Perhaps it is to be a guess:
    whoever reads the means cannot see that there was nothing.
    """
    empty = counts_of(labels, classes) == 0
    return torch.where(empty, features.mean(0), right(features, labels, classes))


@repair_class_means.mistake(breaks=MEAN)
def taken_in_order(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The rows are shared out in the order in which they came, whatever their labels are. Perhaps split by the counts
    cuts features that nobody sorted.
    """
    counts = torch.bincount(labels, minlength=classes).tolist()
    return torch.stack([row.sum(0) / max(len(row), 1) for row in features.split(counts)])


@repair_class_means.variant(features_edited)
def _(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    order = labels.argsort()
    labels.copy_(labels[order])
    return right(features[order], labels, classes)


@repair_class_means.mistake(breaks=MEAN)
def taken_for_sorted(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Of a class whose samples stand at several places only the last place is in the mean. Perhaps the labels are taken
    for sorted, as by unique_consecutive: they come in any order.
    """
    means = [features.new_zeros(features.shape[1])] * classes
    values, counts = labels.unique_consecutive(return_counts=True)
    for value, part in zip(values.tolist(), features.split(counts.tolist()), strict=True):
        means[value] = part.mean(0)
    return torch.stack(means)


@repair_class_means.mistake(breaks=SHAPE)
def counts_end_early(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Where the last classes have no samples, the sizes of two tensors do not fit. Perhaps bincount is not told
    minlength=classes: its counts end with the highest label that occurs.
    """
    return sums_of(features, labels, classes) / torch.bincount(labels).clamp(min=1).unsqueeze(1)
