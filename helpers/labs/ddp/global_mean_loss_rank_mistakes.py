"""What people write for 07.global_mean_loss: whose counts come in, and what a rank without samples does."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.ddp.global_mean_loss import global_mean_loss
from helpers.labs.ddp.global_mean_loss_mistakes import size_of, total_of


@global_mean_loss.wrong_answer(
    "default_group",
    why="The group is not looked at: the counts of all ranks come in, also of those that train another model.",
    seen="also of those that train another model",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(None) / total_of(count, None)


@global_mean_loss.wrong_answer(
    "world_of_the_default_group",
    why="The counts are added up over the group, but the factor is the number of all ranks. DDP divides by the size of its "
    "group: `dist.get_world_size(group)`.",
    seen="but the factor is the number of all ranks",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(None) / total_of(count, group)


@global_mean_loss.wrong_answer(
    "counts_of_the_default_group",
    why="The factor is that of the group, but the counts are added up over all ranks: pass group to the all-reduce, too.",
    seen="pass group to the all-reduce, too",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(group) / total_of(count, None)


@global_mean_loss.wrong_answer(
    "largest_count",
    why="The largest count stands for all of them, as if the short batches had been filled up.",
    seen="as if the short batches had been filled up",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum / total_of(count, group, dist.ReduceOp.MAX)


@global_mean_loss.wrong_answer(
    "count_of_the_first_rank",
    why="One rank's count is sent to the others and taken for everybody's. The last batch of an epoch differs from rank to rank.",
    seen="taken for everybody's",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    first = torch.tensor(count)
    dist.broadcast(first, group=group, group_src=0)
    return loss_sum / first.item()


@global_mean_loss.another_form("count_of_the_first_rank")
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    first = torch.tensor(count)
    dist.broadcast(first, group=group, group_src=0)
    return loss_sum / max(first.item(), 1)


@global_mean_loss.wrong_answer(
    "empty_rank_stays_away",
    why="A rank without samples returns at once, and the others wait for it in the all-reduce. What one rank calls, all ranks of "
    "the group have to call.",
    seen="A rank without samples returns at once",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    if count == 0:
        return loss_sum
    return loss_sum * size_of(group) / total_of(count, group)


@global_mean_loss.wrong_answer(
    "empty_rank_gets_a_constant",
    why="A rank without samples gets a new zero. DDP's hooks run in backward, so this rank has to go through its graph as the "
    "others do, with a gradient of zeros.",
    seen="A rank without samples gets a new zero",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = total_of(count, group)
    return loss_sum * size_of(group) / total if count else torch.zeros((), dtype=loss_sum.dtype)


@global_mean_loss.another_form("empty_rank_gets_a_constant")
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = total_of(count, group)
    return loss_sum * size_of(group) / total if count else 0.0


@global_mean_loss.another_form("empty_rank_gets_a_constant")
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = total_of(count, group)
    if count == 0:
        return torch.zeros((), dtype=loss_sum.dtype, requires_grad=True)
    return loss_sum * size_of(group) / total


@global_mean_loss.wrong_answer(
    "empty_rank_counts_as_one",
    why="A count of 0 was made 1, against a division by zero that does not happen: only the total is divided by.",
    seen="A count of 0 was made 1",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * size_of(group) / total_of(max(count, 1), group)


@global_mean_loss.wrong_answer(
    "empty_ranks_left_out_of_world",
    why="Ranks without samples are left out of world. DDP divides by the number of all ranks of its group, whether they had "
    "samples or not.",
    seen="are left out of world",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * total_of(int(count > 0), group) / total_of(count, group)


@global_mean_loss.wrong_answer(
    "count_not_waited_for",
    why="With async_op=True the call only begins: without `work.wait()` total is still this rank's own count.",
    seen="With async_op=True the call only begins",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = torch.tensor(count)
    dist.all_reduce(total, group=group, async_op=True)
    return loss_sum * (size_of(group) / max(total.item(), 1))


@global_mean_loss.another_form("count_not_waited_for")
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    total = torch.tensor(float(count))
    dist.all_reduce(total, group=group, async_op=True)
    return loss_sum * size_of(group) / total


@global_mean_loss.wrong_answer(
    "ratio_upside_down",
    why="The factor is upside down: total / world is the mean number of samples on a rank, and one divides by it.",
    seen="The factor is upside down",
)
def _(loss_sum: Tensor, count: int, group: Any = None) -> Any:
    return loss_sum * (total_of(count, group) / size_of(group))
