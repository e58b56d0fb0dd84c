"""A right 07.sync_batch_norm in exchangeable steps, from which the mistakes are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

Statistics = tuple[Tensor, Tensor, Tensor]  # mean, variance divided by count, count


def others(x: Tensor) -> list[int]:
    """All dimensions but that of the channels."""
    return [0, *range(2, x.dim())]


def over_channels(value: Tensor, x: Tensor) -> Tensor:
    """A value a channel, in a shape that fits to x."""
    return value.view([1, -1] + [1] * (x.dim() - 2))


def own_statistics(x: Tensor) -> Statistics:
    var, mean = torch.var_mean(x, others(x), correction=0)
    return mean, var, x.new_tensor([x.numel() // x.shape[1]])


def gathered(own: Tensor, group: Any) -> Tensor:
    """What all ranks have, a row a rank."""
    rows = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    dist.all_gather(rows, own, group=group)
    return torch.stack(rows)


def summed(own: Tensor, group: Any) -> Tensor:
    total = own.clone()
    dist.all_reduce(total, group=group)
    return total


def rows_of(x: Tensor, group: Any) -> Statistics:
    """Mean, variance and count of each rank: (world, C), (world, C), (world, 1)."""
    return gathered(torch.cat(own_statistics(x)), group).split([x.shape[1], x.shape[1], 1], 1)


def joined(x: Tensor, group: Any) -> Statistics:
    means, variances, counts = rows_of(x, group)
    share = counts / counts.sum()
    mean = (share * means).sum(0)
    return mean, (share * (variances + (means - mean) ** 2)).sum(0), counts.sum()


def unbiased(var: Tensor, count: Tensor) -> Tensor:
    return var * count / (count - 1)


def invstd_of(var: Tensor, eps: float) -> Tensor:
    return (var + eps).rsqrt()


def sums_over_ranks(grad_bias: Tensor, grad_weight: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    one, other = summed(torch.cat([grad_bias, grad_weight]), group).chunk(2)
    return one, other


def slope_of_x(
    grad_out: Tensor,
    normal: Tensor,
    sums: tuple[Tensor, Tensor],
    count: Tensor,
    weight: Tensor,
    invstd: Tensor,
) -> Tensor:
    mean_grad, mean_slope = (over_channels(part / count, normal) for part in sums)
    return over_channels(weight * invstd, normal) * (grad_out - mean_grad - normal * mean_slope)


def local(
    grad_bias: Tensor, grad_weight: Tensor, sums: tuple[Tensor, Tensor], group: Any
) -> tuple[Tensor, Tensor]:
    return grad_bias, grad_weight


def normaliser(
    statistics: Callable[[Tensor, Any], Statistics] = joined,
    used: Callable[[Tensor, Tensor], Tensor] = lambda var, count: var,
    running: Callable[[Tensor, Tensor], Tensor] = unbiased,
    invstd_of: Callable[[Tensor, float], Tensor] = invstd_of,
    count_given: Callable[[Tensor, Tensor], Any] = lambda count, x: count,
    sums_of: Callable[..., tuple[Tensor, Tensor]] = sums_over_ranks,
    count_of: Callable[[Tensor, Tensor], Tensor] = lambda count, x: count,
    slope: Callable[..., Tensor] = slope_of_x,
    of_parameters: Callable[..., tuple[Tensor, Tensor]] = local,
    affine: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda normal, weight, bias: normal * weight + bias,
) -> Callable[..., tuple[Tensor, Tensor, Tensor, Any]]:
    """The right answer but for the steps given."""

    class Normalised(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any) -> Any:
            mean, var, count = statistics(x, group)
            invstd = invstd_of(used(var, count), eps)
            normal = (x - over_channels(mean, x)) * over_channels(invstd, x)
            ctx.save_for_backward(normal, weight, invstd, count)
            ctx.group = group
            variance = running(var, count)
            ctx.mark_non_differentiable(mean, variance, count)
            return affine(normal, over_channels(weight, x), over_channels(bias, x)), mean, variance, count

        @staticmethod
        def backward(ctx: Any, grad_out: Tensor, *_: Any) -> Any:
            normal, weight, invstd, count = ctx.saved_tensors
            grad_bias = grad_out.sum(others(normal))
            grad_weight = (grad_out * normal).sum(others(normal))
            sums = sums_of(grad_bias, grad_weight, ctx.group)
            grad_x = slope(grad_out, normal, sums, count_of(count, normal), weight, invstd)
            bias_slope, weight_slope = of_parameters(grad_bias, grad_weight, sums, ctx.group)
            return grad_x, weight_slope, bias_slope, None, None

    def sync_batch_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
        y, mean, var, count = Normalised.apply(x, weight, bias, eps, group)
        return y, mean, var, count_given(count, x)

    return sync_batch_norm
