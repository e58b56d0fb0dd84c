"""Mistakes in 08.ring_allreduce whose sums are wrong on four ranks, or whose ranks wait for ever."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_allreduce.exercise import ring_allreduce
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces.right import exchanged, first_half, second_half


def chunks_of(x: Tensor, world: int) -> tuple[Tensor, ...]:
    return x.contiguous().view(-1).tensor_split(world)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def stops_after_the_first_half(x: Tensor, rank: int, world: int) -> None:
    """Each rank has one complete chunk, and partial sums in the others. Perhaps only the first half runs.
    The complete chunks still have to go round.
    """
    first_half(chunks_of(x, world), rank, world)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def second_half_adds(x: Tensor, rank: int, world: int) -> None:
    """Some ranks are counted twice and more. Perhaps the second half adds what arrives to the partial sum
    that stands there. The first half adds, the second one copies.
    """
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        mine += buffer


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def second_half_starts_with_chunk_rank(x: Tensor, rank: int, world: int) -> None:
    """Ranks end with numbers of others that are no complete sums. After the first half rank r owns chunk r + 1.
    Perhaps the second half sends chunk rank - step, as the first one did; the index is rank + 1 - step.
    (If the first half copies, the same comes out.)
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    for step in range(world - 1):
        exchanged(chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def second_half_runs_forwards(x: Tensor, rank: int, world: int) -> None:
    """Some ranks have some complete chunks at their places, and something else stands at the others. Perhaps in the
    second half an index runs forwards, rank + 1 + step, or stands still, or the neighbours have changed places and the
    indices have not. With two ranks there is one step, and nobody notices.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1 + step) % world], chunks[(rank + step) % world], rank, world)


@ring_allreduce.variant(second_half_runs_forwards)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1 + step) % world], chunks[(rank + 2 + step) % world], rank, world)


@ring_allreduce.variant(second_half_runs_forwards)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    for _ in range(world - 1):  # the own chunk each time
        exchanged(chunks[(rank + 1) % world], chunks[rank], rank, world)


@ring_allreduce.variant(second_half_runs_forwards)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1) % world], chunks[(rank - step) % world], rank, world)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def first_half_runs_forwards(x: Tensor, rank: int, world: int) -> None:
    """No chunk is the sum of all ranks, though all ranks agree. Perhaps in the first half the index runs
    forwards, rank + step: right for two ranks. With more, a chunk is sent on before its partial sum has
    come.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank + step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank + step) % world], buffer, rank, world)
        mine += buffer
    second_half(chunks, rank, world)


@ring_allreduce.variant(first_half_runs_forwards)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank + step + 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank + step) % world], buffer, rank, world)
        mine += buffer
    second_half(chunks, rank, world)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 has the sum, and no other rank has it. All-reduce is for every rank. Perhaps the complete
    chunks are collected on rank 0, and there it ends.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    if rank:
        dist.send(chunks[(rank + 1) % world], 0)
        return
    for owner in range(1, world):
        dist.recv(chunks[(owner + 1) % world], owner)


@ring_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def all_send_first(x: Tensor, rank: int, world: int) -> None:
    """Every rank stands in a blocking send, and nobody receives: the ring is stuck. A send returns only
    when the other side receives. Post the irecv before the send, or let odd ranks receive first.
    """
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        dist.recv(buffer, (rank - 1) % world)
        mine.copy_(mine + buffer if step < world - 1 else buffer)


@ring_allreduce.mistake(breaks=contract.WAITED)
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """There are irecvs that nobody waited for, and what was used is what stood in the buffer before. irecv only asks for a
    message; after its wait() the numbers are there.
    """
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine.copy_(mine + buffer if step < world - 1 else buffer)


@ring_allreduce.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.zeros_like(mine)
        dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine.copy_(mine + buffer if step < world - 1 else buffer)


@ring_allreduce.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.irecv(buffer, (rank - 1) % world)
        dist.isend(chunks[(rank - step) % world], (rank + 1) % world).wait()
        mine.copy_(mine + buffer if step < world - 1 else buffer)


@ring_allreduce.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
        dist.irecv(buffer, (rank - 1) % world)
        mine.copy_(mine + buffer if step < world - 1 else buffer)


def added_before_wait(x: Tensor, rank: int, world: int, buffers: Callable[[Tensor, int], Tensor]) -> None:
    """buffers(chunk, step): where the chunk of a step arrives."""
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = buffers(mine, step)
        arrives = dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
        arrives.wait()
    second_half(chunks, rank, world)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def used_before_the_wait(x: Tensor, rank: int, world: int) -> None:
    """Numbers are missing from the sums: what has come is not in them. Perhaps a buffer is added before its request is
    waited for: until wait() returns it holds what was there before, of the step before, say.
    """
    kept = torch.zeros(x.numel(), dtype=x.dtype)
    added_before_wait(x, rank, world, lambda chunk, step: kept[: len(chunk)])


@ring_allreduce.variant(used_before_the_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    added_before_wait(x, rank, world, lambda chunk, step: torch.zeros_like(chunk))


@ring_allreduce.variant(used_before_the_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    added_before_wait(x, rank, world, lambda chunk, step: torch.empty_like(chunk))


@ring_allreduce.variant(used_before_the_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    kept = torch.empty(x.numel(), dtype=x.dtype)
    added_before_wait(x, rank, world, lambda chunk, step: kept[: len(chunk)])


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def isend_buffer_overwritten(x: Tensor, rank: int, world: int) -> None:
    """What is sent is not what should be: numbers come twice, in the place of others, or not at all. Perhaps a buffer is
    filled anew while its isend has not been waited for. Until wait() returns, the buffer belongs to the transfer.
    """
    chunks = chunks_of(x, world)
    leaving = torch.empty_like(chunks[0])
    requests = []
    for step in range(2 * (world - 1)):
        outgoing, mine = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        part, buffer = leaving[: len(outgoing)], torch.empty_like(mine)
        part.copy_(outgoing)
        requests.append(dist.isend(part, (rank + 1) % world))
        dist.recv(buffer, (rank - 1) % world)
        mine.copy_(mine + buffer if step < world - 1 else buffer)
    for request in requests:
        request.wait()


@ring_allreduce.variant(isend_buffer_overwritten)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()  # leaves and takes what comes
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        leaves = dist.isend(travelling, (rank + 1) % world)
        travelling = travelling[: len(mine)]
        dist.recv(travelling, (rank - 1) % world)
        leaves.wait()
        travelling += mine if step < world - 1 else 0
        mine.copy_(travelling)


@ring_allreduce.variant(isend_buffer_overwritten)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        exchanged(travelling, travelling, rank, world)
        travelling += mine if step < world - 1 else 0
        mine.copy_(travelling)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def mean(x: Tensor, rank: int, world: int) -> None:
    """The result is divided by the number of ranks. All-reduce's default is the sum; a mean is one
    division more, by the caller.
    """
    chunks = chunks_of(x, world)
    first_half(chunks, rank, world)
    second_half(chunks, rank, world)
    x /= world


@ring_allreduce.mistake(breaks=contract.IN_PLACE)
def returns_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """Messages travel, a tensor is returned, and x is as before. All-reduce edits x. Perhaps the sum was
    made in a copy.
    """
    result = x.clone()
    first_half(chunks_of(result, world), rank, world)
    second_half(chunks_of(result, world), rank, world)
    return result


@ring_allreduce.mistake(breaks=contract.IN_PLACE)
def works_on_a_copy(x: Tensor, rank: int, world: int) -> None:
    """Messages travel, and x is as before on every rank. Perhaps the ring runs on a copy of x, and
    nothing is copied back.
    """
    result = x.clone()
    first_half(chunks_of(result, world), rank, world)
    second_half(chunks_of(result, world), rank, world)


@ring_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def forwards_running_sum(x: Tensor, rank: int, world: int) -> None:
    """Numbers are counted several times, in the whole of x. Perhaps whole running sums go round, and each
    holds numbers that the next rank has counted already: right for two ranks only. Pass on what arrived,
    or better, one chunk at a time.
    """
    received = torch.empty_like(x)
    for _ in range(world - 1):
        exchanged(x, received, rank, world)
        x += received
