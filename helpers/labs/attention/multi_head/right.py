"""A right answer in parts, of which each mistake of 13.multi_head replaces one."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor


def project(x: Tensor, in_w: Tensor, in_b: Tensor, heads: int) -> tuple[Tensor, ...]:
    """Queries, keys and values, each of shape (B, T, E)."""
    return F.linear(x, in_w, in_b).chunk(3, dim=-1)


def split(part: Tensor, heads: int) -> Tensor:
    return part.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(result: Tensor) -> Tensor:
    return result.transpose(1, 2).flatten(2)


def score(q: Tensor, k: Tensor, heads: int) -> Tensor:
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def block(scores: Tensor, blocked: Tensor) -> Tensor:
    return scores.masked_fill(blocked, float("-inf"))


def weigh(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def clear(weights: Tensor, blocked: Tensor) -> Tensor:
    return weights.masked_fill(blocked, 0.0)


def gather(weights: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def attention(
    x: Tensor,
    in_w: Tensor,
    in_b: Tensor,
    out_w: Tensor,
    out_b: Tensor,
    heads: int,
    blocked: Tensor | None = None,
    *,
    project: Callable[..., tuple[Tensor, ...]] = project,
    split: Callable[[Tensor, int], Tensor] = split,
    score: Callable[[Tensor, Tensor, int], Tensor] = score,
    block: Callable[[Tensor, Tensor], Tensor] = block,
    weigh: Callable[[Tensor], Tensor] = weigh,
    clear: Callable[[Tensor, Tensor], Tensor] = clear,
    gather: Callable[[Tensor, Tensor], Tensor] = gather,
    merge: Callable[[Tensor], Tensor] = merge,
    out: Callable[[Tensor, Tensor, Tensor], Tensor] = F.linear,
) -> Tensor:
    """Right as it stands; a mistake replaces one part."""
    q, k, v = (split(part, heads) for part in project(x, in_w, in_b, heads))
    scores = score(q, k, heads)
    if blocked is None:
        weights = weigh(scores)
    else:
        weights = clear(weigh(block(scores, blocked)), blocked)
    return out(merge(gather(weights, v)), out_w, out_b)
