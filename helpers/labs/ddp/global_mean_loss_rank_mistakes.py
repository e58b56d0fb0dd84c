"""What people write for 07.global_mean_loss: whose counts come in, and what a rank without samples does."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.ddp.global_mean_loss import global_mean_loss
from helpers.labs.ddp.global_mean_loss_mistakes import size_of, total_of


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
