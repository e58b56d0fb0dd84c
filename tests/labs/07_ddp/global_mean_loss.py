"""Right answers to 07.global_mean_loss, in different shapes."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as with_gradient
from torch import Tensor


def by_an_all_reduce_of_counts(
    loss_sum: Tensor, count: int, group: dist.ProcessGroup | None = None
) -> Tensor:
    """The plain answer."""
    total = torch.tensor(count, device=loss_sum.device)
    dist.all_reduce(total, group=group)
    return loss_sum * (dist.get_world_size(group) / total.item())


def by_the_mean_count(loss_sum: Tensor, count: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """Divides by the mean number of samples on a rank."""
    mean = loss_sum.new_tensor([count])
    dist.all_reduce(mean, op=dist.ReduceOp.AVG, group=group, async_op=True).wait()
    return (loss_sum / mean).sum()


def by_gathered_counts(loss_sum: Tensor, count: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """Gathers all counts; len gives the number of ranks."""
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size(group))]
    dist.all_gather(counts, torch.tensor([count]), group=group)
    return len(counts) * loss_sum / torch.cat(counts).sum()


def by_gathered_objects(loss_sum: Tensor, count: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """Counts as Python numbers."""
    counts: list[int] = [0] * dist.get_world_size(group)
    dist.all_gather_object(counts, count, group=group)
    return torch.mul(loss_sum, len(counts) / sum(counts))


def by_an_all_reduce_with_a_backward(
    loss_sum: Tensor, count: int, group: dist.ProcessGroup | None = None
) -> Tensor:
    """Every rank gets the joined mean; the backward of the all-reduce adds up the gradients of the ranks."""
    total = loss_sum.new_tensor(count)
    dist.all_reduce(total, group=group)
    return with_gradient.all_reduce(loss_sum, group=group or dist.group.WORLD) / total


def by_its_value_and_its_gradient(
    loss_sum: Tensor, count: int, group: dist.ProcessGroup | None = None
) -> Tensor:
    """The joined mean as value, the scaled own loss as gradient."""
    both = torch.stack([loss_sum.detach(), loss_sum.new_tensor(count)])
    dist.all_reduce(both, group=group)
    own = loss_sum * dist.get_world_size(group) / both[1]
    return own - own.detach() + both[0] / both[1]


RIGHT = [
    by_an_all_reduce_of_counts,
    by_the_mean_count,
    by_gathered_counts,
    by_gathered_objects,
    by_an_all_reduce_with_a_backward,
    by_its_value_and_its_gradient,
]
