"""What people write for 10.repair_accuracy, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.pitfalls.repair_accuracy.exercise import Batch, repair_accuracy
from helpers.labs.pitfalls.shared.repairs import add_pitfalls


def broken(have: set[str]) -> Callable[[list[Batch]], float]:
    """The text's code with some of its pitfalls."""

    def accuracy(batches: list[Batch]) -> float:
        means, sizes = [], []
        for logits, target in batches:
            scores = logits if "all_pairs" in have else logits.squeeze(1)
            right = (scores > (0.5 if "cut_at_one_half" in have else 0)) == target
            means.append(right.double().mean())
            sizes.append(1 if "mean_of_means" in have else len(target))
        return sum(float(mean) * size for mean, size in zip(means, sizes, strict=True)) / sum(sizes)

    return accuracy


add_pitfalls(
    repair_accuracy,
    broken,
    {
        "all_pairs": (
            "(N, 1) == (N,) compares every prediction with every target, N * N of them. A metric has no warning for it, "
            "and the share looks like that of a model that guesses."
        ),
        "mean_of_means": (
            "The mean of the batches' means counts a sample of the small, last batch more than the others. Add up hits "
            "and samples, and divide once."
        ),
        "cut_at_one_half": "0.5 is the border for probabilities. For logits it is 0, as sigmoid(0) is 0.5.",
    },
)


def hits_of(logits: Tensor, target: Tensor) -> int:
    return int(((logits.squeeze(1) > 0).long() == target).sum())


@repair_accuracy.variant("cut_at_one_half")
def _(batches: list[Batch]) -> float:
    hits = sum(int((logits.squeeze(1).clamp(0, 1).round() == target).sum()) for logits, target in batches)
    return hits / sum(len(target) for _, target in batches)


@repair_accuracy.mistake()
def argmax_of_one_column(batches: list[Batch]) -> float:
    """argmax over an axis of length 1 is always 0: it is for one logit a class. With one logit in all, ask
    for its sign.
    """
    hits = sum(int((logits.argmax(1) == target).sum()) for logits, target in batches)
    return hits / sum(len(target) for _, target in batches)


@repair_accuracy.mistake()
def sigmoid_above_zero(batches: list[Batch]) -> float:
    """A sigmoid is above 0 for every logit: all samples are of class 1. Cut the logit at 0, or its sigmoid at
    0.5.
    """
    hits = sum(int(((logits.squeeze(1).sigmoid() > 0).long() == target).sum()) for logits, target in batches)
    return hits / sum(len(target) for _, target in batches)


@repair_accuracy.mistake()
def divided_by_batches(batches: list[Batch]) -> float:
    """len(batches) is the number of batches. The samples are those inside."""
    return sum(hits_of(*pair) for pair in batches) / len(batches)


@repair_accuracy.mistake()
def full_batches_assumed(batches: list[Batch]) -> float:
    """The size of the first batch times their number counts samples that the last batch does not have."""
    return sum(hits_of(*pair) for pair in batches) / (len(batches) * len(batches[0][1]))


@repair_accuracy.mistake()
def last_batch_only(batches: list[Batch]) -> float:
    """`hits = ...` in the loop forgets the batches before; it has to be `+=`."""
    hits, count = 0, 1
    for logits, target in batches:
        hits, count = hits_of(logits, target), len(target)
    return hits / count


@repair_accuracy.mistake()
def whole_division(batches: list[Batch]) -> float:
    """`//` cuts the share down to 0, unless everything is right."""
    return float(sum(hits_of(*pair) for pair in batches) // sum(len(target) for _, target in batches))


@repair_accuracy.mistake()
def tensor_returned(batches: list[Batch]) -> Tensor:
    """A 0-d tensor stays on its device and in the lists that keep it. A float was asked for: `.item()`."""
    return torch.tensor(sum(hits_of(*pair) for pair in batches)) / sum(len(target) for _, target in batches)


@repair_accuracy.mistake()
def errors_counted(batches: list[Batch]) -> float:
    """This is the share of the wrong ones."""
    return 1 - sum(hits_of(*pair) for pair in batches) / sum(len(target) for _, target in batches)


def pairs_compared(border: float, *, over_samples: bool) -> Callable[[list[Batch]], float]:
    """All hits of all pairs, over the number of pairs, or over that of the samples."""

    def accuracy(batches: list[Batch]) -> float:
        equal = [(logits > border) == target for logits, target in batches]
        count = sum(len(pairs) if over_samples else pairs.numel() for pairs in equal)
        return sum(int(pairs.sum()) for pairs in equal) / count

    return accuracy


for _border in (0.0, 0.5):
    repair_accuracy.variant("all_pairs")(pairs_compared(_border, over_samples=False))
    repair_accuracy.variant("all_pairs")(pairs_compared(_border, over_samples=True))
