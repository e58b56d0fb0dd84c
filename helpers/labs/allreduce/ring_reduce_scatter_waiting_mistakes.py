"""Wrong answers to 08.ring_reduce_scatter whose ranks wait for ever, or not long enough."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.ring_reduce_scatter import ring_reduce_scatter
from helpers.labs.allreduce.ring_reduce_scatter_mistakes import chunks_of
from helpers.labs.allreduce.wrong_parts import place


@ring_reduce_scatter.mistake()
def all_send_first(x: Tensor, rank: int, world: int) -> slice:
    """Everybody stands in a blocking send to the right, and nobody receives: the ring is stuck at its first
    step. Post the irecv before the send.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        dist.recv(buffer, (rank - 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def all_receive_first(x: Tensor, rank: int, world: int) -> slice:
    """Everybody stands in a blocking recv from the left, and nobody has sent yet. Post the irecv, which
    returns at once, then send.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.recv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def irecv_without_wait(x: Tensor, rank: int, world: int) -> slice:
    """The buffer is added before its message is there. irecv returns at once; only wait() says that the
    numbers have arrived.
    """
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.zeros_like(mine)
        dist.irecv(buffer, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        mine += buffer
    return place(x, rank, world)


@ring_reduce_scatter.variant(irecv_without_wait)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    buffer = torch.empty_like(chunks[0])
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        arrives = buffer[: len(mine)]
        dist.irecv(arrives, (rank - 1) % world)
        leaves = dist.isend(chunks[(rank - step) % world], (rank + 1) % world)
        leaves.wait()
        mine += arrives
    return place(x, rank, world)


@ring_reduce_scatter.mistake()
def one_buffer_sends_and_receives(x: Tensor, rank: int, world: int) -> slice:
    """One buffer holds the partial sum that leaves and takes the one that comes. Until the isend is waited
    for, the buffer belongs to it: what arrives meanwhile is sent on in place of the own sum. Two buffers, or
    wait first.
    """
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(world - 1):
        leaves = dist.isend(travelling, (rank + 1) % world)
        travelling = travelling[: len(chunks[(rank - step - 1) % world])]
        dist.recv(travelling, (rank - 1) % world)
        leaves.wait()
        travelling += chunks[(rank - step - 1) % world]
    chunks[(rank + 1) % world].copy_(travelling)
    return place(x, rank, world)


@ring_reduce_scatter.variant(one_buffer_sends_and_receives)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(world - 1):
        arrives = dist.irecv(travelling, (rank - 1) % world)
        dist.send(travelling, (rank + 1) % world)
        arrives.wait()
        travelling += chunks[(rank - step - 1) % world]
    chunks[(rank + 1) % world].copy_(travelling)
    return place(x, rank, world)


@ring_reduce_scatter.variant(one_buffer_sends_and_receives)
def _(x: Tensor, rank: int, world: int) -> slice:
    chunks = chunks_of(x, world)
    travelling = chunks[rank].clone()
    for step in range(world - 1):
        leaves = dist.isend(travelling, (rank + 1) % world)
        received = torch.empty_like(travelling)
        dist.recv(received, (rank - 1) % world)
        travelling.copy_(received + chunks[(rank - step - 1) % world])
        leaves.wait()
    chunks[(rank + 1) % world].copy_(travelling)
    return place(x, rank, world)
