"""What people write for 07.global_mean_loss, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from helpers.labs.ddp.global_mean_loss.exercise import global_mean_loss


def total_of(count: int, group: Any, op: Any = dist.ReduceOp.SUM) -> int:
    total = torch.tensor(count)
    dist.all_reduce(total, op=op, group=group)
    return int(total)


def size_of(group: Any) -> int:
    return dist.get_world_size(group)


class Summed(Function):
    """The sum over the ranks; backward sums the gradients, as torch.distributed.nn.all_reduce does."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        total = x.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        total = grad_out.clone()
        dist.all_reduce(total, group=ctx.group)
        return total, None


@global_mean_loss.mistake()
def mean_of_means(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Each rank divides by its own count, and DDP averages over ranks: a mean of means. A sample on a rank
    with few of them counts more than one on a rank with many.
    """
    return loss_sum / count


@global_mean_loss.variant(mean_of_means)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum / max(count, 1)


@global_mean_loss.variant(mean_of_means)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return Summed.apply(loss_sum / max(count, 1), group) / size_of(group)


@global_mean_loss.variant(mean_of_means)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return Summed.apply(loss_sum / count, group) / size_of(group)


@global_mean_loss.variant(mean_of_means)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum / count if count else loss_sum * 0


@global_mean_loss.variant(mean_of_means)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    mean = loss_sum / count
    dist.all_reduce(mean, group=group)
    return mean / size_of(group)


@global_mean_loss.variant(mean_of_means)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    mean = loss_sum / max(count, 1)
    dist.all_reduce(mean, group=group)
    return mean / size_of(group)


@global_mean_loss.mistake()
def divided_by_own_count(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The losses of all ranks are added up, and the sum is divided by the number of this rank's samples only."""
    return Summed.apply(loss_sum, group) / count


@global_mean_loss.variant(divided_by_own_count)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return Summed.apply(loss_sum, group) / max(count, 1)


@global_mean_loss.variant(divided_by_own_count)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(group) / max(count, 1)


@global_mean_loss.variant(divided_by_own_count)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(group) / count


@global_mean_loss.variant(divided_by_own_count)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    summed = loss_sum.clone()
    dist.all_reduce(summed, group=group)
    return summed / count


@global_mean_loss.mistake()
def reduced_without_gradient(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The loss itself is added up over the ranks, on a copy outside of the graph: the number is right, and
    nothing can be trained with it. Add up the counts; the losses stay where they are.
    """
    both = torch.stack([loss_sum.detach(), loss_sum.new_tensor(count)])
    dist.all_reduce(both, group=group)
    return both[0] / both[1]


@global_mean_loss.variant(reduced_without_gradient)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return torch.tensor(loss_sum.item() * size_of(group) / total_of(count, group))


@global_mean_loss.mistake()
def fresh_leaf(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """requires_grad_() on a detached number makes a new leaf: backward() runs, ends there, and no parameter
    hears of it.
    """
    both = torch.stack([loss_sum.detach(), loss_sum.new_tensor(count)])
    dist.all_reduce(both, group=group)
    return (both[0] / both[1]).requires_grad_()


@global_mean_loss.variant(fresh_leaf)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return (loss_sum.detach() * size_of(group) / total_of(count, group)).requires_grad_()


@global_mean_loss.mistake()
def loss_reduced_in_place(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """dist.all_reduce(loss_sum) writes the sum into loss_sum, and autograd does not see it: the value is that
    of all ranks, the gradient that of this rank alone, without the factor world.
    """
    dist.all_reduce(loss_sum, group=group)
    return loss_sum / total_of(count, group)


@global_mean_loss.variant(loss_reduced_in_place)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    dist.all_reduce(loss_sum, group=group)
    return loss_sum * size_of(group) / total_of(count, group)


@global_mean_loss.variant(loss_reduced_in_place)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    summed = loss_sum.clone()
    dist.all_reduce(summed, group=group)
    return summed / total_of(count, group)


@global_mean_loss.variant(loss_reduced_in_place)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    summed = loss_sum.clone()
    dist.all_reduce(summed, group=group)
    return summed * size_of(group) / total_of(count, group)


@global_mean_loss.mistake()
def world_forgotten(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Divided by the number of all samples, and DDP divides by the number of ranks once more: the learning
    rate is world times smaller than it seems.
    """
    return loss_sum / total_of(count, group)


@global_mean_loss.variant(world_forgotten)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum / count * (count / total_of(count, group))


@global_mean_loss.mistake()
def world_twice(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Backward through an all-reduce adds up the gradients of all ranks, so world is in there already; the
    factor brings it in a second time.
    """
    return Summed.apply(loss_sum, group) * size_of(group) / total_of(count, group)


@global_mean_loss.variant(world_twice)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(group) ** 2 / total_of(count, group)


@global_mean_loss.mistake()
def sum_left_alone(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Nothing is divided by the number of samples: this trains on a sum, and the step grows with the batch."""
    return loss_sum * size_of(group)


@global_mean_loss.variant(sum_left_alone)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * 1


@global_mean_loss.variant(sum_left_alone)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum


@global_mean_loss.variant(sum_left_alone)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return Summed.apply(loss_sum, group)


# Whose counts come in, and what a rank without samples does.


@global_mean_loss.mistake()
def default_group(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The group is not looked at: the counts of all ranks come in, also of those that train another model."""
    return loss_sum * size_of(None) / total_of(count, None)


@global_mean_loss.mistake()
def world_of_the_default_group(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The counts are added up over the group, but the factor is the number of all ranks. DDP divides by the
    size of its group: `dist.get_world_size(group)`.
    """
    return loss_sum * size_of(None) / total_of(count, group)


@global_mean_loss.mistake()
def counts_of_the_default_group(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The factor is that of the group, but the counts are added up over all ranks: pass group to the
    all-reduce, too.
    """
    return loss_sum * size_of(group) / total_of(count, None)


@global_mean_loss.mistake()
def largest_count(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The largest count stands for all of them, as if the short batches had been filled up."""
    return loss_sum / total_of(count, group, dist.ReduceOp.MAX)


@global_mean_loss.mistake()
def count_of_the_first_rank(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """One rank's count is sent to the others and taken for everybody's. The last batch of an epoch differs
    from rank to rank.
    """
    first = torch.tensor(count)
    dist.broadcast(first, group=group, group_src=0)
    return loss_sum / first.item()


@global_mean_loss.variant(count_of_the_first_rank)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    first = torch.tensor(count)
    dist.broadcast(first, group=group, group_src=0)
    return loss_sum / max(first.item(), 1)


@global_mean_loss.mistake()
def empty_rank_stays_away(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """A rank without samples returns at once, and the others wait for it in the all-reduce. What one rank
    calls, all ranks of the group have to call.
    """
    if count == 0:
        return loss_sum
    return loss_sum * size_of(group) / total_of(count, group)


@global_mean_loss.mistake()
def empty_rank_gets_a_constant(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """A rank without samples gets a new zero. DDP's hooks run in backward, so this rank has to go through its
    graph as the others do, with a gradient of zeros.
    """
    total = total_of(count, group)
    return loss_sum * size_of(group) / total if count else torch.zeros((), dtype=loss_sum.dtype)


@global_mean_loss.variant(empty_rank_gets_a_constant)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = total_of(count, group)
    return loss_sum * size_of(group) / total if count else 0.0


@global_mean_loss.variant(empty_rank_gets_a_constant)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = total_of(count, group)
    if count == 0:
        return torch.zeros((), dtype=loss_sum.dtype, requires_grad=True)
    return loss_sum * size_of(group) / total


@global_mean_loss.mistake()
def empty_rank_counts_as_one(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """A count of 0 was made 1, against a division by zero that does not happen: only the total is divided by."""
    return loss_sum * size_of(group) / total_of(max(count, 1), group)


@global_mean_loss.mistake()
def empty_ranks_left_out_of_world(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Ranks without samples are left out of world. DDP divides by the number of all ranks of its group,
    whether they had samples or not.
    """
    return loss_sum * total_of(int(count > 0), group) / total_of(count, group)


@global_mean_loss.mistake()
def count_not_waited_for(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """With async_op=True the call only begins: without `work.wait()` total is still this rank's own count."""
    total = torch.tensor(count)
    dist.all_reduce(total, group=group, async_op=True)
    return loss_sum * (size_of(group) / max(total.item(), 1))


@global_mean_loss.variant(count_not_waited_for)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = torch.tensor(float(count))
    dist.all_reduce(total, group=group, async_op=True)
    return loss_sum * size_of(group) / total


@global_mean_loss.mistake()
def ratio_upside_down(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The factor is upside down: total / world is the mean number of samples on a rank, and one divides by
    it.
    """
    return loss_sum * (total_of(count, group) / size_of(group))
