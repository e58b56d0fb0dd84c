"""What people write for 07.sync_batch_norm: the backward."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from helpers.exercise import returned
from helpers.labs.ddp import sync_batch_norm_mistakes  # noqa: F401  those of the forward come first
from helpers.labs.ddp.sync_batch_norm import sync_batch_norm
from helpers.labs.ddp.sync_batch_norm_right import (
    normaliser,
    others,
    over_channels,
    rows_of,
    slope_of_x,
    summed,
    sums_over_ranks,
)

built = sync_batch_norm.bank(returned)


def _nothing_sent(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    return grad_bias, grad_weight


def _through_scale_only(
    grad_out: Tensor, normal: Tensor, sums: Any, count: Tensor, weight: Tensor, invstd: Tensor
) -> Tensor:
    return over_channels(weight * invstd, normal) * grad_out


@built.mistake()
def no_gradient_through_statistics():
    """Mean and variance count as constants: the gradient is only scaled. But x moves them, and BatchNorm's
    gradient has no part along the mean.
    """
    return normaliser(slope=_through_scale_only, sums_of=_nothing_sent)


sync_batch_norm.variant(no_gradient_through_statistics)(normaliser(slope=_through_scale_only))


def _of_constants(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    with torch.no_grad():
        means, variances, counts = rows_of(x, group)
        count = counts.sum()
        mean = (counts * means).sum(0) / count
        var = (counts * (variances + (means - mean) ** 2)).sum(0) / count
    normal = (x - over_channels(mean, x)) * over_channels((var + eps).rsqrt(), x)
    y = normal * over_channels(weight, x) + over_channels(bias, x)
    return y, mean, var * count / (count - 1), count


sync_batch_norm.variant(no_gradient_through_statistics)(_of_constants)


@built.mistake()
def own_sums_in_backward():
    """The two sums are those of this rank only. A sample on rank 0 moves the statistics with which rank 1
    normalises, so its gradient comes from all ranks: one all-reduce.
    """
    return normaliser(sums_of=_nothing_sent)


sync_batch_norm.variant(own_sums_in_backward)(
    normaliser(sums_of=_nothing_sent, count_of=lambda count, x: x.new_tensor(x.numel() // x.shape[1]))
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


sync_batch_norm.variant(own_sums_in_backward)(_composed(ReducedInPlace))


@built.mistake()
def count_in_the_backward():
    """Autograd sends the gradient of the count, too: 2C + 1 numbers. Nothing depends on it; a backward of
    your own sends the two sums.
    """
    return _composed(Reduced)


@built.mistake()
def own_count_in_backward():
    """The sums over all ranks are divided by this rank's number of values; the means are over the joined
    batch.
    """
    return normaliser(count_of=lambda count, x: x.new_tensor(x.numel() // x.shape[1]))


def _averaged(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    one, other = sums_over_ranks(grad_bias, grad_weight, group)
    return one / dist.get_world_size(group), other / dist.get_world_size(group)


@built.mistake()
def sums_averaged_over_ranks():
    """The sums of the backward are averaged over the ranks, as DDP does with gradients, and then divided by
    count once more.
    """
    return normaliser(sums_of=_averaged)


@built.mistake()
def weight_missing_in_the_gradient():
    """The gradient of x lacks the factor weight: y is normal * weight + bias."""
    return normaliser(
        slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
            grad_out, normal, sums, count, torch.ones_like(weight), invstd
        )
    )


@built.mistake()
def mean_only():
    """The gradient flows through the mean and not through the variance: the second of the two sums is
    missing.
    """
    return normaliser(
        slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
            grad_out, normal, (sums[0], torch.zeros_like(weight)), count, weight, invstd
        )
    )


@built.mistake()
def variance_only():
    """The gradient flows through the variance and not through the mean: the first of the two sums is missing."""
    return normaliser(
        slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
            grad_out, normal, (torch.zeros_like(weight), sums[1]), count, weight, invstd
        )
    )


@built.mistake()
def weight_gradients_reduced():
    """weight and bias get the sums over all ranks, since these are at hand. DDP reduces the gradients of all
    parameters, and these are then counted world times.
    """
    return normaliser(of_parameters=lambda grad_bias, grad_weight, sums, group: sums)


def _reduced_in_place(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    dist.all_reduce(grad_bias, group=group)
    dist.all_reduce(grad_weight, group=group)
    return grad_bias, grad_weight


sync_batch_norm.variant(weight_gradients_reduced)(normaliser(sums_of=_reduced_in_place))


@built.mistake()
def weight_gradients_averaged():
    """weight and bias get the mean over the ranks. That is DDP's work: what it gets here is the same on all
    ranks, and no longer the gradient of this rank's samples.
    """
    return normaliser(
        of_parameters=lambda grad_bias, grad_weight, sums, group: tuple(
            part / dist.get_world_size(group) for part in sums
        )
    )


@built.mistake()
def no_gradient_for_weight_and_bias():
    """backward gives None for weight and bias, so they never learn."""
    return normaliser(of_parameters=lambda grad_bias, grad_weight, sums, group: (None, None))


@built.mistake()
def two_collectives_backward():
    """The two sums travel in two all-reduces. They belong into one tensor of 2C numbers."""
    return normaliser(
        sums_of=lambda grad_bias, grad_weight, group: (summed(grad_bias, group), summed(grad_weight, group))
    )


def _not_waited(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    sums = torch.cat([grad_bias, grad_weight])
    dist.all_reduce(sums, group=group, async_op=True)
    one, other = sums.chunk(2)
    return one.clone(), other.clone()


@built.mistake()
def sums_not_waited_for():
    """The all-reduce of the backward is started with async_op=True and nobody waits: the sums are still those
    of this rank when they are used.
    """
    return normaliser(sums_of=_not_waited)
