"""What people write for 08.naive_allreduce, and why it is wrong."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.naive_allreduce.exercise import naive_allreduce


def collected(x: Tensor, world: int) -> None:
    """Rank 0's part, first half."""
    received = torch.empty_like(x)
    for source in range(1, world):
        dist.recv(received, source)
        x += received


def handed_out(x: Tensor, world: int) -> None:
    """Rank 0's part, second half."""
    for target in range(1, world):
        dist.send(x, target)


@naive_allreduce.mistake()
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 has the sum and keeps it. All-reduce is for every rank: the sum has to travel back into their x."""
    if rank == 0:
        collected(x, world)
    else:
        dist.send(x, 0)


@naive_allreduce.variant(right_on_rank_0_only)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.clone()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)  # arrives in the copy
        return
    collected(flat, world)
    handed_out(flat, world)
    x.copy_(flat)


@naive_allreduce.mistake()
def forwards_running_sum(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 answers each rank as soon as it has added that rank's numbers, so the early ones get a sum that
    is not complete. With two ranks it looks right. Collect from all first, then hand out.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.empty_like(x)
    for other in range(1, world):
        dist.recv(received, other)
        x += received
        dist.send(x, other)


@naive_allreduce.mistake()
def running_sum_around_the_ring(x: Tensor, rank: int, world: int) -> None:
    """Each rank passes on its running sum, which holds numbers that the next one has counted already: right
    for two ranks, 24 in place of 10 for 1 + 2 + 3 + 4. Pass on what arrived, not the sum so far.
    """
    received = torch.empty_like(x)
    for _ in range(world - 1):
        arrives = dist.irecv(received, (rank - 1) % world)
        dist.send(x, (rank + 1) % world)
        arrives.wait()
        x += received


@naive_allreduce.mistake()
def pairs_only(x: Tensor, rank: int, world: int) -> None:
    """Each rank talks to one other, and then it stops: that is the sum for two ranks. Four need all of them."""
    other = rank ^ 1
    if other < world:
        received = torch.empty_like(x)
        arrives = dist.irecv(received, other)
        dist.send(x, other)
        arrives.wait()
        x += received


@naive_allreduce.variant(pairs_only)
def _(x: Tensor, rank: int, world: int) -> None:
    received = torch.empty_like(x)
    if rank == 0 and world > 1:
        dist.recv(received, 1)
        x += received
        dist.send(x, 1)
    elif rank == 1:
        dist.send(x, 0)
        dist.recv(x, 0)


@naive_allreduce.mistake()
def sum_goes_one_way_down_a_chain(x: Tensor, rank: int, world: int) -> None:
    """Each rank adds what comes from the rank before it, and passes its sum on to the next one. The last rank
    has the sum of all, every other one only the sum up to itself: the way back is missing.
    """
    if rank:
        received = torch.empty_like(x)
        dist.recv(received, rank - 1)
        x += received
    if rank + 1 < world:
        dist.send(x, rank + 1)


@naive_allreduce.mistake()
def returns_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """The sum is returned and x stays as it was. A collective writes into the tensor that it is given and
    returns None: the caller's x, a gradient say, has to change.
    """
    result = x.clone()
    if rank:
        dist.send(result, 0)
        dist.recv(result, 0)
    else:
        collected(result, world)
        handed_out(result, world)
    return result


@naive_allreduce.mistake()
def works_on_a_copy(x: Tensor, rank: int, world: int) -> None:
    """All is added up in a copy, and nobody copies it back: x is as before on every rank. `x = x + received`
    makes such a copy, too; `x += received` and `x.copy_(result)` write into x.
    """
    result = x.clone()
    if rank:
        dist.send(result, 0)
        dist.recv(result, 0)
    else:
        collected(result, world)
        handed_out(result, world)


@naive_allreduce.mistake()
def rank_0_binds_a_new_name(x: Tensor, rank: int, world: int) -> None:
    """`x = x + received` makes a new tensor on rank 0. The others get the right sum from it, but rank 0's own
    x is as before. `x += received` adds in place.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.empty_like(x)
    for source in range(1, world):
        dist.recv(received, source)
        x = x + received
    handed_out(x, world)


@naive_allreduce.mistake()
def adds_what_comes_back(x: Tensor, rank: int, world: int) -> None:
    """What comes back from rank 0 is the sum already, with the own numbers in it. It is copied into x, not
    added.
    """
    if rank:
        dist.send(x, 0)
        received = torch.empty_like(x)
        dist.recv(received, 0)
        x += received
        return
    collected(x, world)
    handed_out(x, world)


@naive_allreduce.mistake()
def mean(x: Tensor, rank: int, world: int) -> None:
    """Somebody divides by the number of ranks. All-reduce's default is the sum; who wants the mean divides
    once, outside.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    collected(x, world)
    x /= world
    handed_out(x, world)


# Deadlocks, races, other traffic, other dtypes and memory.


@naive_allreduce.mistake()
def all_send_first(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 sends before it receives, and the others do the same: two blocking sends face each other, and
    nobody receives. One side has to receive first, or use irecv before it sends.
    """
    received, total = torch.empty_like(x), x.clone()
    for other in range(1, world) if rank == 0 else [0]:
        dist.send(x, other)
        dist.recv(received, other)
        total += received
    x.copy_(total)


@naive_allreduce.variant(all_send_first)
def _(x: Tensor, rank: int, world: int) -> None:
    received, others = torch.empty_like(x), [other for other in range(world) if other != rank]
    for other in others:
        dist.send(x, other)
    for other in others:
        dist.recv(received, other)
        x += received


@naive_allreduce.mistake()
def all_receive_first(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 waits for the numbers of the others, and the others wait for the sum of rank 0: everybody
    receives, and nobody sends. The others have to send first.
    """
    if rank == 0:
        collected(x, world)
        handed_out(x, world)
    else:
        total = torch.empty_like(x)
        dist.recv(total, 0)
        dist.send(x, 0)
        x.copy_(total)


@naive_allreduce.mistake()
def one_buffer_for_all_receives(x: Tensor, rank: int, world: int) -> None:
    """All receives are posted into one buffer, so each message overwrites the one before. A buffer takes one
    message at a time: one per sender, or wait and add before the next irecv.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.empty_like(x)
    requests = [dist.irecv(received, source) for source in range(1, world)]
    for request in requests:
        request.wait()
    for _ in requests:
        x += received
    handed_out(x, world)


@naive_allreduce.mistake()
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """irecv only asks for a message. Until its wait() returns the buffer holds what was there before, here
    nothing.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.empty_like(x)
    for source in range(1, world):
        dist.irecv(received, source)
        x += received
    handed_out(x, world)


@naive_allreduce.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.zeros_like(x)
    for source in range(1, world):
        dist.irecv(received, source)
        x += received
    handed_out(x, world)


@naive_allreduce.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.irecv(flat, 0)
    else:
        collected(flat, world)
        handed_out(flat, world)
    if flat is not x:
        x.copy_(flat)


@naive_allreduce.mistake()
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The sum is right, but rank 0 returns while its isends may still be reading x. If the caller then
    changes x, the others get the new numbers. Keep the requests and wait for each.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        collected(flat, world)
        for target in range(1, world):
            dist.isend(flat, target)
    if flat is not x:
        x.copy_(flat)


@naive_allreduce.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """dist.all_reduce is what you are building here; so are reduce, broadcast and all_gather. Use messages
    from one rank to one other.
    """
    dist.all_reduce(x)


@naive_allreduce.mistake()
def everybody_sends_to_everybody(x: Tensor, rank: int, world: int) -> None:
    """Each rank sends to all others and adds up by itself. The sums are right, but every rank now moves what
    only rank 0 should: the traffic grows with the square of the ranks.
    """
    flat, others = x.contiguous(), [other for other in range(world) if other != rank]
    buffers = [torch.empty_like(flat) for _ in others]
    arrive = [dist.irecv(buffer, other) for buffer, other in zip(buffers, others, strict=True)]
    leave = [dist.isend(flat, other) for other in others]
    for request in arrive + leave:
        request.wait()
    x += sum(buffers, torch.zeros_like(flat))


@naive_allreduce.mistake()
def sum_goes_down_a_chain(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 collects, but the sum then goes from rank to rank down a chain. It is right, only rank 0 sends
    once and those in between send twice: other bytes than asked, and each rank waits for all before it.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, rank - 1)
    else:
        collected(flat, world)
    if rank + 1 < world:
        dist.send(flat, rank + 1)
    if flat is not x:
        x.copy_(flat)


@naive_allreduce.mistake()
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> None:
    """`x.contiguous()` is x itself when x is contiguous, and a copy when it is not. The copy was reduced, and
    the column of the caller stayed as it was. Copy the result back.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        collected(flat, world)
        handed_out(flat, world)


@naive_allreduce.mistake()
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """send and recv take contiguous tensors only, and a column of a matrix is none. Send a contiguous copy,
    and copy the result back into x.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
    else:
        collected(x, world)
        handed_out(x, world)


@naive_allreduce.variant(sends_a_strided_view)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.view(-1) if x.is_contiguous() else x  # a message is refused, or view fails
    received = torch.empty(flat.shape, dtype=x.dtype)
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
        return
    for source in range(1, world):
        dist.recv(received, source)
        flat += received
    handed_out(flat, world)


@naive_allreduce.mistake()
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """`torch.empty(x.shape)` is float32 whatever x is. A message carries bytes, no types: the buffer needs
    the dtype of x, as torch.empty_like gives it.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        received = torch.empty(flat.shape)
        for source in range(1, world):
            dist.recv(received, source)
            flat += received
        handed_out(flat, world)
    if flat is not x:
        x.copy_(flat)


@naive_allreduce.variant(buffer_of_the_default_dtype)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.float().contiguous()  # rounds large integers, and gives back what it can
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        collected(flat, world)
        handed_out(flat, world)
    x.copy_(flat)
