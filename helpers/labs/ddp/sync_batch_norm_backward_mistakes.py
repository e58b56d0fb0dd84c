"""What people write for 07.sync_batch_norm: the backward."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from helpers.labs.ddp.sync_batch_norm_mistakes import also, wrong
from helpers.labs.ddp.sync_batch_norm_right import (
    others,
    over_channels,
    rows_of,
    slope_of_x,
    summed,
    sums_over_ranks,
)


def _nothing_sent(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    return grad_bias, grad_weight


def _through_scale_only(
    grad_out: Tensor, normal: Tensor, sums: Any, count: Tensor, weight: Tensor, invstd: Tensor
) -> Tensor:
    return over_channels(weight * invstd, normal) * grad_out


wrong(
    "no_gradient_through_statistics",
    "Mean and variance count as constants: the gradient is only scaled. But x moves them, and BatchNorm's gradient has no part "
    "along the mean.",
    "Mean and variance count as constants",
    slope=_through_scale_only,
    sums_of=_nothing_sent,
)
also("no_gradient_through_statistics", slope=_through_scale_only)


def _of_constants(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    with torch.no_grad():
        means, variances, counts = rows_of(x, group)
        count = counts.sum()
        mean = (counts * means).sum(0) / count
        var = (counts * (variances + (means - mean) ** 2)).sum(0) / count
    normal = (x - over_channels(mean, x)) * over_channels((var + eps).rsqrt(), x)
    y = normal * over_channels(weight, x) + over_channels(bias, x)
    return y, mean, var * count / (count - 1), count


also("no_gradient_through_statistics", answer=_of_constants)

wrong(
    "own_sums_in_backward",
    "The two sums are those of this rank only. A sample on rank 0 moves the statistics with which rank 1 normalises, so its "
    "gradient comes from all ranks: one all-reduce.",
    "A sample on rank 0 moves the statistics",
    sums_of=_nothing_sent,
)
also(
    "own_sums_in_backward",
    sums_of=_nothing_sent,
    count_of=lambda count, x: x.new_tensor(x.numel() // x.shape[1]),
)


class ReducedInPlace(Function):
    """An all-reduce whose backward hands the gradient through, as autograd does with dist.all_reduce on a tensor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        return summed(x, group)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out, None


class Reduced(Function):
    """An all-reduce whose backward is one, too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return summed(x, group)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return summed(grad_out, ctx.group), None


def _composed(reduce: type[Function]) -> Any:
    def sync_batch_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
        own = x.new_tensor([x.numel() // x.shape[1]])
        sums = reduce.apply(torch.cat([x.sum(others(x)), x.square().sum(others(x)), own]), group)
        count = sums[-1].detach()
        mean, square = (sums[:-1] / sums[-1]).chunk(2)
        var = square - mean.square()
        normal = (x - over_channels(mean, x)) * over_channels((var + eps).rsqrt(), x)
        y = normal * over_channels(weight, x) + over_channels(bias, x)
        return y, mean, var * count / (count - 1), count

    return sync_batch_norm


also("own_sums_in_backward", answer=_composed(ReducedInPlace))

wrong(
    "count_in_the_backward",
    "Autograd sends the gradient of the count, too: 2C + 1 numbers. Nothing depends on it; a backward of your own sends the two "
    "sums.",
    "Autograd sends the gradient of the count, too",
    answer=_composed(Reduced),
)

wrong(
    "own_count_in_backward",
    "The sums over all ranks are divided by this rank's number of values; the means are over the joined batch.",
    "are divided by this rank's number of values",
    count_of=lambda count, x: x.new_tensor(x.numel() // x.shape[1]),
)


def _averaged(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    one, other = sums_over_ranks(grad_bias, grad_weight, group)
    return one / dist.get_world_size(group), other / dist.get_world_size(group)


wrong(
    "sums_averaged_over_ranks",
    "The sums of the backward are averaged over the ranks, as DDP does with gradients, and then divided by count once more.",
    "and then divided by count once more",
    sums_of=_averaged,
)
wrong(
    "weight_missing_in_the_gradient",
    "The gradient of x lacks the factor weight: y is normal * weight + bias.",
    "lacks the factor weight",
    slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
        grad_out, normal, sums, count, torch.ones_like(weight), invstd
    ),
)
wrong(
    "mean_only",
    "The gradient flows through the mean and not through the variance: the second of the two sums is missing.",
    "through the mean and not through the variance",
    slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
        grad_out, normal, (sums[0], torch.zeros_like(weight)), count, weight, invstd
    ),
)
wrong(
    "variance_only",
    "The gradient flows through the variance and not through the mean: the first of the two sums is missing.",
    "through the variance and not through the mean",
    slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
        grad_out, normal, (torch.zeros_like(weight), sums[1]), count, weight, invstd
    ),
)
wrong(
    "weight_gradients_reduced",
    "weight and bias get the sums over all ranks, since these are at hand. DDP reduces the gradients of all parameters, and these "
    "are then counted world times.",
    "since these are at hand",
    of_parameters=lambda grad_bias, grad_weight, sums, group: sums,
)


def _reduced_in_place(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    dist.all_reduce(grad_bias, group=group)
    dist.all_reduce(grad_weight, group=group)
    return grad_bias, grad_weight


also("weight_gradients_reduced", sums_of=_reduced_in_place)
wrong(
    "weight_gradients_averaged",
    "weight and bias get the mean over the ranks. That is DDP's work: what it gets here is the same on all ranks, "
    "and no longer the gradient of this rank's samples.",
    "That is DDP's work",
    of_parameters=lambda grad_bias, grad_weight, sums, group: tuple(
        part / dist.get_world_size(group) for part in sums
    ),
)
wrong(
    "no_gradient_for_weight_and_bias",
    "backward gives None for weight and bias, so they never learn.",
    "gives None for weight and bias",
    of_parameters=lambda grad_bias, grad_weight, sums, group: (None, None),
)
wrong(
    "two_collectives_backward",
    "The two sums travel in two all-reduces. They belong into one tensor of 2C numbers.",
    "The two sums travel in two all-reduces",
    sums_of=lambda grad_bias, grad_weight, group: (summed(grad_bias, group), summed(grad_weight, group)),
)


def _not_waited(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    sums = torch.cat([grad_bias, grad_weight])
    dist.all_reduce(sums, group=group, async_op=True)
    one, other = sums.chunk(2)
    return one.clone(), other.clone()


wrong(
    "sums_not_waited_for",
    "The all-reduce of the backward is started with async_op=True and nobody waits: the sums are still those of this rank when "
    "they are used.",
    "and nobody waits",
    sums_of=_not_waited,
)
