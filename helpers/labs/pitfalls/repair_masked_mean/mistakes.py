"""What people write for 10.repair_masked_mean, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from helpers.labs.pitfalls.repair_masked_mean.exercise import repair_masked_mean
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
            "The rows that do not count add 0 to the sum and 1 to the denominator. Divide by how many were kept, "
            "mask.sum(1), not by the length."
        ),
        "squeeze_eats_batch": (
            "squeeze() without a dim takes out every axis of length 1: the last batch, of one sequence, loses its batch "
            "axis. Name the axis: squeeze(1)."
        ),
        "zero_times_nan": (
            "0 * nan is nan, and 0 * inf, too. A mask that is multiplied hides finite numbers only: fill the padding "
            "with masked_fill or where before the sum."
        ),
        "nan_for_nothing": (
            "Where nothing counts the mean is 0 / 0. One empty sequence is enough to make the loss of the batch NaN: "
            "clamp(min=1)."
        ),
    },
)


def filled(x: Tensor, mask: Tensor) -> Tensor:
    return x.masked_fill(~mask.unsqueeze(-1), 0)


@repair_masked_mean.mistake()
def input_edited(x: Tensor, mask: Tensor) -> Tensor:
    """`x[~mask] = 0` writes into the caller's tensor; where x is a result of a layer, its backward may need
    the old numbers. masked_fill makes a new tensor.
    """
    x[~mask] = 0
    return x.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake()
def whole_batch_counted(x: Tensor, mask: Tensor) -> Tensor:
    """mask.sum() counts the kept rows of all sequences. Each sequence has a count of its own: mask.sum(1)."""
    return filled(x, mask).sum(1) / mask.sum().clamp(min=1)


@repair_masked_mean.mistake()
def one_mean_for_all(x: Tensor, mask: Tensor) -> Tensor:
    """x[mask] is one long list of rows: which sequence a row came from is lost, and so is the batch."""
    return x[mask].mean(0)


@repair_masked_mean.variant(one_mean_for_all)
def _(x: Tensor, mask: Tensor) -> Tensor:
    return x[mask].sum(0) / mask.sum().clamp(min=1)


@repair_masked_mean.mistake()
def mask_inverted(x: Tensor, mask: Tensor) -> Tensor:
    """Here True means that a row counts. In key_padding_mask of nn.MultiheadAttention True means the
    contrary: read which one a function wants.
    """
    return filled(x, ~mask).sum(1) / (~mask).sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake()
def graph_cut(x: Tensor, mask: Tensor) -> Tensor:
    """detach() and .data on the rows leave a mean that trains nothing below it."""
    return filled(x.detach(), mask).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@repair_masked_mean.mistake()
def one_added_to_the_count(x: Tensor, mask: Tensor) -> Tensor:
    """mask.sum(1) + 1 avoids 0 / 0, and makes every other mean too small."""
    return filled(x, mask).sum(1) / (mask.sum(1, keepdim=True) + 1)


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
