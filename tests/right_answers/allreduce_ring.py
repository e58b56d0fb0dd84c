"""Right answers to the ring of lab 08, in different shapes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend, recv

# The ring ---------------------------------------------------------------------------------------------------------


def scatter_with_irecv(x: Tensor, rank: int, world: int) -> slice:
    """irecv first, then a blocking send."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    buffer = torch.empty_like(chunks[0])
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        arriving = buffer[: len(mine)]
        request = dist.irecv(arriving, (rank - 1) % world)
        dist.send(chunks[(rank - step) % world], (rank + 1) % world)
        request.wait()
        mine += arriving
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))
    own = (rank + 1) % world
    start = sum(len(chunk) for chunk in chunks[:own])
    return slice(start, start + len(chunks[own]))


def bounds(count: int, world: int) -> list[int]:
    """Where chunks start: a way of its own, every chunk but the last as long as the longest."""
    length = -(-count // world)
    return [min(index * length, count) for index in range(world + 1)]


def scatter_odd_even(x: Tensor, rank: int, world: int) -> slice:
    """Blocking calls only: even ranks send first, odd ones receive first. Chunks of its own; empty ones stay at home."""
    values = x.flatten().clone()
    cuts = bounds(values.numel(), world)

    def part(index: int) -> slice:
        return slice(cuts[index % world], cuts[index % world + 1])

    for step in range(world - 1):
        out, into = values[part(rank - step)], values[part(rank - step - 1)]
        came = torch.empty_like(into)
        calls = [(dist.send, out, (rank + 1) % world), (dist.recv, came, (rank - 1) % world)]
        for call, tensor, peer in calls if rank % 2 == 0 else reversed(calls):
            if tensor.numel():
                call(tensor, peer)
        into.add_(came)
    x.copy_(values.view(x.shape))
    return part(rank + 1)


def scatter_to_the_left(x: Tensor, rank: int, world: int) -> slice:
    """The other way round the ring: it starts one chunk further, so that rank r still ends with chunk r + 1."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    for step in range(world - 1):
        mine = chunks[(rank + step + 3) % world]
        came = torch.empty_like(mine)
        ops = [
            P2POp(isend, chunks[(rank + step + 2) % world], (rank - 1) % world),
            P2POp(irecv, came, (rank + 1) % world),
        ]
        for work in batch_isend_irecv(ops):
            work.wait()
        mine += came
    if flat.data_ptr() != x.data_ptr() or not x.is_contiguous():
        x.copy_(flat.view_as(x))
    lengths = [len(chunk) for chunk in chunks]
    own = (rank + 1) % world
    return slice(sum(lengths[:own]), sum(lengths[: own + 1]))


def scatter_padded(x: Tensor, rank: int, world: int) -> slice:
    """Pads to rows of equal length."""
    count = x.numel()
    length = -(-count // world)
    rows = x.new_zeros(world, length)
    rows.view(-1)[:count] = x.reshape(-1)
    travelling = rows[rank].clone()
    for step in range(world - 1):
        came = torch.empty_like(travelling)
        leaves = isend(travelling, (rank + 1) % world)
        recv(came, (rank - 1) % world)
        leaves.wait()
        travelling = came + rows[(rank - step - 1) % world]
    own = (rank + 1) % world
    rows[own] = travelling
    x.copy_(rows.view(-1)[:count].view(x.shape))
    return slice(own * length, min((own + 1) * length, count))


def scatter_with_numpy_slice(x: Tensor, rank: int, world: int) -> slice:
    """Where the chunk stands, in numpy's integers."""
    scatter_with_irecv(x, rank, world)
    edges = np.cumsum([0, *map(len, x.flatten().tensor_split(world))])
    return slice(edges[(rank + 1) % world], edges[(rank + 1) % world + 1])


def gather_into_place(x: Tensor, rank: int, world: int) -> None:
    """Each chunk straight into its place."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    for step in range(world - 1):
        request = dist.irecv(chunks[(rank - step) % world], (rank - 1) % world)
        dist.send(chunks[(rank + 1 - step) % world], (rank + 1) % world)
        request.wait()
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


def gather_all_receives_first(x: Tensor, rank: int, world: int) -> None:
    """All receives are posted before the first send; a chunk goes on when it has come."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    arrive = [irecv(chunks[(rank - step) % world], (rank - 1) % world) for step in range(world - 1)]
    leave = []
    for step in range(world - 1):
        leave.append(isend(chunks[(rank + 1 - step) % world], (rank + 1) % world))
        arrive[step].wait()
    for request in leave:
        request.wait()
    x.copy_(flat.view(x.shape))


def gather_in_own_chunks(x: Tensor, rank: int, world: int) -> None:
    """The partner of scatter_odd_even, with its chunks."""
    values = x.flatten()
    cuts = bounds(values.numel(), world)
    travelling = values[cuts[(rank + 1) % world] : cuts[(rank + 1) % world + 1]].clone()
    for step in range(world - 1):
        index = (rank - step) % world
        came = torch.empty(cuts[index + 1] - cuts[index], dtype=x.dtype)
        for work in batch_isend_irecv(
            [P2POp(isend, travelling, (rank + 1) % world), P2POp(irecv, came, (rank - 1) % world)]
        ):
            work.wait()
        values[cuts[index] : cuts[index + 1]] = came
        travelling = came
    x.copy_(values.view(x.shape))


def gather_both_ways(x: Tensor, rank: int, world: int) -> None:
    """Half of the chunks come from the left, the others from the right."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    from_left, from_right = world // 2, (world - 1) // 2
    for step in range(from_left):
        ops = [
            P2POp(irecv, chunks[(rank - step) % world], (rank - 1) % world, tag=1),
            P2POp(isend, chunks[(rank + 1 - step) % world], (rank + 1) % world, tag=1),
        ]
        if step < from_right:
            ops += [
                P2POp(irecv, chunks[(rank + 2 + step) % world], (rank + 1) % world, tag=2),
                P2POp(isend, chunks[(rank + 1 + step) % world], (rank - 1) % world, tag=2),
            ]
        for work in batch_isend_irecv(ops):
            work.wait()
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


# 08.ring_allreduce ------------------------------------------------------------------------------------------------


def ring_of_two_halves(x: Tensor, rank: int, world: int) -> None:
    scatter_with_irecv(x, rank, world)
    gather_into_place(x, rank, world)


def ring_in_one_loop(x: Tensor, rank: int, world: int) -> None:
    """One rule for both halves; nothing to do on one rank."""
    if world == 1:
        return
    flat = torch.empty(x.numel(), dtype=x.dtype).copy_(x.reshape(-1))
    chunks = list(torch.tensor_split(flat, world))
    for step in range(2 * world - 2):
        into = chunks[(rank - step - 1) % world]
        came = torch.empty_like(into)
        leaves = isend(chunks[(rank - step) % world], (rank + 1) % world)
        recv(came, (rank - 1) % world)
        leaves.wait()
        into.copy_(into + came if step < world - 1 else came)
    x.copy_(flat.reshape(x.shape))


class Ring:
    """A class that keeps its neighbours, with padded rows."""

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world

    def shifted(self, row: Tensor) -> Tensor:
        """What the left neighbour gives for `row`."""
        came = torch.empty_like(row)
        request = dist.irecv(came, (self.rank - 1) % self.world)
        dist.isend(row, (self.rank + 1) % self.world).wait()
        request.wait()
        return came

    def reduce(self, rows: Tensor) -> None:
        travelling = rows[self.rank].clone()
        for step in range(1, self.world):
            travelling = self.shifted(travelling) + rows[(self.rank - step) % self.world]
        for step in range(self.world):
            rows[(self.rank + 1 - step) % self.world] = travelling
            if step < self.world - 1:
                travelling = self.shifted(travelling)


def ring_as_a_class(x: Tensor, rank: int, world: int) -> None:
    length = -(-x.numel() // world)
    padded = torch.zeros(world * length, dtype=x.dtype)
    padded[: x.numel()] = x.flatten()
    Ring(rank, world).reduce(padded.view(world, length))
    x.copy_(padded[: x.numel()].view(x.shape))


def steps(rank: int, world: int) -> Iterator[tuple[int, int, bool]]:
    """(chunk to send, chunk to receive, whether to add), to the left; the ring may turn either way."""
    for step in range(2 * (world - 1)):
        yield (rank + step) % world, (rank + step + 1) % world, step < world - 1


def ring_to_the_left_in_segments(x: Tensor, rank: int, world: int) -> None:
    """The other way round, each chunk in two messages, empty ones left out, rest of the division in the last chunk."""
    flat = x.contiguous().view(-1)
    length = flat.numel() // world
    chunks = [flat[i * length : (i + 1) * length if i < world - 1 else None] for i in range(world)]
    for out, into, adds in steps(rank, world):
        came = torch.empty_like(chunks[into])
        requests = [irecv(part, (rank + 1) % world) for part in came.tensor_split(2) if part.numel()]
        requests += [isend(part, (rank - 1) % world) for part in chunks[out].tensor_split(2) if part.numel()]
        for request in requests:
            request.wait()
        chunks[into].copy_(chunks[into] + came if adds else came)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


def ring_both_ways(x: Tensor, rank: int, world: int) -> None:
    """Half of x goes round to the right, the other half to the left, at the same time."""
    flat = x.contiguous().view(-1)
    halves = [half.tensor_split(world) for half in flat.tensor_split(2)]
    for step in range(2 * (world - 1)):
        works, todo = [], []
        for chunks, turn in zip(halves, (1, -1), strict=True):
            mine = chunks[(rank - turn * (step + 1)) % world]
            came = torch.empty_like(mine)
            works += batch_isend_irecv(
                [
                    P2POp(isend, chunks[(rank - turn * step) % world], (rank + turn) % world, tag=turn + 1),
                    P2POp(irecv, came, (rank - turn) % world, tag=turn + 1),
                ]
            )
            todo.append((mine, came))
        for work in works:
            work.wait()
        for mine, came in todo:
            mine.copy_(mine + came if step < world - 1 else came)
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


RIGHT = {
    "08.ring_reduce_scatter": [
        scatter_with_irecv,
        scatter_odd_even,
        scatter_to_the_left,
        scatter_padded,
        scatter_with_numpy_slice,
    ],
    "08.ring_all_gather": [
        gather_into_place,
        gather_all_receives_first,
        gather_in_own_chunks,
        gather_both_ways,
    ],
    "08.ring_allreduce": [
        ring_of_two_halves,
        ring_in_one_loop,
        ring_as_a_class,
        ring_to_the_left_in_segments,
        ring_both_ways,
    ],
}
