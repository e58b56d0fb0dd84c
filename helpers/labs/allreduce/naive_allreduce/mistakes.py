"""What people write for 08.naive_allreduce, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.naive_allreduce.exercise import RANK_0, naive_allreduce
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces import wrong


def collected(x: Tensor, world: int) -> None:
    """Rank 0's part, first half."""
    received = torch.empty_like(x)
    for source in range(1, world):
        dist.recv(received, source)
        x += received


def right(x: Tensor, rank: int, world: int) -> None:
    """All of it."""
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        collected(flat, world)
        handed_out(flat, world)
    if flat is not x:
        x.copy_(flat)


def handed_out(x: Tensor, world: int) -> None:
    """Rank 0's part, second half."""
    for target in range(1, world):
        dist.send(x, target)


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 has the sum, and the others hold what they had. All-reduce is for every rank. Perhaps the
    sum is not sent back, or it arrives in a copy and not in their x.
    """
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


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def forwards_running_sum(x: Tensor, rank: int, world: int) -> None:
    """The last rank and rank 0 have the sum, and the earlier a rank was answered the more is missing.
    Perhaps rank 0 answers each rank as soon as it has added its numbers. With two ranks that looks right.
    Collect from all first, then hand out.
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


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def running_sum_around_the_ring(x: Tensor, rank: int, world: int) -> None:
    """Some numbers are counted three times. Perhaps each rank passes on its running sum, which holds
    numbers that the next one has counted already: right for two ranks. Pass on what arrived, not the sum
    so far.
    """
    received = torch.empty_like(x)
    for _ in range(world - 1):
        arrives = dist.irecv(received, (rank - 1) % world)
        dist.send(x, (rank + 1) % world)
        arrives.wait()
        x += received


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def pairs_only(x: Tensor, rank: int, world: int) -> None:
    """No rank has more than the sum of two. Perhaps ranks talk in pairs, or only two of them talk: that is all-reduce for two
    ranks. Four need all of them.
    """
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


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def sum_goes_one_way_down_a_chain(x: Tensor, rank: int, world: int) -> None:
    """One rank has the sum of all, each rank on the way to it the sum up to itself. Perhaps each adds
    what comes from the rank before it and passes its sum on: then the way back is missing.
    """
    if rank:
        received = torch.empty_like(x)
        dist.recv(received, rank - 1)
        x += received
    if rank + 1 < world:
        dist.send(x, rank + 1)


@naive_allreduce.mistake(breaks=contract.IN_PLACE)
def returns_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """Messages travel, a tensor is returned, and x is as before. A collective writes into the tensor that
    it is given: the caller's x, a gradient say, has to change. Perhaps the sum was made in a copy.
    """
    result = x.clone()
    if rank:
        dist.send(result, 0)
        dist.recv(result, 0)
    else:
        collected(result, world)
        handed_out(result, world)
    return result


@naive_allreduce.mistake(breaks=contract.IN_PLACE)
def works_on_a_copy(x: Tensor, rank: int, world: int) -> None:
    """Messages travel, and x is as before on every rank. Perhaps all is added up in a copy that nobody
    copies back. `x = x + received` makes such a copy, too; `x += received` and `x.copy_(result)` write
    into x.
    """
    result = x.clone()
    if rank:
        dist.send(result, 0)
        dist.recv(result, 0)
    else:
        collected(result, world)
        handed_out(result, world)


@naive_allreduce.mistake(breaks=contract.IN_PLACE)
def rank_0_binds_a_new_name(x: Tensor, rank: int, world: int) -> None:
    """The others get the right sum from rank 0, and rank 0's own x is as before. Perhaps it adds up in a different tensor:
    `x = x + received` makes one, and a copy is one. `x += received` adds in place, and `x.copy_(total)` brings a sum back.
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


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def adds_what_comes_back(x: Tensor, rank: int, world: int) -> None:
    """Every rank but 0 counts its own numbers twice. Perhaps it adds what comes back from rank 0, which
    is the sum already, with its own numbers in it. It is to be copied into x.
    """
    if rank:
        dist.send(x, 0)
        received = torch.empty_like(x)
        dist.recv(received, 0)
        x += received
        return
    collected(x, world)
    handed_out(x, world)


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def mean(x: Tensor, rank: int, world: int) -> None:
    """The result is the mean. All-reduce's default is the sum; who wants the mean divides once, outside.
    Perhaps somebody divides by the number of ranks.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    collected(x, world)
    x /= world
    handed_out(x, world)


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def last_rank_not_added(x: Tensor, rank: int, world: int) -> None:
    """The numbers of the last rank are missing from the sum. Perhaps a loop over the ranks ends one too early: range(1, world)
    ends with world - 1, which is the last.
    """
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    received = torch.empty_like(x)
    for source in range(1, world):
        dist.recv(received, source)
        if source < world - 1:
            x += received
    handed_out(x, world)


def added_before_wait(x: Tensor, rank: int, world: int, buffer: Callable[[Tensor], Tensor]) -> None:
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    buffers = [buffer(x) for _ in range(1, world)]
    requests = [dist.irecv(buffer, source) for source, buffer in enumerate(buffers, 1)]
    for each in buffers:
        x += each
    for request in requests:
        request.wait()
    handed_out(x, world)


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def used_before_the_wait(x: Tensor, rank: int, world: int) -> None:
    """Nothing that the other ranks sent is in the sum. Perhaps a buffer is added before its request is waited for: until
    wait() returns it holds what was there before.
    """
    added_before_wait(x, rank, world, torch.zeros_like)


@naive_allreduce.variant(used_before_the_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    added_before_wait(x, rank, world, torch.empty_like)


def keeps() -> None:
    """A closure, since it goes to each rank by value: what one check leaves in a module's variable the next one would meet."""
    totals: dict[tuple[int, ...], Tensor] = {}

    @naive_allreduce.mistake(breaks=contract.IN_A_ROW)
    def total_kept_between_calls(x: Tensor, rank: int, world: int) -> None:
        """The first call is right, and the second one gives the sums of both, added up. Perhaps rank 0 keeps the tensor in
        which it adds, in a variable that outlives the call, and never sets it to zero.
        """
        flat = x.contiguous()
        if rank:
            dist.send(flat, 0)
            dist.recv(flat, 0)
            x.copy_(flat)
            return
        received = torch.empty_like(flat)
        total = totals.setdefault(tuple(x.shape), torch.zeros_like(flat))
        total += flat
        for source in range(1, world):
            dist.recv(received, source)
            total += received
        handed_out(total, world)
        x.copy_(total)


keeps()


# Deadlocks, races, other traffic, other dtypes and memory.


@naive_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def all_send_first(x: Tensor, rank: int, world: int) -> None:
    """All ranks stand in a send, and nobody receives. A blocking send returns only when the other side
    receives. Perhaps rank 0 sends before it receives, as the others do: one side has to receive first, or
    to use irecv before it sends.
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


@naive_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def all_receive_first(x: Tensor, rank: int, world: int) -> None:
    """All ranks stand in a recv, and nobody sends. Perhaps rank 0 waits for the numbers of the others,
    and they wait for its sum. The others have to send first.
    """
    if rank == 0:
        collected(x, world)
        handed_out(x, world)
    else:
        total = torch.empty_like(x)
        dist.recv(total, 0)
        dist.send(x, 0)
        x.copy_(total)


@naive_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def one_buffer_for_all_receives(x: Tensor, rank: int, world: int) -> None:
    """One rank's numbers are counted as often as there are other ranks, and the rest not at all. Perhaps
    all receives are posted into one buffer, so each message overwrites the one before. A buffer takes one
    message at a time: one for each sender, or wait and add before the next irecv.
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


@naive_allreduce.mistake(breaks=contract.WAITED)
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """No irecv, of those that were posted, was waited for. irecv only asks for a message: until its
    wait() returns the buffer holds what was there before. Keep the request, and wait.
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


@naive_allreduce.mistake(breaks=contract.WAITED)
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The sum is right, but an isend was not waited for, so it may still be reading x when the function
    returns. If the caller then changes x, the others get the new numbers. Keep the requests and wait for
    each.
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


@naive_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """A collective of torch was called. dist.all_reduce is what you are building here; reduce, broadcast
    and all_gather are parts of it, barrier is none. Use messages from one rank to one other.
    """
    dist.all_reduce(x)


@naive_allreduce.mistake(breaks=RANK_0)
def everybody_sends_to_everybody(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but every rank moves what only rank 0 should: the traffic grows with the square
    of the ranks. Perhaps each rank sends to all others and adds up by itself.
    """
    flat, others = x.contiguous(), [other for other in range(world) if other != rank]
    buffers = [torch.empty_like(flat) for _ in others]
    arrive = [dist.irecv(buffer, other) for buffer, other in zip(buffers, others, strict=True)]
    leave = [dist.isend(flat, other) for other in others]
    for request in arrive + leave:
        request.wait()
    x += sum(buffers, torch.zeros_like(flat))


@naive_allreduce.mistake(breaks=RANK_0)
def sum_goes_down_a_chain(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 receives what it should, and sends once only; ranks in between send twice. Perhaps the sum
    goes from rank to rank down a chain. It is right, but each rank waits for all before it.
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


@naive_allreduce.mistake(breaks=RANK_0)
def a_chain_up_and_down(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 receives once and sends once, as the last rank, and those in between twice. Perhaps the sum is collected
    from rank to rank up a chain and handed back down: right, but each rank waits for all beyond it.
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


@naive_allreduce.mistake(breaks=RANK_0)
def sent_as_float64(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, and twice the bytes travel: a number of x has four, and its messages have eight for each. Perhaps
    x was converted with `x.double()`. Send in the dtype of x.
    """
    flat = (x.double() if x.is_floating_point() else x).contiguous()
    right(flat, rank, world)
    x.copy_(flat)


@naive_allreduce.mistake(breaks=contract.GAPS)
def whole_memory_reduced(x: Tensor, rank: int, world: int) -> None:
    """Of a view with gaps, numbers beside x change. Perhaps all of the memory was reduced, or x as if it lay there without
    gaps: what stands between its elements belongs to somebody else.
    """
    flat = x if x.is_contiguous() else torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    right(flat, rank, world)


@naive_allreduce.mistake(breaks=contract.GAPS)
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> None:
    """A contiguous x gets the sum, and an x with gaps stays as it was, though messages travel. Perhaps
    `x.contiguous()` was reduced: that is x itself when x is contiguous, and a copy when it is not. Copy
    the result back.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        collected(flat, world)
        handed_out(flat, world)


@naive_allreduce.mistake(breaks=contract.GAPS)
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """A message is refused: send and recv take contiguous tensors only, and a column of a matrix is none.
    Send a contiguous copy, and copy the result back into x.
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


@naive_allreduce.mistake(breaks=contract.ANY_DTYPE)
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """With some shape or dtype a message finds a buffer of a different size. Perhaps the receive buffer is
    `torch.empty(x.shape)`, which is float32, or kept from an earlier call. A message carries bytes, no types:
    torch.empty_like gives a buffer of x's shape and dtype.
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


wrong.around(naive_allreduce, right)
wrong.of_real_parts(naive_allreduce, right)


@naive_allreduce.mistake(breaks=contract.ANY_SHAPE)
def halves_of_one_length(x: Tensor, rank: int, world: int) -> None:
    """Seven elements cannot be viewed as rows of equal length. Perhaps x was cut in two for the messages. `tensor_split` cuts
    any number of elements.
    """
    flat = x.contiguous().view(2, -1) if x.numel() % 2 == 0 or x.dim() == 1 else x.contiguous().view(1, -1)
    for half in flat:
        right(half, rank, world)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


@naive_allreduce.mistake(breaks=contract.IN_A_ROW)
def next_receive_too_early(x: Tensor, rank: int, world: int) -> None:
    """Right while messages come as late as they can, wrong when they come early. Perhaps the next irecv is posted into the
    buffer that is still to be added, and writes it before its numbers are used. Add first, or take a buffer for each
    message.
    """
    flat = x.contiguous()
    if rank:
        total, leaves = torch.empty_like(flat), dist.isend(flat, 0)
        dist.recv(total, 0)
        leaves.wait()
        x.copy_(total)
        return
    received = torch.empty_like(flat)
    arrives = dist.irecv(received, 1) if world > 1 else None
    for source in range(1, world):
        arrives.wait()
        arrives = dist.irecv(received, source + 1) if source + 1 < world else None
        flat += received
    handed_out(flat, world)
    if flat is not x:
        x.copy_(flat)


@naive_allreduce.mistake(breaks=contract.ANY_DTYPE)
def integers_through_float64(x: Tensor, rank: int, world: int) -> None:
    """Very large int64 come back rounded, as float64 holds them: whole numbers above 2 ** 53 have no place in it.
    Perhaps integers were converted with `x.double()`. Send and add in the dtype of x.
    """
    wrong.integers_in_float64(right, x, rank, world)
