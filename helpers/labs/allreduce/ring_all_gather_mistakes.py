"""Wrong answers to 08.ring_all_gather."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_all_gather import ring_all_gather
from helpers.labs.allreduce.wrong_parts import exchanged, place, second_half, through_chunks


def chunks_of(x: Tensor, world: int) -> tuple[Tensor, ...]:
    return x.contiguous().view(-1).tensor_split(world)


@ring_all_gather.mistake()
def adds_what_arrives(x: Tensor, rank: int, world: int) -> None:
    """What arrives is added to what stands there. These chunks are complete: they replace partial sums, and
    adding counts some ranks twice. Phase 1 adds, phase 2 copies.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
        mine += buffer


@ring_all_gather.mistake()
def starts_with_chunk_rank(x: Tensor, rank: int, world: int) -> None:
    """The first chunk sent is `rank`, as in the first half. But rank r now owns chunk r + 1: what it sends is
    a partial sum, and that is what everybody ends up with. The index is rank + 1 - step.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank - step) % world], chunks[(rank - step - 1) % world], rank, world)


@ring_all_gather.mistake()
def right_for_two_ranks_only(x: Tensor, rank: int, world: int) -> None:
    """The chunk index runs forwards, + step. With two ranks that is the same as backwards; with more, each
    rank sends chunks that have not come to it yet.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1 + step) % world], chunks[(rank + step) % world], rank, world)


@ring_all_gather.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1 + step) % world], chunks[(rank + 2 + step) % world], rank, world)


@ring_all_gather.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        buffer = torch.empty_like(chunks[(rank - step) % world])
        exchanged(chunks[(rank + 1 + step) % world], buffer, rank, world)
        chunks[(rank - step) % world].copy_(buffer)


@ring_all_gather.variant(right_for_two_ranks_only)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        buffer = torch.empty_like(chunks[(rank + step) % world])
        exchanged(chunks[(rank + 1 - step) % world], buffer, rank, world)
        chunks[(rank + step) % world].copy_(buffer)


@ring_all_gather.mistake()
def sends_its_own_chunk_each_step(x: Tensor, rank: int, world: int) -> None:
    """Each rank sends its own chunk at every step, so its neighbour gets that one N - 1 times and no other.
    Send on what has just arrived.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        exchanged(chunks[(rank + 1) % world], chunks[(rank - step) % world], rank, world)


@ring_all_gather.variant(sends_its_own_chunk_each_step)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    for _ in range(world - 1):
        exchanged(chunks[(rank + 1) % world], chunks[rank], rank, world)


@ring_all_gather.mistake()
def chunks_in_order_of_ranks(x: Tensor, rank: int, world: int) -> None:
    """The chunks are laid down by the number of their owner, so each stands one place off: rank r owns chunk
    r + 1, not chunk r.
    """
    chunks = chunks_of(x, world)
    travelling, found = chunks[(rank + 1) % world].clone(), {}
    found[rank] = travelling
    for step in range(world - 1):
        received = torch.empty_like(chunks[(rank - step) % world])
        exchanged(travelling, received, rank, world)
        travelling = found[(rank - step - 1) % world] = received
    x.copy_(torch.cat([found[owner] for owner in range(world)]).view(x.shape))


@ring_all_gather.mistake()
def one_step_too_few(x: Tensor, rank: int, world: int) -> None:
    """N chunks need N - 1 steps to come to everybody; here one step is missing, and on each rank one chunk is
    still the old one.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 2):
        exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)


@ring_all_gather.mistake()
def all_send_first(x: Tensor, rank: int, world: int) -> None:
    """Everybody waits in a blocking send to the right, and nobody receives. Post the irecv before the send."""
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
        dist.recv(chunks[(rank - step) % world], (rank - 1) % world)


@ring_all_gather.mistake()
def all_receive_first(x: Tensor, rank: int, world: int) -> None:
    """Everybody waits in a blocking recv, and nobody has sent yet. irecv returns at once: post it, send, then
    wait.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.recv(chunks[(rank - step) % world], (rank - 1) % world)
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)


@ring_all_gather.mistake()
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """A chunk is sent on before it has arrived: irecv returns at once, and only its wait() says that the
    numbers are there.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        dist.irecv(chunks[(rank - step) % world], (rank - 1) % world)
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)


@ring_all_gather.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> None:
    def work(chunks: tuple[Tensor, ...]) -> None:
        for step in range(world - 1):
            buffer = torch.empty_like(chunks[(rank - step) % world])
            dist.irecv(buffer, (rank - 1) % world)
            dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
            chunks[(rank - step) % world].copy_(buffer)

    through_chunks(x, world, work)


@ring_all_gather.mistake()
def one_buffer_sends_and_receives(x: Tensor, rank: int, world: int) -> None:
    """One buffer holds the chunk that leaves and takes the one that comes. While the isend is not waited for,
    what arrives overwrites what should leave. Receive each chunk into its own place in x.
    """
    chunks = chunks_of(x, world)
    travelling = chunks[(rank + 1) % world].clone()
    for step in range(world - 1):
        leaves = dist.isend(travelling, (rank + 1) % world)
        travelling = travelling[: len(chunks[(rank - step) % world])]
        dist.recv(travelling, (rank - 1) % world)
        leaves.wait()
        chunks[(rank - step) % world].copy_(travelling)


@ring_all_gather.variant(one_buffer_sends_and_receives)
def _(x: Tensor, rank: int, world: int) -> None:
    chunks = chunks_of(x, world)
    travelling = chunks[(rank + 1) % world].clone()
    for step in range(world - 1):
        exchanged(travelling, travelling, rank, world)
        chunks[(rank - step) % world].copy_(travelling)


@ring_all_gather.mistake()
def gathers_into_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """The chunks come together in a new tensor, and x stays as it was. Receive into x, or copy the result
    into it.
    """
    result = x.clone()
    through_chunks(result, world, lambda chunks: second_half(chunks, rank, world))
    return result


@ring_all_gather.variant(gathers_into_a_new_tensor)
def _(x: Tensor, rank: int, world: int) -> None:
    result = x.clone()
    through_chunks(result, world, lambda chunks: second_half(chunks, rank, world))


@ring_all_gather.mistake()
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """All owners send their chunk to rank 0, and there it ends. Every rank needs every chunk."""
    chunks = chunks_of(x, world)
    if rank:
        dist.send(chunks[(rank + 1) % world], 0)
        return
    for owner in range(1, world):
        dist.recv(chunks[(owner + 1) % world], owner)


@ring_all_gather.mistake()
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """dist.all_gather is what you are building here. Use messages from one rank to the next."""
    wholes = [torch.empty(x.shape, dtype=x.dtype) for _ in range(world)]
    dist.all_gather(wholes, x.contiguous())
    for owner, whole in enumerate(wholes):
        own = place(x, owner, world)
        if x.is_contiguous():
            x.view(-1)[own] = whole.view(-1)[own]
