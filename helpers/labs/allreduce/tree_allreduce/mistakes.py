"""What people write for 08.tree_allreduce, and why it is wrong."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.shared.right import first_half, second_half, through_chunks
from helpers.labs.allreduce.tree_allreduce.exercise import tree_allreduce


def up(x: Tensor, rank: int, world: int) -> int:
    """Collects in rank 0, as a tree; returns the gap to the rank that this one has sent to."""
    received, gap = torch.empty_like(x), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            x += received
        gap *= 2
    if rank:
        dist.send(x, rank - gap)
    return gap


def down(x: Tensor, rank: int, world: int, gap: int) -> None:
    """From rank 0 to all, by the same tree."""
    if rank:
        dist.recv(x, rank - gap)
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.send(x, rank + gap)


def exchanged(x: Tensor, other: int) -> Tensor:
    received = torch.empty_like(x)
    arrives = dist.irecv(received, other)
    dist.send(x, other)
    arrives.wait()
    return received


@tree_allreduce.mistake()
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """The tree is walked up and not down: rank 0 has the sum, the others what they had collected when they
    sent it.
    """
    up(x, rank, world)


@tree_allreduce.variant(right_on_rank_0_only)
def _(x: Tensor, rank: int, world: int) -> None:
    for child in (2 * rank + 1, 2 * rank + 2):  # a tree as in a heap
        if child < world:
            received = torch.empty_like(x)
            dist.recv(received, child)
            x += received
    if rank:
        dist.send(x, (rank - 1) // 2)


@tree_allreduce.mistake()
def both_sides_send_first(x: Tensor, rank: int, world: int) -> None:
    """Partners exchange their sums, and both send first: each waits for the other to receive. One posts an
    irecv before it sends, or the lower rank sends first and the higher receives first.
    """
    received, gap = torch.empty_like(x), 1
    while gap < world:
        dist.send(x, rank ^ gap)
        dist.recv(received, rank ^ gap)
        x += received
        gap *= 2


@tree_allreduce.mistake()
def power_of_two_only(x: Tensor, rank: int, world: int) -> None:
    """The partner is rank ^ gap. With 3, 5 or 6 ranks some of these do not exist. Let the ranks beyond the
    largest power of two hand their numbers to a partner first, and get the result back last; or use a tree.
    """
    flat, gap = x.contiguous(), 1
    while gap < world:
        flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.variant(power_of_two_only)
def _(x: Tensor, rank: int, world: int) -> None:
    assert world & (world - 1) == 0, "world must be a power of two"
    flat, gap = x.contiguous(), 1
    while gap < world:
        flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def missing_partners_skipped(x: Tensor, rank: int, world: int) -> None:
    """Where rank ^ gap does not exist the exchange is left out, and with it all that this partner would have
    brought: with three ranks, rank 1 never hears of rank 2.
    """
    flat, gap = x.contiguous(), 1
    while gap < world:
        if rank ^ gap < world:
            flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def extra_ranks_not_counted(x: Tensor, rank: int, world: int) -> None:
    """The ranks beyond the largest power of two get the result, but their own numbers are in no sum."""
    flat, power, gap = x.contiguous(), 1 << (world.bit_length() - 1), 1
    if rank >= power:
        dist.recv(flat, rank - power)
    else:
        while gap < power:
            flat += exchanged(flat, rank ^ gap)
            gap *= 2
        if rank + power < world:
            dist.send(flat, rank + power)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def extra_ranks_get_no_result(x: Tensor, rank: int, world: int) -> None:
    """The ranks beyond the largest power of two give their numbers away, and nobody sends them the result."""
    flat, power, gap = x.contiguous(), 1 << (world.bit_length() - 1), 1
    if rank >= power:
        dist.send(flat, rank - power)
        return
    if rank + power < world:
        received = torch.empty_like(flat)
        dist.recv(received, rank + power)
        flat += received
    while gap < power:
        flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def depth_rounded_down(x: Tensor, rank: int, world: int) -> None:
    """The tree has int(log2(N)) levels: for 3, 5 or 9 ranks one too few, and the last ranks are never
    reached. It takes ceil(log2(N)).
    """
    inside = 1 << (world.bit_length() - 1)
    flat = x.contiguous()
    if rank < inside:
        down(flat, rank, inside, up(flat, rank, inside))
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def adds_on_the_way_down(x: Tensor, rank: int, world: int) -> None:
    """On the way down the result is added to the partial sum that stands there. It is complete: copy it."""
    gap = up(x, rank, world)
    if rank:
        received = torch.empty_like(x)
        dist.recv(received, rank - gap)
        x += received
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.send(x, rank + gap)


@tree_allreduce.variant(adds_on_the_way_down)
def _(x: Tensor, rank: int, world: int) -> None:
    received = torch.empty_like(x)
    children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < world]
    for child in children:
        dist.recv(received, child)
        x += received
    if rank:
        dist.send(x, (rank - 1) // 2)
        dist.recv(received, (rank - 1) // 2)
        x += received
    for child in children:
        dist.send(x, child)


@tree_allreduce.mistake()
def forwards_running_sum(x: Tensor, rank: int, world: int) -> None:
    """Each rank answers its child as soon as it has added that child's numbers, so the children get sums that
    are not complete. The way down starts when rank 0 has all.
    """
    received, gap = torch.empty_like(x), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            x += received
            dist.send(x, rank + gap)
        gap *= 2
    if rank:
        dist.send(x, rank - gap)
        dist.recv(x, rank - gap)


@tree_allreduce.mistake()
def mean(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 divides by the number of ranks before the way down. What is asked is the sum."""
    gap = up(x, rank, world)
    if rank == 0:
        x /= world
    down(x, rank, world, gap)


@tree_allreduce.mistake()
def returns_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """The sum is returned in a new tensor, and x stays as it was. All-reduce edits x."""
    result = x.clone()
    down(result, rank, world, up(result, rank, world))
    return result


@tree_allreduce.mistake()
def works_on_a_copy(x: Tensor, rank: int, world: int) -> None:
    """The tree runs on a copy, and nobody copies the result back into x."""
    result = x.clone()
    down(result, rank, world, up(result, rank, world))


@tree_allreduce.mistake()
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The buffer is added before its message is there. Only wait() says that it has arrived."""
    received, gap = torch.empty_like(x), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.irecv(received, rank + gap)
            x += received
        gap *= 2
    if rank:
        dist.send(x, rank - gap)
    down(x, rank, world, gap)


@tree_allreduce.mistake()
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The isends of the way down are not waited for: a message may still be reading x when the function
    returns.
    """
    flat = x.contiguous()
    gap = up(flat, rank, world)
    if rank:
        dist.recv(flat, rank - gap)
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.isend(flat, rank + gap)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """dist.all_reduce does all of it. Build it from messages of one rank to one other."""
    dist.all_reduce(x)


@tree_allreduce.mistake()
def a_star(x: Tensor, rank: int, world: int) -> None:
    """All send to rank 0, and rank 0 to all. No message waits for a second one, but rank 0 moves N - 1 times
    x both ways, one after the other. In a tree others add and hand out, too.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        received = torch.empty_like(flat)
        for source in range(1, world):
            dist.recv(received, source)
            flat += received
        for target in range(1, world):
            dist.send(flat, target)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def tree_up_star_down(x: Tensor, rank: int, world: int) -> None:
    """The way up is a tree, but rank 0 hands the result to every rank itself, N - 1 times x. On the way down
    each rank that has the result can pass it on.
    """
    flat = x.contiguous()
    up(flat, rank, world)
    if rank:
        dist.recv(flat, 0)
    else:
        for target in range(1, world):
            dist.send(flat, target)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def a_chain(x: Tensor, rank: int, world: int) -> None:
    """The sum goes from rank to rank down a chain and back: each rank has one neighbour on each side, and the
    last one waits for all the others. A tree has 2 log2(N) rounds, the chain 2 (N - 1).
    """
    flat = x.contiguous()
    if rank + 1 < world:
        received = torch.empty_like(flat)
        dist.recv(received, rank + 1)
        flat += received
    if rank:
        dist.send(flat, rank - 1)
        dist.recv(flat, rank - 1)
    if rank + 1 < world:
        dist.send(flat, rank + 1)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake()
def a_ring(x: Tensor, rank: int, world: int) -> None:
    """That is the ring: few bytes, and 2 (N - 1) rounds. For small x the rounds are what counts, and a tree
    has 2 log2(N) of them.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        first_half(chunks, rank, world)
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@tree_allreduce.mistake()
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> None:
    """`x.contiguous()` of a column is a copy. It was reduced, and the column stayed as it was."""
    flat = x.contiguous()
    down(flat, rank, world, up(flat, rank, world))


@tree_allreduce.mistake()
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """send and recv take contiguous tensors only. Work on `x.contiguous()` and copy the result back into x."""
    down(x, rank, world, up(x, rank, world))


@tree_allreduce.mistake()
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """The buffer is float32 whatever x is; a message carries bytes, no types."""
    flat = x.contiguous()
    received, gap = torch.empty(flat.shape), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            flat += received
        gap *= 2
    if rank:
        dist.send(flat, rank - gap)
    down(flat, rank, world, gap)
    if flat is not x:
        x.copy_(flat)
