"""What people write for 10.repair_masked_mean, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.pitfalls.repair_masked_mean.exercise import (
    GRADIENT,
    LEFT,
    MEAN,
    PADDING,
    SHAPE,
    SHOWN,
    ZEROS,
    repair_masked_mean,
)
from helpers.labs.pitfalls.shared.repairs import add_pitfalls


def broken(have: set[str]) -> Callable[[Tensor, Tensor], Tensor]:
    """The text's code with some of its pitfalls."""

    def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
        rows = x if "zero_times_nan" in have else x.masked_fill(~mask.unsqueeze(-1), 0)
        total = mask.to(x.dtype).unsqueeze(1) @ rows
        total = total.squeeze() if "squeeze_eats_batch" in have else total.squeeze(1)
        if "padding_counted" in have:
            return total / x.shape[1]
        counts = mask.sum(1)
        if "nan_for_nothing" not in have:
            counts = counts.clamp(min=1)
        return (total.reshape(len(x), -1) / counts.unsqueeze(1)).reshape(total.shape)

    return masked_mean


add_pitfalls(
    repair_masked_mean,
    broken,
    {
        "padding_counted": (
            "The sum of the rows that count is divided by the whole length. Divide by how many were kept: mask.sum(1).",
            MEAN,
        ),
        "squeeze_eats_batch": (
            "A batch of one sequence loses its batch axis, or one feature its own. Perhaps squeeze() without a dim, which "
            "takes out every axis of length 1. Name the axis: squeeze(1).",
            SHAPE,
        ),
        "zero_times_nan": (
            "What stands in the padding makes the mean NaN, if it is NaN. Perhaps x is multiplied by the "
            "mask: 0 * nan is nan. Fill the padding with masked_fill or where before the sum.",
            PADDING,
        ),
        "nan_for_nothing": (
            "Where nothing counts the mean is 0 / 0, NaN. One empty sequence is enough to make the loss of the batch NaN: "
            "clamp(min=1).",
            ZEROS,
        ),
    },
)


def filled(x: Tensor, mask: Tensor) -> Tensor:
    return x.masked_fill(~mask.unsqueeze(-1), 0)


def right(x: Tensor, mask: Tensor) -> Tensor:
    return filled(x, mask).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake(breaks=LEFT)
def input_edited(x: Tensor, mask: Tensor) -> Tensor:
    """The caller's x holds other numbers after the call; where it is a result of a layer, its backward may need the
    old ones. Perhaps `x[~mask] = 0`: masked_fill makes a new tensor.
    """
    x[~mask] = 0
    return x.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake(breaks=MEAN)
def whole_batch_counted(x: Tensor, mask: Tensor) -> Tensor:
    """Each sum is divided by the number of rows of all sequences. Each sequence has a count of its own: mask.sum(1)."""
    return filled(x, mask).sum(1) / mask.sum().clamp(min=1)


@repair_masked_mean.mistake(breaks=SHAPE)
def one_mean_for_all(x: Tensor, mask: Tensor) -> Tensor:
    """There is one mean for the whole batch. Perhaps x[mask] is averaged: it is one long list of rows, and which
    sequence a row came from is lost.
    """
    return x[mask].mean(0)


@repair_masked_mean.variant(one_mean_for_all)
def _(x: Tensor, mask: Tensor) -> Tensor:
    return x[mask].sum(0) / mask.sum().clamp(min=1)


@repair_masked_mean.mistake(breaks=MEAN)
def mask_inverted(x: Tensor, mask: Tensor) -> Tensor:
    """The mean is that of the padding. Here True means that a row counts; in key_padding_mask of
    nn.MultiheadAttention True means the contrary.
    """
    return filled(x, ~mask).sum(1) / (~mask).sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake(breaks=MEAN)
def mask_not_used(x: Tensor, mask: Tensor) -> Tensor:
    """The mean is that of all rows, the padding among them. Perhaps mask is not looked at."""
    return x.mean(1)


@repair_masked_mean.mistake(breaks=GRADIENT)
def graph_cut(x: Tensor, mask: Tensor) -> Tensor:
    """The means are right, and train nothing below them: they have no graph. Perhaps detach() or .data was taken of
    the rows.
    """
    return right(x.detach(), mask)


@repair_masked_mean.mistake(breaks=GRADIENT)
def zeroed_through_data(x: Tensor, mask: Tensor) -> Tensor:
    """The means are right, and a gradient comes to the padding. Perhaps the zeros were written through .data, or
    under no_grad: the graph knows nothing of them.
    """
    kept = x + 0
    kept.data[~mask] = 0
    return kept.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake(breaks=MEAN)
def one_added_to_the_count(x: Tensor, mask: Tensor) -> Tensor:
    """Each sum is divided by one too many. Perhaps mask.sum(1) + 1 was to avoid 0 / 0: it makes every other mean too
    small.
    """
    return filled(x, mask).sum(1) / (mask.sum(1, keepdim=True) + 1)


@repair_masked_mean.mistake(breaks=SHOWN)
def nan_to_0(x: Tensor, mask: Tensor) -> Tensor:
    """A NaN in a row that counts comes out as the mean 0. Perhaps nan_to_num mends the 0 / 0 of empty sequences: it
    hides every other NaN, too. Mend the divisor, not the quotient.
    """
    return torch.nan_to_num(filled(x, mask).sum(1) / mask.sum(1, keepdim=True))


@repair_masked_mean.variant(nan_to_0)
def _(x: Tensor, mask: Tensor) -> Tensor:
    means = filled(x, mask).sum(1) / mask.sum(1, keepdim=True)
    return torch.where(means.isnan(), 0.0, means)


@repair_masked_mean.mistake(breaks=SHOWN)
def nan_left_out(x: Tensor, mask: Tensor) -> Tensor:
    """A NaN in a row that counts is left out, or counts as 0, and the mean looks like any other. Perhaps nan_to_num,
    nanmean or isfinite is to deal with the padding: it deals with all rows. The mask says which ones count.
    """
    return right(torch.where(x.isfinite(), x, 0.0), mask)


@repair_masked_mean.variant(nan_left_out)
def _(x: Tensor, mask: Tensor) -> Tensor:
    return x.masked_fill(~mask.unsqueeze(-1), float("nan")).nanmean(1).nan_to_num(0.0)


@repair_masked_mean.mistake(breaks="of the dtype of x")
def float64_comes_out(x: Tensor, mask: Tensor) -> Tensor:
    """From float32 a float64 comes out. Perhaps the mask was made float64 to be divided by."""
    return filled(x, mask).sum(1) / mask.double().sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.variant("squeeze_eats_batch")
def _(x: Tensor, mask: Tensor) -> Tensor:
    return (mask.to(x.dtype).unsqueeze(1) @ filled(x, mask)).squeeze() / mask.sum(1, keepdim=True).clamp(
        min=1
    )


@repair_masked_mean.variant("squeeze_eats_batch")
def _(x: Tensor, mask: Tensor) -> Tensor:
    return (mask.to(x.dtype).unsqueeze(1) @ x).squeeze() / mask.sum(1, keepdim=True)


@repair_masked_mean.variant("squeeze_eats_batch")
def _(x: Tensor, mask: Tensor) -> Tensor:
    return (filled(x, mask).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)).squeeze()


@repair_masked_mean.mistake(breaks=PADDING)
def only_nan_mended(x: Tensor, mask: Tensor) -> Tensor:
    """NaN in the padding has no effect, and an infinity there makes the mean NaN. Perhaps only NaN is replaced before x
    is multiplied by the mask: 0 * inf is nan, too.
    """
    kept = mask.unsqueeze(-1)
    return (x.masked_fill(x.isnan() & ~kept, 0) * kept).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake(breaks=SHOWN)
def nan_in_all_sequences(x: Tensor, mask: Tensor) -> Tensor:
    """A NaN that counts in one sequence stands in the means of all. Perhaps all rows are multiplied by one matrix that
    says which sequence a row belongs to: 0 * nan is nan. Sum within each sequence.
    """
    owner = torch.eye(len(x), dtype=x.dtype).repeat_interleave(x.shape[1], 1)
    return owner @ filled(x, mask).flatten(0, 1) / mask.sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake(breaks=MEAN)
def largest_count(x: Tensor, mask: Tensor) -> Tensor:
    """Each sum is divided by the largest count of the batch. Each sequence has a count of its own: mask.sum(1)."""
    return filled(x, mask).sum(1) / mask.sum(1).max().clamp(min=1)


@repair_masked_mean.mistake(breaks=MEAN)
def first_rows(x: Tensor, mask: Tensor) -> Tensor:
    """As many rows are averaged as count, and they are the first ones, not those where the mask is True. Perhaps the
    mask was taken for lengths: here True may stand anywhere.
    """
    counts = mask.sum(1, keepdim=True)
    return right(x, torch.arange(x.shape[1]) < counts)


@repair_masked_mean.mistake(breaks="of the dtype of x")
def float32_comes_out(x: Tensor, mask: Tensor) -> Tensor:
    """From float64 a float32 comes out, and half of the digits are lost. Perhaps x is converted by .float(), or the
    sums begin with torch.zeros(...).
    """
    return right(x.float(), mask)


@repair_masked_mean.mistake(breaks=SHAPE)
def axis_kept(x: Tensor, mask: Tensor) -> Tensor:
    """The means have an axis of length 1 where the rows were. Perhaps keepdim=True keeps it."""
    return right(x, mask).unsqueeze(1)


@repair_masked_mean.mistake(breaks=MEAN)
def little_added_to_the_count(x: Tensor, mask: Tensor) -> Tensor:
    """Every mean is a little too small: its sum is divided by the count and a small number more. Perhaps that number is
    to avoid 0 / 0: clamp(min=1) does, and changes no other mean.
    """
    return filled(x, mask).sum(1) / (mask.sum(1, keepdim=True) + 1e-5)


@repair_masked_mean.variant(little_added_to_the_count)
def _(x: Tensor, mask: Tensor) -> Tensor:
    return filled(x, mask).sum(1) / (mask.sum(1, keepdim=True) + 1e-3)


@repair_masked_mean.mistake(breaks=MEAN)
def features_counted(x: Tensor, mask: Tensor) -> Tensor:
    """Each sum is divided by its count times the number of features. Perhaps the mask was expanded to the shape of x
    before it was counted: count rows, not numbers.
    """
    kept = mask.unsqueeze(-1).expand_as(x)
    return filled(x, mask).sum(1) / kept.sum((1, 2)).clamp(min=1).unsqueeze(1)


@repair_masked_mean.mistake(breaks=MEAN)
def largest_row(x: Tensor, mask: Tensor) -> Tensor:
    """These are the largest numbers among the rows that count, and not their mean. Perhaps max or amax pools them."""
    most = x.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)
    return most.masked_fill(~mask.any(1, keepdim=True), 0.0)


@repair_masked_mean.mistake(breaks=ZEROS)
def all_rows_where_none_counts(x: Tensor, mask: Tensor) -> Tensor:
    """A sequence of which nothing counts has the mean of all its rows, which are padding. Perhaps its mask is turned
    around, or left out, to avoid 0 / 0.
    """
    return right(x, mask | ~mask.any(1, keepdim=True))


@repair_masked_mean.mistake(breaks=ZEROS)
def empty_sequences_left_out(x: Tensor, mask: Tensor) -> Tensor:
    """A sequence of which nothing counts has no mean, and all behind it move up. Perhaps empty sequences are left out
    to avoid 0 / 0: their means are zeros.
    """
    some = mask.any(1)
    return right(x[some], mask[some])


@repair_masked_mean.mistake(breaks=MEAN)
def zeros_not_counted(x: Tensor, mask: Tensor) -> Tensor:
    """Where a row that counts is all zeros, it is left out of the count, and the mean of its sequence is too large. Perhaps
    zeros are taken for padding: the mask alone says what counts.
    """
    return filled(x, mask).sum(1) / (mask & (x != 0).any(-1)).sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.variant(zeros_not_counted)
def _(x: Tensor, mask: Tensor) -> Tensor:
    rows = filled(x, mask)
    return rows.sum(1) / (rows != 0).sum(1).clamp(min=1)


@repair_masked_mean.variant(zeros_not_counted)
def _(x: Tensor, mask: Tensor) -> Tensor:
    return right(x, mask & (x != 0).all(-1))


@repair_masked_mean.mistake(breaks=MEAN)
def mean_count(x: Tensor, mask: Tensor) -> Tensor:
    """Each sum is divided by one number for the whole batch, the mean of the counts. Each sequence has a count of its own:
    mask.sum(1).
    """
    return filled(x, mask).sum(1) / mask.sum(1).to(x.dtype).mean().clamp(min=1)
