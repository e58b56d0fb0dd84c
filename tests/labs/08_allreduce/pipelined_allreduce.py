"""Right answers to 08.pipelined_allreduce, in different shapes."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor
from torch.distributed import irecv, isend

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


RIGHT = [all_segments_of_a_step, forwarded_at_once, two_under_way]
