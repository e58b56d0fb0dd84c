"""What people write for 07.sync_batch_norm: statistics, y, and what the forward sends."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import batch_norm

from helpers.check.spec import returned
from helpers.labs.ddp.sync_batch_norm.exercise import sync_batch_norm
from helpers.labs.ddp.sync_batch_norm.right import (
    Statistics,
    gathered,
    normaliser,
    others,
    over_channels,
    own_statistics,
    rows_of,
    summed,
)

built = sync_batch_norm.bank(returned)
Y = "y is this rank's part of what `torch.nn.functional.batch_norm(training=True)` gives for the joined batch."
COUNT = "count is how many numbers of the joined batch a channel has: a tensor of one number, or an int."


def _variances_averaged(x: Tensor, group: Any) -> Statistics:
    means, variances, counts = rows_of(x, group)
    share = counts / counts.sum()
    return (share * means).sum(0), (share * variances).sum(0), counts.sum()


@built.mistake(breaks=Y)
def variances_averaged():
    """The variances of the ranks are averaged. What is missing is how far their means lie apart: add (mean_r
    - mean) ** 2.
    """
    return normaliser(statistics=_variances_averaged)


def _plain_averages(x: Tensor, group: Any) -> Statistics:
    means, variances, counts = rows_of(x, group)
    return means.mean(0), variances.mean(0), counts.sum()


def _variance_unweighted(x: Tensor, group: Any) -> Statistics:
    means, variances, counts = rows_of(x, group)
    return (counts * means).sum(0) / counts.sum(), variances.mean(0), counts.sum()


for _statistics in (_plain_averages, _variance_unweighted):
    sync_batch_norm.variant(variances_averaged)(normaliser(statistics=_statistics))
for _statistics in (_variances_averaged, _plain_averages, _variance_unweighted):
    sync_batch_norm.variant(variances_averaged)(
        normaliser(statistics=_statistics, running=lambda var, count: var.clone())
    )


def _unweighted(x: Tensor, group: Any) -> Statistics:
    means, variances, counts = rows_of(x, group)
    mean = means.mean(0)
    return mean, (variances + (means - mean) ** 2).mean(0), counts.sum()


def _unweighted_mean_only(x: Tensor, group: Any) -> Statistics:
    means, variances, counts = rows_of(x, group)
    share, mean = counts / counts.sum(), means.mean(0)
    return mean, (share * (variances + (means - mean) ** 2)).sum(0), counts.sum()


@built.mistake(breaks=Y)
def unweighted_means():
    """The ranks' means are averaged as if all shards were equally long. A rank with one sample counts as much
    as one with a hundred: weight by count.
    """
    return normaliser(statistics=_unweighted)


sync_batch_norm.variant(unweighted_means)(normaliser(statistics=_unweighted_mean_only))


def _unbiased_rows(x: Tensor, group: Any) -> Statistics:
    var, mean = torch.var_mean(x, others(x))
    own = torch.cat([mean, var, x.new_tensor([x.numel() // x.shape[1]])])
    means, variances, counts = gathered(own, group).split([x.shape[1], x.shape[1], 1], 1)
    share = counts / counts.sum()
    mean = (share * means).sum(0)
    return mean, (share * (variances + (means - mean) ** 2)).sum(0), counts.sum()


@built.mistake(breaks=Y)
def unbiased_variances_merged():
    """The ranks' variances are divided by count - 1 before they are merged: too large for several samples,
    NaN for one. Merge those with correction=0.
    """
    return normaliser(statistics=_unbiased_rows)


@built.mistake(
    breaks="mean and var, (C,), are those of the joined batch, as running_mean and running_var take them: var is divided by count - 1."
)
def biased_running_variance():
    """var is divided by count, as the one that y is made with. running_var takes the unbiased one, divided by
    count - 1.
    """
    return normaliser(running=lambda var, count: var.clone())


def _corrected_by_own_count(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    y, mean, var, count = normaliser(running=lambda var, count: var.clone())(x, weight, bias, eps, group)
    own = x.numel() // x.shape[1]
    return y, mean, var * own / max(own - 1, 1), count


@built.mistake(
    breaks="mean and var, (C,), are those of the joined batch, as running_mean and running_var take them: var is divided by count - 1."
)
def unbiased_by_own_count():
    """var is corrected with this rank's own number of samples; it belongs to the joined batch."""
    return _corrected_by_own_count


@built.mistake(breaks="(y is made with the one divided by count.)")
def unbiased_variance_in_y():
    """y is made with the variance divided by count - 1. That one is for running_var only."""
    return normaliser(used=lambda var, count: var * count / (count - 1))


def _own_only(x: Tensor, group: Any) -> Statistics:
    mean, var, count = own_statistics(x)
    return mean, var, count.reshape(())


def _plain_batch_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    mean, var = torch.zeros_like(weight.detach()), torch.zeros_like(weight.detach())
    return batch_norm(x, mean, var, weight, bias, True, 1.0, eps), mean, var, x.numel() // x.shape[1]


@built.mistake(breaks=Y)
def own_shard_only():
    """Each rank normalises with the statistics of its own shard: BatchNorm as it is under DDP, where nothing
    is joined.
    """
    return normaliser(
        statistics=_own_only, sums_of=lambda grad_bias, grad_weight, group: (grad_bias, grad_weight)
    )


def _plain_batch_norm_in_python(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None
) -> Any:
    var, mean = torch.var_mean(x, others(x), correction=0)
    count = x.numel() // x.shape[1]
    normal = (x - over_channels(mean, x)) * over_channels((var + eps).rsqrt(), x)
    y = normal * over_channels(weight, x) + over_channels(bias, x)
    return y, mean, var * count / max(count - 1, 1), count


sync_batch_norm.variant(own_shard_only)(_plain_batch_norm_in_python)
sync_batch_norm.variant(own_shard_only)(_plain_batch_norm)


@built.mistake(breaks=COUNT)
def count_of_own_shard():
    """count is that of this rank; it has to be the number of values on all ranks together."""
    return normaliser(count_given=lambda count, x: x.numel() // x.shape[1])


@built.mistake(breaks=COUNT)
def samples_counted():
    """count is the number of samples. In images a channel has a value at each pixel: x.numel() / C."""
    return normaliser(count_given=lambda count, x: count * x.shape[0] * x.shape[1] / x.numel())


def _pixels_not_counted(x: Tensor, group: Any) -> Statistics:
    means, variances, counts = rows_of(x, group)
    share, pixels = counts / counts.sum(), x.numel() // x.shape[1] // len(x)
    mean = (share * means).sum(0)
    return mean, (share * (pixels * variances + (means - mean) ** 2)).sum(0), counts.sum()


@built.mistake(breaks=Y)
def pixels_not_counted():
    """For x of shape (N, C) all is right, and for images y is not. Perhaps the sums over all pixels are divided by how many
    samples there are: a channel has x.numel() / C numbers.
    """
    return normaliser(statistics=_pixels_not_counted)


def _equal_shards_assumed(x: Tensor, group: Any) -> Statistics:
    mean, var, count = own_statistics(x)
    world = dist.get_world_size(group)
    mean, square = (summed(torch.cat([mean, var + mean**2, count]), group)[:-1] / world).chunk(2)
    return mean, square - mean**2, (count * world).reshape(())


# The number of values is own count times world, and the sums are divided by world.
sync_batch_norm.variant(unweighted_means)(normaliser(statistics=_equal_shards_assumed))


@built.mistake(breaks="Batch normalisation of training, over the joined batch of all ranks of the group.")
def default_group():
    """Ranks of a different group, which train a different model, come into the statistics. Perhaps the group
    is not looked at.
    """
    return lambda x, weight, bias, eps, group=None: normaliser()(x, weight, bias, eps, None)


@built.mistake(breaks=Y)
def eps_outside_of_the_root():
    """eps is added to the standard deviation. BatchNorm adds it to the variance, under the root."""
    return normaliser(invstd_of=lambda var, eps: 1 / (var.sqrt() + eps))


@built.mistake(breaks=Y)
def eps_forgotten():
    """eps is nowhere: a channel that is constant divides by zero."""
    return normaliser(invstd_of=lambda var, eps: var.rsqrt())


@built.mistake(breaks=Y)
def weight_and_bias_forgotten():
    """y is normalised, but weight and bias are not applied."""
    return normaliser(affine=lambda normal, weight, bias: normal.clone())


def _two_passes(x: Tensor, group: Any) -> Statistics:
    channels, own = x.shape[1], x.numel() // x.shape[1]
    first = summed(torch.cat([x.sum(others(x)), x.new_tensor([own])]), group)
    count = first[channels]
    mean = first[:channels] / count
    squares = summed(((x - over_channels(mean, x)) ** 2).sum(others(x)), group)
    return mean, squares / count, count


@built.mistake(breaks="In the forward each rank calls ONE collective, of 2C + 1 numbers")
def two_passes():
    """The forward calls two collectives, of about C numbers each: two round trips a layer. Perhaps first the
    mean is exchanged, then the squared distances from it. Mean, variance and count of each shard can travel
    together, and be merged.
    """
    return normaliser(statistics=_two_passes)


def _three_calls(x: Tensor, group: Any) -> Statistics:
    mean, var, count = own_statistics(x)
    total = summed(count, group)
    mean_all = summed(mean * count, group) / total
    square = summed((var + mean**2) * count, group) / total
    return mean_all, square - mean_all**2, total.reshape(())


@built.mistake(breaks="In the forward each rank calls ONE collective, of 2C + 1 numbers")
def several_collectives():
    """Each statistic has a collective of its own. They are short, so the time goes into their latency:
    torch.cat makes one message of them.
    """
    return normaliser(statistics=_three_calls)


def _count_apart(x: Tensor, group: Any) -> Statistics:
    mean, var, count = own_statistics(x)
    total = summed(count, group)
    mean_all, square = (summed(torch.cat([mean * count, (var + mean**2) * count]), group) / total).chunk(2)
    return mean_all, square - mean_all**2, total.reshape(())


sync_batch_norm.variant(several_collectives)(normaliser(statistics=_count_apart))


def _gathered_batch(x: Tensor, group: Any) -> Statistics:
    world = dist.get_world_size(group)
    sizes = gathered(torch.tensor([len(x)]), group).flatten().tolist()
    padded = x.new_zeros(max(sizes), *x.shape[1:])
    padded[: len(x)] = x
    parts: list[Tensor] = [torch.empty_like(padded) for _ in range(world)]
    dist.all_gather(parts, padded, group=group)
    whole = torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])
    mean, var, count = own_statistics(whole)
    return mean, var, count.reshape(())


@built.mistake(breaks="In the forward each rank calls ONE collective, of 2C + 1 numbers")
def batch_gathered():
    """The batch itself is sent to every rank. The statistics need 2C + 1 numbers a rank, however large the
    images are.
    """
    return normaliser(statistics=_gathered_batch)
