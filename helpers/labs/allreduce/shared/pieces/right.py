"""The pieces that mistakes about the ring share, each of them right by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor


def exchanged(outgoing: Tensor, incoming: Tensor, rank: int, world: int) -> None:
    """Sends to the right while it receives from the left."""
    arrives = dist.irecv(incoming, (rank - 1) % world)
    dist.send(outgoing, (rank + 1) % world)
    arrives.wait()


def place(x: Tensor, rank: int, world: int, ahead: int = 1) -> slice:
    """Where chunk (rank + ahead) % world stands in the flattened x."""
    chunks = torch.arange(x.numel()).tensor_split(world)
    start = sum(len(chunk) for chunk in chunks[: (rank + ahead) % world])
    return slice(start, start + len(chunks[(rank + ahead) % world]))


def first_half(chunks: Sequence[Tensor], rank: int, world: int) -> None:
    """Rank r ends with chunk (r + 1) % world complete."""
    for step in range(world - 1):
        mine = chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(mine)
        exchanged(chunks[(rank - step) % world], buffer, rank, world)
        mine += buffer


def second_half(chunks: Sequence[Tensor], rank: int, world: int) -> None:
    """From the chunk (rank + 1) % world of each rank to all chunks on all."""
    for step in range(world - 1):
        exchanged(chunks[(rank + 1 - step) % world], chunks[(rank - step) % world], rank, world)


def through_chunks(x: Tensor, world: int, work: Callable[[tuple[Tensor, ...]], None]) -> None:
    """work(chunks) on a contiguous x, copied back."""
    flat = x.contiguous().view(-1)
    work(flat.tensor_split(world))
    if not x.is_contiguous():
        x.copy_(flat.view_as(x))
