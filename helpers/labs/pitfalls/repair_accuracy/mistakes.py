"""What people write for 10.repair_accuracy, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.pitfalls.repair_accuracy.exercise import BORDER, EACH, SHARE, Batch, repair_accuracy
from helpers.labs.pitfalls.shared.repairs import add_pitfalls

EXACTLY = "Hits are counted exactly, also those of bfloat16 logits."
FLOAT = "Returns a Python float from 0 to 1."


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
            "The share is that of all pairs of a prediction and a target, N * N of them, and looks like that of a model "
            "that guesses. Perhaps (N, 1) == (N,) is compared: a metric has no warning for it.",
            SHARE,
        ),
        "mean_of_means": (
            "A sample of the small, last batch counts more than the others. Perhaps the shares of the batches are "
            "averaged. Add up hits and samples, and divide once.",
            EACH,
        ),
        "cut_at_one_half": (
            "Logits between 0 and 0.5 are taken for class 0. Perhaps they are cut at 0.5, which is the border for "
            "probabilities, or rounded: for logits it is 0, as sigmoid(0) is 0.5.",
            BORDER,
        ),
    },
)


def hits_of(logits: Tensor, target: Tensor) -> int:
    return int(((logits.squeeze(1) > 0).long() == target).sum())


def shares_of(right: Callable[[Tensor, Tensor], Tensor]) -> Callable[[list[Batch]], float]:
    """An answer that asks right(logits of shape (N,), target), and is right otherwise."""

    def accuracy(batches: list[Batch]) -> float:
        hits = sum(int(right(logits.squeeze(1), target).sum()) for logits, target in batches)
        return hits / sum(len(target) for _, target in batches)

    return accuracy


compared = repair_accuracy.bank(shares_of)


@compared.variant("cut_at_one_half")
def _(logits: Tensor, target: Tensor) -> Tensor:
    return logits.clamp(0, 1).round() == target


@compared.mistake(breaks=BORDER)
def zero_is_class_1(logits: Tensor, target: Tensor) -> Tensor:
    """A logit of exactly 0 is taken for class 1. Perhaps `>= 0` stands there: dead units give a 0 more often than
    one thinks.
    """
    return (logits >= 0) == target


@compared.variant(zero_is_class_1)
def _(logits: Tensor, target: Tensor) -> Tensor:
    return (logits.sigmoid() >= 0.5) == target


@compared.mistake(breaks=BORDER)
def rounded_first(logits: Tensor, target: Tensor) -> Tensor:
    """Logits a little below 0 are taken for class 1. Perhaps the logits are rounded before they are cut, or they
    are cut below 0.
    """
    return (logits.round() >= 0) == target


@compared.variant(rounded_first)
def _(logits: Tensor, target: Tensor) -> Tensor:
    return (logits > -0.5) == target


@compared.mistake(breaks=SHARE)
def signs_compared(logits: Tensor, target: Tensor) -> Tensor:
    """No sample of class 0 is ever right. Perhaps the sign of the logit, -1 or 1, is compared with the targets 0
    and 1, or only samples of class 1 are counted.
    """
    return logits.sign() == target


@repair_accuracy.mistake(breaks=SHARE)
def argmax_of_one_column(batches: list[Batch]) -> float:
    """All samples are taken for class 0. Perhaps by argmax, which is always 0 over an axis of length 1: it is for
    one logit a class. With one logit in all, ask for its sign.
    """
    hits = sum(int((logits.argmax(1) == target).sum()) for logits, target in batches)
    return hits / sum(len(target) for _, target in batches)


@compared.mistake(breaks=SHARE)
def sigmoid_above_zero(logits: Tensor, target: Tensor) -> Tensor:
    """All samples are taken for class 1. Perhaps the sigmoid is cut at 0, and it is above 0 for every logit, or the logits
    are made bools, and each but 0 is True: cut the logit at 0, or its sigmoid at 0.5.
    """
    return (logits.sigmoid() > 0) == target


@repair_accuracy.mistake(breaks=SHARE)
def divided_by_batches(batches: list[Batch]) -> float:
    """The hits are divided by the number of batches. The samples are those inside."""
    return sum(hits_of(*pair) for pair in batches) / len(batches)


@repair_accuracy.mistake(breaks=EACH)
def full_batches_assumed(batches: list[Batch]) -> float:
    """Samples are counted that the last batch does not have. Perhaps the size of the first batch is multiplied by
    the number of batches.
    """
    return sum(hits_of(*pair) for pair in batches) / (len(batches) * len(batches[0][1]))


@repair_accuracy.mistake(breaks=SHARE)
def last_batch_only(batches: list[Batch]) -> float:
    """The share is that of the last batch alone. Perhaps `hits = ...` in the loop forgets the batches before: it
    has to be `+=`.
    """
    hits, count = 0, 1
    for logits, target in batches:
        hits, count = hits_of(logits, target), len(target)
    return hits / count


@repair_accuracy.mistake(breaks=SHARE)
def first_batch_only(batches: list[Batch]) -> float:
    """The share is that of the first batch alone. Perhaps `return` stands inside the loop."""
    logits, target = batches[0]
    return hits_of(logits, target) / len(target)


@repair_accuracy.mistake(breaks=SHARE)
def whole_division(batches: list[Batch]) -> float:
    """The share is 0, and most samples are right. Perhaps `//` or int() cuts it down, or what is compared with the
    targets is never exactly 0 or 1.
    """
    return float(sum(hits_of(*pair) for pair in batches) // sum(len(target) for _, target in batches))


@repair_accuracy.mistake(breaks=EXACTLY)
def counted_in_the_dtype_of_the_logits(batches: list[Batch]) -> float:
    """Of many samples in bfloat16 the share is off. Perhaps hits are added up, or averaged, in the dtype of the
    logits: from 256 on bfloat16 has no odd numbers. Compare, and count the bools.
    """
    hits = sum(((logits[:, 0] > 0) == target).to(logits.dtype).sum().double() for logits, target in batches)
    return float(hits) / sum(len(target) for _, target in batches)


@repair_accuracy.variant(counted_in_the_dtype_of_the_logits)
def _(batches: list[Batch]) -> float:
    shares = [((logits[:, 0] > 0) == target).to(logits.dtype).mean().item() for logits, target in batches]
    sizes = [len(target) for _, target in batches]
    return sum(share * size for share, size in zip(shares, sizes, strict=True)) / sum(sizes)


@repair_accuracy.mistake(breaks=FLOAT)
def tensor_returned(batches: list[Batch]) -> Tensor:
    """A tensor comes back: it stays on its device and in the lists that keep it. A float was asked for. Perhaps
    `.item()` is missing.
    """
    return torch.tensor(sum(hits_of(*pair) for pair in batches)) / sum(len(target) for _, target in batches)


@repair_accuracy.mistake(breaks=SHARE)
def errors_counted(batches: list[Batch]) -> float:
    """This is the share of the wrong ones. Perhaps `!=` stands where `==` belongs."""
    return 1 - sum(hits_of(*pair) for pair in batches) / sum(len(target) for _, target in batches)


@repair_accuracy.mistake(breaks=FLOAT)
def percent(batches: list[Batch]) -> float:
    """The share is a hundred times too large. Perhaps percent were meant; a share lies between 0 and 1."""
    return 100 * sum(hits_of(*pair) for pair in batches) / sum(len(target) for _, target in batches)


def pairs_compared(border: float, *, over_samples: bool) -> Callable[[list[Batch]], float]:
    """All hits of all pairs, over the number of pairs, or over that of the samples."""

    def accuracy(batches: list[Batch]) -> float:
        equal = [(logits > border) == target for logits, target in batches]
        count = sum(len(pairs) if over_samples else pairs.numel() for pairs in equal)
        return sum(int(pairs.sum()) for pairs in equal) / count

    return accuracy


@repair_accuracy.mistake(breaks=FLOAT)
def pairs_over_samples(batches: list[Batch]) -> float:
    """The share is above 1: all pairs of a prediction and a target are counted, and divided by the samples.
    Perhaps (N, 1) == (N,) is compared, which makes N * N pairs.
    """
    return pairs_compared(0.0, over_samples=True)(batches)


for _border in (0.0, 0.5):
    repair_accuracy.variant("all_pairs")(pairs_compared(_border, over_samples=False))

repair_accuracy.variant("pairs_over_samples")(pairs_compared(0.5, over_samples=True))


@compared.mistake(breaks=BORDER)
def nan_is_class_1(logits: Tensor, target: Tensor) -> Tensor:
    """A logit that is NaN is taken for class 1. Perhaps class 1 is all that is not `<= 0`: no comparison with NaN
    holds, and its contrary always does.
    """
    return ~(logits <= 0) == target


@repair_accuracy.mistake(breaks=SHARE)
def share_rounded(batches: list[Batch]) -> float:
    """The share has two digits behind the point, and the others are lost. Perhaps it was rounded to be printed:
    round where it is shown.
    """
    return round(sum(hits_of(*pair) for pair in batches) / sum(len(target) for _, target in batches), 2)


@repair_accuracy.mistake(breaks=EACH)
def last_batch_dropped(batches: list[Batch]) -> float:
    """The samples of the small, last batch do not count. Perhaps it is left out, as drop_last=True does in training:
    a metric counts all.
    """
    full = [pair for pair in batches if len(pair[1]) == len(batches[0][1])]
    return sum(hits_of(*pair) for pair in full) / sum(len(target) for _, target in full)


@repair_accuracy.variant(counted_in_the_dtype_of_the_logits)
def _(batches: list[Batch]) -> float:
    hits = torch.zeros((), dtype=batches[0][0].dtype)
    for logits, target in batches:
        for right in ((logits[:, 0] > 0) == target).to(hits.dtype):
            hits += right
    return float(hits) / sum(len(target) for _, target in batches)


@repair_accuracy.mistake(breaks=SHARE)
def one_added_to_the_count(batches: list[Batch]) -> float:
    """The hits are divided by one sample too many. Perhaps the count begins at 1 against 0 / 0: here are one batch or more."""
    return sum(hits_of(*pair) for pair in batches) / (1 + sum(len(target) for _, target in batches))
