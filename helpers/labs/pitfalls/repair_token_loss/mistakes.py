"""What people write for 10.repair_token_loss, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.repair_token_loss.exercise import GRADIENT, MEAN, SHOWN, ZERO, repair_token_loss
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
            "The logits of one token are spread over others. Perhaps by view(B, C, T), which draws new borders through "
            "the same numbers: the shape is right, and nothing is raised. transpose(1, 2) moves them.",
            MEAN,
        ),
        "padding_in_the_mean": (
            "The more padding, the smaller the loss. Perhaps the mean is over all tokens: with reduction='none' ignored "
            "targets give 0, and mean() counts these zeros. Divide the sum by the tokens that count.",
            MEAN,
        ),
        "nan_for_nothing": (
            "Where nothing counts the loss is 0 / 0, NaN, as in cross_entropy's own mean: one batch of padding, and the "
            "mean of all losses in your log is NaN. Divide by at least 1.",
            ZERO,
        ),
    },
)


def positions(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    return logits.flatten(0, 1), target.flatten()


def counted(target: Tensor, pad: int) -> Tensor:
    return (target != pad).sum().clamp(min=1)


def summed(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    return F.cross_entropy(*positions(logits, target), ignore_index=pad, reduction="sum")


@repair_token_loss.mistake(breaks=MEAN)
def pad_not_told(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A pad that is the index of a class is trained like one, and counts. Perhaps cross_entropy is not told
    ignore_index, or only -100, or what is negative, is taken for padding.
    """
    return F.cross_entropy(*positions(logits, target), reduction="sum") / counted(target, -100)


@repair_token_loss.variant(pad_not_told)
def _(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    return F.cross_entropy(*positions(logits, target))


@repair_token_loss.mistake(breaks=MEAN)
def pad_not_told_but_counted(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The padding is left out of the count, and its losses are still in the sum. Perhaps ignore_index is not told,
    or told a number other than pad.
    """
    return F.cross_entropy(*positions(logits, target), reduction="sum") / counted(target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def mean_of_sequence_means(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A token of a short sequence counts more than others. Perhaps the mean of each sequence is taken first, and of
    those a mean.
    """
    losses = F.cross_entropy(logits.transpose(1, 2), target, ignore_index=pad, reduction="none")
    return (losses.sum(1) / (target != pad).sum(1).clamp(min=1)).mean()


@repair_token_loss.mistake(breaks=MEAN)
def padding_taken_for_the_end(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Padding at the end is right, and padding between other tokens is not. Perhaps each sequence is cut after as
    many tokens as count.
    """
    lengths = (target != pad).sum(1, keepdim=True)
    first = torch.arange(target.shape[1]) < lengths
    return summed(logits[first].unsqueeze(0), target[first].unsqueeze(0), -100) / counted(target, pad)


@repair_token_loss.variant(padding_taken_for_the_end)
def _(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    first = torch.arange(target.shape[1]) < (target != pad).sum(1, keepdim=True)
    losses = F.cross_entropy(logits.mT, target, ignore_index=pad, reduction="none")
    return losses[first].sum() / counted(target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def sum_for_mean(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """This is the sum over the tokens: it grows with their number, and the step with it."""
    return summed(logits, target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def summed_over_tokens(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """This is the loss of a sequence, not of a token: long sequences cost more. Perhaps the sum is divided by the
    batch size.
    """
    return summed(logits, target, pad) / len(target)


@repair_token_loss.mistake(breaks=MEAN)
def softmax_first(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The loss is that of a model full of doubt. Perhaps cross_entropy gets a softmax: it takes logits, and a softmax
    before it flattens them.
    """
    return summed(logits.softmax(-1), target, pad) / counted(target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def targets_in_another_order(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Each token is compared with the target of a different one. Perhaps the logits were flattened sequence by sequence,
    the targets token by token: the counts agree, the pairs do not.
    """
    rows, goals = positions(logits, target.T)
    return F.cross_entropy(rows, goals, ignore_index=pad, reduction="sum") / counted(target, pad)


@repair_token_loss.mistake(breaks=GRADIENT)
def graph_cut(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The value is right, and nothing is trained: the loss has no graph. Perhaps the logits are detached, or a new
    tensor was made of the loss's number.
    """
    return torch.tensor(summed(logits, target, pad).item() / counted(target, pad).item(), dtype=logits.dtype)


@repair_token_loss.mistake(breaks=SHOWN)
def nan_to_0(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A NaN among the logits that count makes the loss 0. Perhaps nan_to_num mends the 0 / 0 of a batch of padding:
    it hides every other NaN, too. Mend the divisor, not the quotient.
    """
    return F.cross_entropy(logits.mT, target, ignore_index=pad).nan_to_num(0.0)


@repair_token_loss.variant(nan_to_0)
def _(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    loss = F.cross_entropy(logits.mT, target, ignore_index=pad)
    return torch.zeros_like(loss) if loss.isnan() else loss


@repair_token_loss.mistake(breaks=SHOWN)
def nan_left_out(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Logits of a token that counts are NaN, and the loss is a number like any other. Perhaps by nan_to_num of the
    logits or of the single losses, or by nansum.
    """
    losses = F.cross_entropy(logits.mT, target, ignore_index=pad, reduction="none")
    return losses.nan_to_num().sum() / counted(target, pad)


@repair_token_loss.mistake(breaks="of the dtype of the logits")
def float64_comes_out(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """From float32 a float64 comes out. Perhaps the logits or the count are float64, and the loss is not brought
    back.
    """
    return summed(logits.double(), target, pad) / counted(target, pad)


@repair_token_loss.mistake(breaks="of the dtype of the logits")
def default_dtype_for_nothing(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Where nothing counts the dtype differs from that of all other losses. Perhaps a torch.zeros(...) stands for
    the loss of an empty batch: say its dtype.
    """
    if not (target != pad).any():
        return torch.zeros(())
    return summed(logits, target, pad) / counted(target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def free_tokens_not_counted(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A token that costs nothing is not counted, and the mean gets too large: the better the model, the more so.
    Perhaps the losses that differ from 0 are counted: count the targets that differ from pad.
    """
    losses = F.cross_entropy(logits.mT, target, ignore_index=pad, reduction="none")
    return losses.sum() / (losses != 0).sum().clamp(min=1)


@repair_token_loss.mistake(breaks=MEAN)
def shifted(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Each token is compared with the target of the next place, and the first target is left out. Perhaps the shift of
    language models was taken over: here logits and target belong together place by place.
    """
    logits, target = logits[:, :-1], target[:, 1:]
    return summed(logits, target, pad) / counted(target, pad)


def kept_only(logits: Tensor, target: Tensor, kept: Tensor) -> Tensor:
    losses = F.cross_entropy(logits.mT, target.clamp(min=0), reduction="none")
    return losses.where(kept, 0).sum() / kept.sum().clamp(min=1)


@repair_token_loss.mistake(breaks=MEAN)
def class_0_not_counted(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A token whose target is class 0 does not count. Perhaps `target > 0` stands for `target != pad`: pad is what the
    argument says, and 0 is a class.
    """
    return kept_only(logits, target, target > 0)


@repair_token_loss.mistake(breaks=MEAN)
def ends_with_the_first_pad(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Padding at the end is right, and what stands behind a pad in the middle does not count. Perhaps each sequence is
    cut at its first pad: here padding may stand at any place.
    """
    return kept_only(logits, target, (target == pad).cumsum(1) == 0)


@repair_token_loss.mistake(breaks=MEAN)
def one_added_to_the_count(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The sum is divided by one too many. Perhaps 1 was added to the count against 0 / 0: it makes every loss too small.
    Use clamp(min=1).
    """
    return summed(logits, target, pad) / ((target != pad).sum() + 1)


@repair_token_loss.mistake(breaks=MEAN)
def softmax_over_the_tokens(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """The probabilities of one class sum to 1 over the tokens. Perhaps log_softmax got dim=1: the classes lie along
    dim=-1.
    """
    learned = logits.log_softmax(1).flatten(0, 1)
    return F.nll_loss(learned, target.flatten(), ignore_index=pad, reduction="sum") / counted(target, pad)


@repair_token_loss.mistake(breaks="of the dtype of the logits")
def float32_comes_out(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """From float64 a float32 comes out, and half of the digits are lost. Perhaps the logits are converted by .float()."""
    return summed(logits.float(), target, pad) / counted(target, pad)


@repair_token_loss.mistake(breaks="Returns a tensor of no dimensions")
def number_for_nothing(logits: Tensor, target: Tensor, pad: int) -> Any:
    """Where nothing counts a Python number comes back, and a tensor otherwise: its backward() is missing. Perhaps
    `return 0.0`: logits.new_zeros(()) is a tensor.
    """
    if not (target != pad).any():
        return 0.0
    return summed(logits, target, pad) / counted(target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def minus_100_counted(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Where pad is a class, padding costs nothing, and it is in the count all the same. Perhaps the count asks which
    targets differ from -100, and not from pad.
    """
    return summed(logits, target, pad) / counted(target, -100)


@repair_token_loss.mistake(breaks=MEAN)
def class_of_the_pad_taken_out(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Where pad is a class, it gets no probability, and the tokens that count cost less. Perhaps its logits are set to
    -inf, or its column is left out: pad marks targets, and the softmax runs over all classes.
    """
    if 0 <= pad < logits.shape[-1]:
        logits = logits.index_fill(-1, torch.tensor([pad]), float("-inf"))
    return summed(logits, target, pad) / counted(target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def padding_left_out_too_late(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A pad that no class has, as -1, ends the call with an error. Perhaps a loss is computed for the padding, too, and
    left out afterwards: without ignore_index cross_entropy knows no negative index but -100.
    """
    losses = F.cross_entropy(logits.mT, target, reduction="none")
    return losses.where(target != pad, 0).sum() / counted(target, pad)


@repair_token_loss.mistake(breaks=MEAN)
def pad_beyond_the_classes(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """A pad above all classes, as 50 of 4, ends the call with an error, and a negative one is right. Perhaps clamp(min=0)
    brings the targets into range before a class is picked: that leaves 50. ignore_index, or masked_fill, takes any pad.
    """
    kept = target != pad
    losses = F.cross_entropy(logits.mT, target.clamp(min=0), reduction="none")
    return losses.where(kept, 0).sum() / kept.sum().clamp(min=1)


@repair_token_loss.variant(pad_beyond_the_classes)
def _(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    kept = target != pad
    picked = logits.log_softmax(-1).gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return -picked.where(kept, 0).sum() / kept.sum().clamp(min=1)


@repair_token_loss.mistake(breaks=MEAN)
def padding_made_class_1(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """With a single class the call ends with an error. Perhaps the targets of padding are replaced by 1, to pick a
    class there, too, and leave it out afterwards: of one class there is only 0, which is always a class.
    """
    kept = target != pad
    losses = F.cross_entropy(logits.mT, target.masked_fill(~kept, 1), reduction="none")
    return losses.where(kept, 0).sum() / kept.sum().clamp(min=1)


@repair_token_loss.variant(padding_made_class_1)
def _(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    kept = target != pad
    picked = logits.log_softmax(-1).gather(-1, target.where(kept, 1).unsqueeze(-1)).squeeze(-1)
    return -picked.where(kept, 0).sum() / kept.sum().clamp(min=1)
