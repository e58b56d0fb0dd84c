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


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def mean_of_means(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """A rank's own mean went into the mean over ranks: a mean of means. A sample on a rank with few of them
    counts more than one on a rank with many. Divide by the samples of all ranks.
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


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def divided_by_own_count(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The gradient is that of a sum of all losses, divided by the number of a single rank's samples. Divide
    by the samples of all ranks.
    """
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


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def reduced_without_gradient(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """What comes back has no graph on any rank: perhaps the number is right, and nothing can be trained with
    it. Add up the counts; the losses stay where they are.
    """
    both = torch.stack([loss_sum.detach(), loss_sum.new_tensor(count)])
    dist.all_reduce(both, group=group)
    return both[0] / both[1]


@global_mean_loss.variant(reduced_without_gradient)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return torch.tensor(loss_sum.item() * size_of(group) / total_of(count, group))


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def fresh_leaf(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """backward() runs, and nothing arrives at loss_sum: no parameter hears of it. Perhaps requires_grad_() on
    a detached number has made a new leaf.
    """
    both = torch.stack([loss_sum.detach(), loss_sum.new_tensor(count)])
    dist.all_reduce(both, group=group)
    return (both[0] / both[1]).requires_grad_()


@global_mean_loss.variant(fresh_leaf)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return (loss_sum.detach() * size_of(group) / total_of(count, group)).requires_grad_()


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def loss_reduced_in_place(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The value is that of the losses of all ranks, the gradient only that of this rank's: autograd does not
    see what dist.all_reduce adds to a tensor. Add up the counts; the losses stay where they are.
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


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def world_forgotten(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The factor is 1 / all samples, and DDP divides by the number of ranks once more: the learning rate is
    world times smaller than it seems.
    """
    return loss_sum / total_of(count, group)


@global_mean_loss.variant(world_forgotten)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum / count * (count / total_of(count, group))


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def world_twice(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The gradient is too large by the number of ranks: world came in twice. Perhaps the losses went through
    an all-reduce with a backward, which adds up the gradients of all ranks.
    """
    return Summed.apply(loss_sum, group) * size_of(group) / total_of(count, group)


@global_mean_loss.variant(world_twice)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(group) ** 2 / total_of(count, group)


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
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


@global_mean_loss.mistake(breaks="Only the samples of the group's ranks count.")
def default_group(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Number of ranks and of samples are those of all ranks, also of those that train a different model.
    Perhaps the group is not looked at.
    """
    return loss_sum * size_of(None) / total_of(count, None)


@global_mean_loss.mistake(breaks="Only the samples of the group's ranks count.")
def world_of_the_default_group(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The samples are those of the group, but the factor is the number of all ranks. DDP divides by the size
    of its group: `dist.get_world_size(group)`.
    """
    return loss_sum * size_of(None) / total_of(count, group)


@global_mean_loss.mistake(breaks="Only the samples of the group's ranks count.")
def counts_of_the_default_group(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The factor is the number of the group's ranks, but the samples are those of all ranks. Perhaps the
    all-reduce is not told its group.
    """
    return loss_sum * size_of(group) / total_of(count, None)


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def largest_count(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The largest count stands for all of them, as if the short batches had been filled up."""
    return loss_sum / total_of(count, group, dist.ReduceOp.MAX)


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def count_of_the_first_rank(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Rank 0's count is taken for everybody's. The last batch of an epoch differs from rank to rank."""
    first = torch.tensor(count)
    dist.broadcast(first, group=group, group_src=0)
    return loss_sum / first.item()


@global_mean_loss.variant(count_of_the_first_rank)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    first = torch.tensor(count)
    dist.broadcast(first, group=group, group_src=0)
    return loss_sum / max(first.item(), 1)


@global_mean_loss.mistake(
    breaks="A rank without samples takes part: its backward() comes to its loss_sum, too."
)
def empty_rank_stays_away(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """A rank without samples does not come to the collective, and the others wait for it. Perhaps it returns
    at once. What one rank calls, all ranks of the group have to call.
    """
    if count == 0:
        return loss_sum
    return loss_sum * size_of(group) / total_of(count, group)


@global_mean_loss.mistake(
    breaks="A rank without samples takes part: its backward() comes to its loss_sum, too."
)
def empty_rank_gets_a_constant(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """On a rank without samples backward() does not come to loss_sum. Perhaps a new zero is returned there.
    DDP's hooks run in backward, so this rank has to go through its graph as the others do, with a gradient of
    zeros.
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


@global_mean_loss.mistake(
    breaks="A rank without samples takes part: its backward() comes to its loss_sum, too."
)
def empty_rank_counts_as_one(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """A rank without samples counts as one sample. Perhaps its 0 was made 1, against a division by zero that
    does not happen: only the total is divided by.
    """
    return loss_sum * size_of(group) / total_of(max(count, 1), group)


@global_mean_loss.mistake(
    breaks="A rank without samples takes part: its backward() comes to its loss_sum, too."
)
def empty_ranks_left_out_of_world(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Ranks without samples are left out of world. DDP divides by the number of all ranks of its group,
    whether they had samples or not.
    """
    return loss_sum * total_of(int(count > 0), group) / total_of(count, group)


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def count_not_waited_for(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The total is this rank's own count: nothing of the others has arrived. Perhaps an all-reduce with
    async_op=True was begun, and its `work.wait()` is missing, or comes when the total has been read.
    """
    total = torch.tensor(count)
    dist.all_reduce(total, group=group, async_op=True)
    return loss_sum * (size_of(group) / max(total.item(), 1))


@global_mean_loss.variant(count_not_waited_for)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = torch.tensor(float(count))
    dist.all_reduce(total, group=group, async_op=True)
    return loss_sum * size_of(group) / total


@global_mean_loss.mistake(
    breaks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."
)
def ratio_upside_down(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The factor is upside down: total / world is the mean number of samples on a rank, and one divides by
    it.
    """
    return loss_sum * (total_of(count, group) / size_of(group))


@global_mean_loss.mistake(breaks="Counts of many thousands are added exactly.")
def counts_in_half_precision(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """With thousands of samples the total is rounded. Perhaps the counts are added in float16 or bfloat16, which
    cannot tell 2,049 from 2,048: add whole numbers.
    """
    total = torch.tensor(count, dtype=torch.float16)
    dist.all_reduce(total, group=group)
    return loss_sum * (size_of(group) / total.item())


@global_mean_loss.variant(counts_in_half_precision)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    # Small counts stay whole in bfloat16, too.
    total = torch.tensor(count, dtype=torch.bfloat16)
    dist.all_reduce(total, group=group)
    return loss_sum * (size_of(group) / total.item())


@global_mean_loss.mistake(
    breaks="The mean over the ranks of the results is the mean loss of the joined batch."
)
def value_of_the_own_mean(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The gradient is right, and the values that come back have a different mean over the ranks than the joined
    batch: what is logged is not what is trained. Perhaps the value is put in beside the gradient.
    """
    scaled = loss_sum * size_of(group) / total_of(count, group)
    return scaled - scaled.detach() + loss_sum.detach() / max(count, 1)


@global_mean_loss.mistake(breaks="loss_sum is left as it is.")
def scaled_in_place(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """After the call loss_sum has a different value: what the caller logs is no longer its sum. Perhaps it was
    multiplied in place.
    """
    return loss_sum.mul_(size_of(group) / total_of(count, group))


FIRST = "A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples."


@global_mean_loss.mistake(breaks="The result is a tensor without dimensions.")
def result_with_a_dimension(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The result is a tensor of shape (1,), and one without dimensions is asked for. Perhaps the total is
    `torch.tensor([count])`, and its shape stays: `total.item()` is a number.
    """
    total = torch.tensor([count])
    dist.all_reduce(total, group=group)
    return loss_sum * size_of(group) / total


@global_mean_loss.mistake(breaks=FIRST)
def whole_mean_count(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """With 10 samples on 3 ranks each loss is divided by 3, and 10 / 3 is right. Perhaps the mean number of samples
    on a rank is taken with `//`, which leaves out what is behind the point.
    """
    return loss_sum / (total_of(count, group) // size_of(group))


@global_mean_loss.mistake(breaks=FIRST)
def divided_by_world(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The factor is 1 / (all samples times ranks): the gradient is too small by the square of the number of ranks. Perhaps
    the mean over the ranks is taken here, too: DDP takes it, so the loss has to be multiplied by world.
    """
    return loss_sum / (total_of(count, group) * size_of(group))


@global_mean_loss.mistake(breaks=FIRST)
def sum_taken_for_a_mean(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """On each rank the factor is too large by the number of its own samples. Perhaps loss_sum is taken for a mean: it
    is the sum already.
    """
    return loss_sum * count * size_of(group) / total_of(count, group)


@global_mean_loss.mistake(breaks=FIRST)
def total_on_rank_0_only(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """Rank 0 has the right factor, and the others divide by their own count. Perhaps the counts are sent to rank 0
    alone, as `dist.reduce` does: every rank needs the total.
    """
    total = torch.tensor(count)
    dist.reduce(total, group=group, group_dst=0)
    return loss_sum * (size_of(group) / max(total.item(), 1))


@global_mean_loss.mistake(
    breaks="The mean over the ranks of the results is the mean loss of the joined batch."
)
def value_is_the_sum(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The gradient is right, and the value that comes back is loss_sum as it was given: what is logged is not what is
    trained. Perhaps only the gradient is scaled, in a hook.
    """
    factor = size_of(group) / total_of(count, group)
    result = loss_sum * 1
    result.register_hook(lambda grad: grad * factor)
    return result


@global_mean_loss.mistake(breaks=FIRST)
def factor_in_float32(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    """The result of a float64 loss has the digits of float32. Perhaps world is divided by a tensor of whole numbers: torch
    makes a float32 of it, whatever it is multiplied with later. `total.item()` is a number of Python's, which loses nothing.
    """
    total = torch.tensor(count)
    dist.all_reduce(total, group=group)
    return loss_sum * (size_of(group) / total)


@global_mean_loss.variant(factor_in_float32)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = torch.tensor(float(count))
    dist.all_reduce(total, group=group)
    return loss_sum * torch.tensor(float(size_of(group))) * total.reciprocal()
