"""What people write for 10.repair_token_loss, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.repair_token_loss.exercise import repair_token_loss
from helpers.labs.pitfalls.shared.repairs import add_pitfalls

Loss = Callable[[Tensor, Tensor, int], Tensor]


def broken(have: set[str]) -> Loss:
    """The text's code with some of its pitfalls."""

    def token_loss(logits: Tensor, target: Tensor, pad: int) -> Tensor:
        batch, length, classes = logits.shape
        if "view_for_transpose" in have:
            logits = logits.reshape(batch, classes, length)
        else:
            logits = logits.transpose(1, 2)
        losses = F.cross_entropy(logits, target, ignore_index=pad, reduction="none")
        if "padding_in_the_mean" in have:
            return losses.mean()
        count = (target != pad).sum()
        return losses.sum() / (count if "nan_for_nothing" in have else count.clamp(min=1))

    return token_loss


add_pitfalls(
    repair_token_loss,
    broken,
    {
        "view_for_transpose": (
            "view(B, C, T) draws new borders through the same numbers: the logits of one token are spread over others. "
            "The shape is right, and nothing is raised: transpose(1, 2)."
        ),
        "padding_in_the_mean": (
            "With reduction='none' ignored targets give 0, and mean() counts these zeros: the more padding, the smaller "
            "the loss. Divide the sum by the tokens that count."
        ),
        "nan_for_nothing": (
            "The mean over the targets that count is 0 / 0 when there are none, also in cross_entropy's own mean: one batch "
            "of padding makes the whole training NaN."
        ),
    },
)


def positions(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    return logits.flatten(0, 1), target.flatten()


def counted(target: Tensor, pad: int) -> Tensor:
    return (target != pad).sum().clamp(min=1)


@repair_token_loss.mistake()
def pad_not_told(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """cross_entropy ignores -100 unless it is told another index: this pad is trained like a class."""
    return F.cross_entropy(*positions(logits, target), reduction="sum") / counted(target, -100)


@repair_token_loss.variant(pad_not_told)
def _(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    return F.cross_entropy(*positions(logits, target))


@repair_token_loss.mistake()
def pad_not_told_but_counted(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The padding is left out of the count, and its losses are still in the sum: ignore_index is not told."""
    return F.cross_entropy(*positions(logits, target), reduction="sum") / counted(target, pad)


@repair_token_loss.mistake()
def mean_of_sequence_means(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A mean of each sequence first, and of those a mean: a token of a short sequence counts more than
    others.
    """
    losses = F.cross_entropy(logits.transpose(1, 2), target, ignore_index=pad, reduction="none")
    return (losses.sum(1) / (target != pad).sum(1).clamp(min=1)).mean()


@repair_token_loss.mistake()
def sum_for_mean(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The sum grows with the tokens of a batch, and the step with it."""
    return F.cross_entropy(*positions(logits, target), ignore_index=pad, reduction="sum")


@repair_token_loss.mistake()
def summed_over_tokens(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Divided by the batch size this is the loss of a sequence, not of a token: long sequences cost more."""
    return F.cross_entropy(*positions(logits, target), ignore_index=pad, reduction="sum") / len(target)


@repair_token_loss.mistake()
def softmax_first(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """cross_entropy takes logits: a softmax before it flattens them."""
    rows, goals = positions(logits.softmax(-1), target)
    return F.cross_entropy(rows, goals, ignore_index=pad, reduction="sum") / counted(target, pad)


@repair_token_loss.mistake()
def targets_in_another_order(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The logits were flattened sequence by sequence, the targets token by token: the counts agree, the pairs
    do not.
    """
    rows, goals = positions(logits, target.T)
    return F.cross_entropy(rows, goals, ignore_index=pad, reduction="sum") / counted(target, pad)


@repair_token_loss.mistake()
def graph_cut(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A new tensor from the number of the loss has no graph: nothing is trained."""
    total = F.cross_entropy(*positions(logits, target), ignore_index=pad, reduction="sum")
    return torch.tensor(total.item() / counted(target, pad).item(), dtype=logits.dtype)
