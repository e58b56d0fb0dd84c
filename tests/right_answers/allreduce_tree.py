"""Right answers to two optional exercises of lab 08, in different shapes: trees, and rings in segments."""

from __future__ import annotations

from collections import deque

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend

# 08.tree_allreduce ------------------------------------------------------------------------------------------------


def binomial_tree(x: Tensor, rank: int, world: int) -> None:
    """The plain one: up by gaps of 1, 2, 4, ..., then down."""
    flat = x.contiguous()
    received = torch.empty_like(flat)
    gap = 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            flat += received
        gap *= 2
    if rank > 0:
        dist.send(flat, rank - gap)
        dist.recv(flat, rank - gap)
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.send(flat, rank + gap)
    if not x.is_contiguous():
        x.copy_(flat)


def heap_tree(x: Tensor, rank: int, world: int) -> None:
    """A tree as in a heap: the children of r are 2r + 1 and 2r + 2."""
    total = x.clone(memory_format=torch.contiguous_format)
    children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < world]
    buffers = [torch.empty_like(total) for _ in children]
    for request in [irecv(buffer, child) for buffer, child in zip(buffers, children, strict=True)]:
        request.wait()
    for buffer in buffers:
        total += buffer
    if rank:
        dist.send(total, (rank - 1) // 2)
        dist.recv(total, (rank - 1) // 2)
    for request in [isend(total, child) for child in children]:
        request.wait()
    x.copy_(total)


def swapped(tensor: Tensor, other: int) -> Tensor:
    """What `other` sends for `tensor`."""
    came = torch.empty_like(tensor)
    for work in batch_isend_irecv([P2POp(isend, tensor, other), P2POp(irecv, came, other)]):
        work.wait()
    return came


def recursive_doubling(x: Tensor, rank: int, world: int) -> None:
    """Partners swap their sums; ranks beyond the largest power of two give theirs away and get the result."""
    power = 1 << (world.bit_length() - 1)
    total = x.contiguous()
    if rank >= power:
        dist.send(total, rank - power)
        dist.recv(total, rank - power)
    else:
        if rank + power < world:
            came = torch.empty_like(total)
            dist.recv(came, rank + power)
            total = total + came
        gap = 1
        while gap < power:
            total = total + swapped(total, rank ^ gap)
            gap *= 2
        if rank + power < world:
            dist.send(total, rank + power)
    x.copy_(total)


def halving_and_doubling(x: Tensor, rank: int, world: int) -> None:
    """Partners swap halves, then quarters, and put them together again; neighbours stand in for extra ranks."""
    flat = x.reshape(-1).clone()
    power = 1 << (world.bit_length() - 1)
    extra = world - power
    if rank < 2 * extra and rank % 2:
        dist.send(flat, rank - 1)
        dist.recv(flat, rank - 1)
        x.copy_(flat.view(x.shape))
        return
    if rank < 2 * extra:
        came = torch.empty_like(flat)
        dist.recv(came, rank + 1)
        flat += came
    number = rank // 2 if rank < 2 * extra else rank - extra

    def rank_of(number: int) -> int:
        return 2 * number if number < extra else number + extra

    start, stop, gap, earlier = 0, flat.numel(), power // 2, []
    while gap:
        middle = (start + stop) // 2
        low, high = (start, middle), (middle, stop)
        keep, give = (low, high) if not number & gap else (high, low)
        came = torch.empty(keep[1] - keep[0], dtype=flat.dtype)
        requests = [irecv(came, rank_of(number ^ gap)), isend(flat[slice(*give)], rank_of(number ^ gap))]
        for request in requests:
            request.wait()
        flat[slice(*keep)] += came
        earlier.append((keep, give, gap))
        start, stop = keep
        gap //= 2
    for keep, give, gap in reversed(earlier):
        other = rank_of(number ^ gap)
        for request in [irecv(flat[slice(*give)], other), isend(flat[slice(*keep)], other)]:
            request.wait()
    if rank < 2 * extra:
        dist.send(flat, rank + 1)
    x.copy_(flat.view(x.shape))


def recursive_tree(x: Tensor, rank: int, world: int) -> None:
    """Ranks low to high - 1: both halves by themselves, then between their first ranks, and back."""
    flat = x.contiguous()

    def up(low: int, high: int) -> None:
        if high - low > 1:
            middle = (low + high) // 2
            up(low, middle) if rank < middle else up(middle, high)
            if rank == middle:
                dist.send(flat, low)
            elif rank == low:
                came = torch.empty_like(flat)
                dist.recv(came, middle)
                flat.add_(came)

    def down(low: int, high: int) -> None:
        if high - low > 1:
            middle = (low + high) // 2
            if rank == low:
                dist.send(flat, middle)
            elif rank == middle:
                dist.recv(flat, low)
            down(low, middle) if rank < middle else down(middle, high)

    up(0, world)
    down(0, world)
    if flat is not x:
        x.copy_(flat)


# 08.pipelined_allreduce -------------------------------------------------------------------------------------------


def all_segments_of_a_step(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Posts all of a step, then takes the segments in turn."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    length = max(1, segment_bytes // x.element_size())
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        came = torch.empty_like(mine)
        arrive = [irecv(piece, (rank - 1) % world) for piece in came.split(length)]
        leave = [isend(piece, (rank + 1) % world) for piece in chunks[(rank - step) % world].split(length)]
        for request, piece, target in zip(arrive, came.split(length), mine.split(length), strict=True):
            request.wait()
            target.add_(piece) if step < world - 1 else target.copy_(piece)
        for request in leave:
            request.wait()
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


def forwarded_at_once(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Each segment goes on as soon as it is complete, whatever the others do: all receives are posted at the start."""
    size = x.element_size()
    flat = x.reshape(-1).clone()
    chunks = flat.tensor_split(world)
    length = segment_bytes // size or 1
    last = 2 * (world - 1) - 1
    queue: deque = deque()
    for step in range(last + 1):
        target = chunks[(rank - step - 1) % world]
        came = torch.empty_like(target)
        for into, piece in zip(target.split(length), came.split(length), strict=True):
            if piece.numel():
                queue.append((step, irecv(piece, (rank - 1) % world), piece, into))
    leave = [isend(p, (rank + 1) % world) for p in chunks[rank].split(length) if p.numel() and last > 0]
    kept = []
    while queue:
        step, request, piece, into = queue.popleft()
        request.wait()
        result = into + piece if step < world - 1 else piece
        into.copy_(result)
        if step < last:
            kept.append(result)  # a buffer of its own: it may still be under way when `into` is written again
            leave.append(isend(result, (rank + 1) % world))
    for request in leave:
        request.wait()
    x.copy_(flat.view(x.shape))


def two_under_way(x: Tensor, rank: int, world: int, segment_bytes: int) -> None:
    """Two buffers in turn: the receive of the next segment is posted before the one that came is added."""
    flat = x.contiguous().view(-1)
    chunks = flat.tensor_split(world)
    length = max(segment_bytes // x.element_size(), 1)
    for step in range(2 * (world - 1)):
        mine = chunks[(rank - step - 1) % world]
        targets, buffers = mine.split(length), [torch.empty_like(mine[:length]) for _ in range(2)]
        leave = [isend(piece, (rank + 1) % world) for piece in chunks[(rank - step) % world].split(length)]

        def posted(at: int, targets: tuple = targets, buffers: list = buffers) -> tuple:
            into = buffers[at % 2][: len(targets[at])]
            return irecv(into, (rank - 1) % world), into

        following = posted(0)
        for at, target in enumerate(targets):
            request, came = following
            following = posted(at + 1) if at + 1 < len(targets) else (None, None)
            request.wait()
            target.copy_(target + came if step < world - 1 else came)
        for request in leave:
            request.wait()
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))


RIGHT = {
    "08.tree_allreduce": [binomial_tree, heap_tree, recursive_doubling, halving_and_doubling, recursive_tree],
    "08.pipelined_allreduce": [all_segments_of_a_step, forwarded_at_once, two_under_way],
}
