"""Right answers to 07.sync_batch_norm, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


# Gathers mean, variance and count of each rank, and merges them.
class Merged(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any) -> Any:
        channels, others = x.shape[1], [0, *range(2, x.dim())]
        var, mean = torch.var_mean(x, others, correction=0)
        own = torch.cat([mean, var, x.new_tensor([x.numel() // channels])])
        rows = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
        dist.all_gather(rows, own, group=group)
        means, variances, counts = torch.stack(rows).split([channels, channels, 1], 1)
        count = counts.sum()
        mean = (counts * means).sum(0) / count
        var = (counts * (variances + (means - mean).square())).sum(0) / count
        shape = [1, channels] + [1] * (x.dim() - 2)
        invstd = (var + eps).rsqrt()
        normal = (x - mean.view(shape)) * invstd.view(shape)
        ctx.save_for_backward(normal, weight, invstd)
        ctx.group, ctx.count, ctx.shape, ctx.others = group, count, shape, others
        unbiased = var * count / (count - 1)
        ctx.mark_non_differentiable(mean, unbiased, count)
        return normal * weight.view(shape) + bias.view(shape), mean, unbiased, count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor, *_: Any) -> Any:
        normal, weight, invstd = ctx.saved_tensors
        grad_bias = grad_out.sum(ctx.others)
        grad_weight = (grad_out * normal).sum(ctx.others)
        sums = torch.cat([grad_bias, grad_weight])
        dist.all_reduce(sums, group=ctx.group)
        mean_grad, mean_slope = (part.view(ctx.shape) for part in (sums / ctx.count).chunk(2))
        grad_x = (weight * invstd).view(ctx.shape) * (grad_out - mean_grad - normal * mean_slope)
        return grad_x, grad_weight, grad_bias, None, None


def merged(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    return Merged.apply(x, weight, bias, eps, group)


# Adds up sums and sums of squares; x is saved, not what is made of it; mean and var may get gradients and ignore them.
class Summed(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any) -> Any:
        rows = x.transpose(0, 1).flatten(1)
        sums = torch.cat([rows.sum(1), (rows * rows).sum(1), rows.new_tensor([rows.shape[1]])])
        dist.all_reduce(sums, group=group)
        count = int(sums[-1])
        mean, square = (sums[:-1] / count).chunk(2)
        var = square - mean**2
        ctx.save_for_backward(x, weight, mean, var)
        ctx.eps, ctx.group, ctx.count = eps, group, count
        y = (rows - mean[:, None]) / (var + eps).sqrt()[:, None] * weight[:, None] + bias[:, None]
        y = y.unflatten(1, [x.shape[0], *x.shape[2:]]).transpose(0, 1)
        return y.contiguous(), mean, var * (count / (count - 1)), torch.tensor(float(count))

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor, *ignored: Any) -> Any:
        x, weight, mean, var = ctx.saved_tensors
        rows, grads = (t.transpose(0, 1).flatten(1) for t in (x, grad_out))
        std = (var + ctx.eps).sqrt()
        centred = rows - mean[:, None]
        own = torch.stack([grads.sum(1), (grads * centred).sum(1)])
        total = own.clone()
        dist.all_reduce(total, group=ctx.group, async_op=True).wait()
        inner = grads - total[0, :, None] / ctx.count
        inner = inner - centred * (total[1] / ctx.count / std**2)[:, None]
        grad_x = (inner * (weight / std)[:, None]).unflatten(1, [x.shape[0], *x.shape[2:]]).transpose(0, 1)
        return grad_x, own[1] / std, own[0], None, None


def summed(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    y, mean, var, count = Summed.apply(x, weight, bias, eps, group)
    return y, mean, var, int(count)


# A Function for the statistics only, whose backward sends 2C numbers; the rest is left to autograd.
class Statistics(Function):
    @staticmethod
    def forward(ctx: Any, total: Tensor, square: Tensor, own: int, group: Any) -> Any:
        together = torch.cat([total, square, total.new_tensor([own])])
        dist.all_reduce(together, group=group)
        ctx.group = group
        total, square, count = together.split([len(total), len(square), 1])
        ctx.mark_non_differentiable(count)
        return total.clone(), square.clone(), count.clone()

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_square: Tensor, _: Any) -> Any:
        grads = torch.cat([grad_total, grad_square])
        dist.all_reduce(grads, group=ctx.group)
        return *grads.chunk(2), None, None


def composed(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    dims = tuple(dim for dim in range(x.dim()) if dim != 1)

    def wide(value: Tensor) -> Tensor:
        return value.reshape(1, -1, *[1] * (x.dim() - 2))

    total, square, count = Statistics.apply(x.sum(dims), x.square().sum(dims), x[:, 0].numel(), group)
    mean = total / count
    var = square / count - mean**2
    y = wide(weight) * (x - wide(mean)) / wide((var + eps).sqrt()) + wide(bias)
    return y, mean.detach(), (var * count / (count - 1)).detach(), count


# All numbers gathered into one tensor; the sums of the backward gathered, too, and added up here.
class Gathered(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any) -> Any:
        world, channels = dist.get_world_size(group), x.size(1)
        flat = x.movedim(1, -1).reshape(-1, channels)
        mean = flat.mean(0)
        own = torch.cat([torch.tensor([float(len(flat))], dtype=x.dtype), mean, (flat - mean).pow(2).sum(0)])
        every = torch.empty(world * len(own), dtype=x.dtype)
        dist.all_gather_into_tensor(every, own, group=group)
        count, mean, spread = torch.zeros((), dtype=x.dtype), torch.zeros_like(mean), torch.zeros_like(mean)
        for row in every.view(world, -1):
            size, their_mean, their_spread = row[0], row[1 : channels + 1], row[channels + 1 :]
            gap = their_mean - mean
            spread = spread + their_spread + gap**2 * count * size / (count + size)
            mean = mean + gap * size / (count + size)
            count = count + size
        invstd = 1 / torch.sqrt(spread / count + eps)
        normal = (flat - mean) * invstd
        ctx.save_for_backward(normal, weight, invstd, count)
        ctx.group, ctx.world = group, world
        y = (normal * weight + bias).reshape(x.movedim(1, -1).shape).movedim(-1, 1).contiguous()
        return y, mean, spread / (count - 1), count

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor, *_: Any) -> Any:
        normal, weight, invstd, count = ctx.saved_tensors
        last = grad_out.movedim(1, -1)
        grad = last.reshape(normal.shape)
        own = torch.stack([grad.sum(0), (grad * normal).sum(0)])
        rows = [torch.empty_like(own) for _ in range(ctx.world)]
        dist.all_gather(rows, own, group=ctx.group)
        sums = sum(rows) / count
        grad_x = weight * invstd * (grad - sums[0] - normal * sums[1])
        return grad_x.reshape(last.shape).movedim(-1, 1), own[1], own[0], None, None


def gathered(x: Tensor, weight: Tensor, bias: Tensor, eps: float, group: Any = None) -> Any:
    return tuple(Gathered.apply(x, weight, bias, eps, group))


RIGHT = [merged, summed, composed, gathered]
