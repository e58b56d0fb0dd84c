"""A right answer to 13.attend_blockwise in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

State = tuple[Tensor, Tensor, Tensor]  # largest, total, result


def widened(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def scaled(q: Tensor) -> Tensor:
    return q / q.shape[-1] ** 0.5


def blocks(k: Tensor, v: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor]]:
    yield from zip(k.split(block, dim=-2), v.split(block, dim=-2), strict=True)


def begun(queries: Tensor) -> State:
    largest = torch.full_like(queries[..., :1], float("-inf"))
    return largest, torch.zeros_like(largest), torch.zeros_like(queries)


def of_query(scores: Tensor) -> Tensor:
    return scores.amax(-1, keepdim=True)


def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
    above = torch.maximum(largest, of_query(scores))
    weights, shrink = (scores - above).exp(), (largest - above).exp()
    return above, total * shrink + weights.sum(-1, keepdim=True), result * shrink + weights @ values


def ended(total: Tensor, result: Tensor) -> Tensor:
    return result / total


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block: int,
    *,
    widened: Callable[[Tensor], Tensor] = widened,
    scaled: Callable[[Tensor], Tensor] = scaled,
    blocks: Callable[[Tensor, Tensor, int], Iterator[tuple[Tensor, Tensor]]] = blocks,
    begun: Callable[[Tensor], State] = begun,
    merged: Callable[..., State] = merged,
    ended: Callable[[Tensor, Tensor], Tensor] = ended,
) -> Tensor:
    queries = scaled(widened(q))
    largest, total, result = begun(queries)
    for keys, values in blocks(k, v, block):
        scores = queries @ widened(keys).transpose(-2, -1)
        largest, total, result = merged(largest, total, result, scores, widened(values))
    return ended(total, result).to(q.dtype)


def all_at_once(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention without blocks."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v
