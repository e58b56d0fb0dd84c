"""What people write for 07.sync_batch_norm: the backward, and small things that are asked besides."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from helpers.check.spec import returned
from helpers.labs.ddp.sync_batch_norm.exercise import sync_batch_norm
from helpers.labs.ddp.sync_batch_norm.right import (
    Statistics,
    gathered,
    joined,
    normaliser,
    others,
    over_channels,
    rows_of,
    slope_of_x,
    summed,
    sums_over_ranks,
)

built = sync_batch_norm.bank(returned)
Y = "y is this rank's part of what `torch.nn.functional.batch_norm(training=True)` gives for the joined batch."


def _nothing_sent(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    return grad_bias, grad_weight


def _through_scale_only(
    grad_out: Tensor, normal: Tensor, sums: Any, count: Tensor, weight: Tensor, invstd: Tensor
) -> Tensor:
    return over_channels(weight * invstd, normal) * grad_out


@built.mistake(breaks="The gradient of x is that of the joined batch.")
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


@built.mistake(breaks="The gradient of x is that of the joined batch.")
def own_sums_in_backward():
    """The two sums of the backward are those of this rank only. A sample on rank 0 moves the statistics with
    which rank 1 normalises, so its gradient comes from all ranks: one all-reduce.
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


@built.mistake(breaks="in the backward ONE, of 2C.")
def count_in_the_backward():
    """The backward sends one number too many. Perhaps autograd sends the gradient of the count, too: nothing
    depends on it, and a backward of your own sends the two sums.
    """
    return _composed(Reduced)


@built.mistake(breaks="The gradient of x is that of the joined batch.")
def own_count_in_backward():
    """The sums over all ranks are divided by this rank's number of values; the means are over the joined
    batch.
    """
    return normaliser(count_of=lambda count, x: x.new_tensor(x.numel() // x.shape[1]))


def _averaged(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    one, other = sums_over_ranks(grad_bias, grad_weight, group)
    return one / dist.get_world_size(group), other / dist.get_world_size(group)


@built.mistake(breaks="The gradient of x is that of the joined batch.")
def sums_averaged_over_ranks():
    """The sums of the backward are averaged over the ranks, as DDP does with gradients, and then divided by
    count once more.
    """
    return normaliser(sums_of=_averaged)


@built.mistake(breaks="The gradient of x is that of the joined batch.")
def weight_missing_in_the_gradient():
    """The gradient of x lacks the factor weight: y is normal * weight + bias."""
    return normaliser(
        slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
            grad_out, normal, sums, count, torch.ones_like(weight), invstd
        )
    )


@built.mistake(breaks="The gradient of x is that of the joined batch.")
def mean_only():
    """The gradient flows through the mean and not through the variance: the second of the two sums is
    missing.
    """
    return normaliser(
        slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
            grad_out, normal, (sums[0], torch.zeros_like(weight)), count, weight, invstd
        )
    )


@built.mistake(breaks="The gradient of x is that of the joined batch.")
def variance_only():
    """The gradient flows through the variance and not through the mean: the first of the two sums is missing."""
    return normaliser(
        slope=lambda grad_out, normal, sums, count, weight, invstd: slope_of_x(
            grad_out, normal, (torch.zeros_like(weight), sums[1]), count, weight, invstd
        )
    )


@built.mistake(
    breaks="Those of weight and bias are the sums over this rank's own samples: DDP reduces them, as those of all parameters."
)
def weight_gradients_reduced():
    """weight or bias gets the sum over all ranks, perhaps since it is at hand. DDP reduces the gradients of
    all parameters: this one is then too large by the number of ranks.
    """
    return normaliser(of_parameters=lambda grad_bias, grad_weight, sums, group: sums)


def _reduced_in_place(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    dist.all_reduce(grad_bias, group=group)
    dist.all_reduce(grad_weight, group=group)
    return grad_bias, grad_weight


sync_batch_norm.variant(weight_gradients_reduced)(normaliser(sums_of=_reduced_in_place))


@built.mistake(
    breaks="Those of weight and bias are the sums over this rank's own samples: DDP reduces them, as those of all parameters."
)
def weight_gradients_averaged():
    """weight and bias get the mean over the ranks. That is DDP's work: what it gets here is the same on all
    ranks, and no longer the gradient of this rank's samples.
    """
    return normaliser(
        of_parameters=lambda grad_bias, grad_weight, sums, group: tuple(
            part / dist.get_world_size(group) for part in sums
        )
    )


@built.mistake(
    breaks="Those of weight and bias are the sums over this rank's own samples: DDP reduces them, as those of all parameters."
)
def no_gradient_for_weight_and_bias():
    """weight or bias gets no gradient, so it never learns."""
    return normaliser(of_parameters=lambda grad_bias, grad_weight, sums, group: (None, None))


@built.mistake(breaks="in the backward ONE, of 2C.")
def two_collectives_backward():
    """The two sums travel in two all-reduces. Put both into one tensor of 2C numbers."""
    return normaliser(
        sums_of=lambda grad_bias, grad_weight, group: (summed(grad_bias, group), summed(grad_weight, group))
    )


def _not_waited(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    sums = torch.cat([grad_bias, grad_weight])
    dist.all_reduce(sums, group=group, async_op=True)
    one, other = sums.chunk(2)
    return one.clone(), other.clone()


@built.mistake(breaks="The gradient of x is that of the joined batch.")
def sums_not_waited_for():
    """The backward calls an all-reduce, and the sums are still those of this rank when they are used. Perhaps
    it is started with async_op=True and nobody waits.
    """
    return normaliser(sums_of=_not_waited)


@built.mistake(breaks="x is left as it is.")
def x_overwritten():
    """After the call x holds different numbers: whoever needs it again, such as a residual connection, gets the
    wrong ones. Perhaps x is normalised in place.
    """

    def answer(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
        found = normaliser()(x, weight, bias, eps, group)
        x.data.copy_(found[0].detach())
        return found

    return answer


@built.mistake(breaks=Y)
def float64_only():
    """For x in float32 y has a different dtype, or no digits of its own. Perhaps the arithmetic is done in float64, and
    its result comes back so: y has the dtype of x.
    """

    def answer(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
        return normaliser()(x.double(), weight, bias, eps, group)

    return answer


def _rows_of_channels(x: Tensor, group: Any) -> Statistics:
    return joined(x.reshape(-1, x.shape[1]), group)


@built.mistake(breaks=Y)
def channels_mixed():
    """For (N, C) all is right, and for images the statistics are those of mixed channels. Perhaps by x.reshape(-1, C), which
    cuts the numbers as they lie in memory: bring the channels to the end first, or name the dimensions in the mean.
    """
    return normaliser(statistics=_rows_of_channels)


@built.mistake(breaks="Batch normalisation of training, over the joined batch of all ranks of the group.")
def default_group_in_the_backward():
    """y and the statistics are those of the group, and the gradient of x is not. Perhaps the backward's collective is called
    without the group.
    """
    return normaliser(
        sums_of=lambda grad_bias, grad_weight, group: sums_over_ranks(grad_bias, grad_weight, None)
    )


def _nan_rows(x: Tensor, group: Any) -> Statistics:
    values = x.numel() // x.shape[1]
    var, mean = torch.var_mean(x, others(x))
    own = torch.cat([mean, var * (values - 1), x.new_tensor([values])])
    means, squares, counts = gathered(own, group).split([x.shape[1], x.shape[1], 1], 1)
    mean = (counts * means).sum(0) / counts.sum()
    return mean, (squares + counts * (means - mean) ** 2).sum(0) / counts.sum(), counts.sum()


@built.mistake(breaks=Y)
def nan_for_one_sample():
    """Right while each rank has two samples or more, and NaN on all ranks where one has a single sample. Perhaps its variance
    is divided by count - 1: that is 0 / 0, and stays NaN if it is multiplied by 0. With correction=0 it is 0.
    """
    return normaliser(statistics=_nan_rows)


def _own_running(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    y, _, _, count = normaliser()(x, weight, bias, eps, group)
    own = x.detach()
    return y, own.mean(others(x)), own.var(others(x)), count


@built.mistake(
    breaks="mean and var, (C,), are those of the joined batch, as running_mean and running_var take them: var is divided by count - 1."
)
def own_running_statistics():
    """y is right, and mean is that of this rank's own samples. Perhaps what was worked out for this shard is returned: the
    running statistics of the ranks then run apart.
    """
    return _own_running


@built.mistake(breaks=Y)
def eps_of_its_own():
    """y is made with an eps of 1e-5, whatever eps says. Perhaps it is written as a number: it is an argument."""
    return normaliser(invstd_of=lambda var, eps: (var + 1e-5).rsqrt())


def _squeezed(mean_is_squeezed: bool) -> Any:
    def answer(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
        y, mean, var, count = normaliser()(x, weight, bias, eps, group)
        return y, mean.squeeze() if mean_is_squeezed else mean, var.squeeze(), count

    return answer


RUNNING = "mean and var, (C,), are those of the joined batch, as running_mean and running_var take them: var is divided by count - 1."


@built.mistake(breaks=RUNNING)
def one_channel_squeezed():
    """With one channel mean or var has no dimensions left, where (1,) is asked for. Perhaps squeeze() takes away every
    dimension of size 1, that of the channels, too: name the dimensions that are to go.
    """
    return _squeezed(True)


sync_batch_norm.variant(one_channel_squeezed)(_squeezed(False))


def _counted_in_the_second_channel(x: Tensor, group: Any) -> Statistics:
    x[:, 1]
    return joined(x, group)


@built.mistake(breaks=Y)
def two_channels_assumed():
    """Where x has one channel the answer raises, or gives something else. Perhaps it looks at a channel that is there in
    larger inputs only: C may be 1.
    """
    return normaliser(statistics=_counted_in_the_second_channel)
