"""What people write for 13.attend_blockwise that rounds too often, or takes more than a pass or a block."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.attend_blockwise.exercise import FORMULA, LIMIT, attend_blockwise
from helpers.labs.attention.attend_blockwise.right import State, all_at_once, attend, blocks, of_query

HALF = "Sums and exponents are float32 or wider, with float64 they are float64; the result is rounded to the dtype of q once."
ONCE = "Each block of keys is used once: one product with q gives its scores, one with its values the sum."
GROWS = "The memory in use at one time does not grow with Lk."
ALONE = "The arguments stay as they were."
OWN = "It calls no attention of torch's."


# Half precision.


@attend_blockwise.mistake(breaks=HALF)
def scores_in_half(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Scores of float16 above 65,504 are infinite, and smaller ones are rounded. Perhaps q and k are multiplied in their own
    dtype: make both float32 before.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    largest = torch.full_like(q[..., :1], -math.inf, dtype=wide)
    total, result = torch.zeros_like(largest), torch.zeros_like(q, dtype=wide)
    for keys, values in blocks(k, v, block):
        scores = (q @ keys.transpose(-2, -1)).to(wide) / q.shape[-1] ** 0.5
        above = torch.maximum(largest, of_query(scores))
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        result = result * shrink + weights @ values.to(wide)
        largest = above
    return (result / total).to(q.dtype)


@attend_blockwise.variant(scores_in_half)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attend(q, k, v, block, widened=lambda tensor: tensor)


@attend_blockwise.mistake(breaks=HALF)
def rounded_on_the_way(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The result of half-precision inputs is rounded more than once. Perhaps q is scaled before it is float32, or weights or sums
    are brought back to the dtype of v: all of it stays float32 up to the end.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, of_query(scores))
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        part = (weights.to(v.dtype) @ values.to(v.dtype)).to(result.dtype)
        return above, total * shrink + weights.sum(-1, keepdim=True), result * shrink + part

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.variant(rounded_on_the_way)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    largest = torch.full_like(q[..., :1], -math.inf, dtype=wide)
    total, result = torch.zeros_like(largest), torch.zeros_like(q)
    for keys, values in blocks(k, v, block):
        scores = q.to(wide) @ keys.to(wide).transpose(-2, -1) / q.shape[-1] ** 0.5
        above = torch.maximum(largest, of_query(scores))
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        result = (result * shrink + weights @ values.to(wide)).to(q.dtype)
        largest = above
    return (result / total).to(q.dtype)


@attend_blockwise.variant(rounded_on_the_way)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attend(q / q.shape[-1] ** 0.5, k, v, block, scaled=lambda q: q)


@attend_blockwise.variant(rounded_on_the_way)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    return attend(q.to(wide), k / q.shape[-1] ** 0.5, v, block, scaled=lambda q: q).to(q.dtype)


@attend_blockwise.mistake(breaks="Shape and dtype of q.")
def left_in_float32(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Half-precision inputs give a float32 result: it is not brought back to the dtype of q."""

    def in_wide(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        wide = torch.promote_types(q.dtype, torch.float32)
        return q.to(wide), k.to(wide), v.to(wide)

    return attend(*in_wide(q, k, v), block)


# Memory and products.


@attend_blockwise.mistake(breaks=LIMIT)
def all_scores_at_once(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """A tensor as large as the scores of all keys is made: this is the matrix that blocks are there to avoid. Perhaps the scores are
    computed at once, or those of the blocks are put together.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = (q.to(wide) / q.shape[-1] ** 0.5) @ k.to(wide).transpose(-2, -1)
    return (scores.softmax(-1) @ v.to(wide)).to(q.dtype)


@attend_blockwise.variant(all_scores_at_once)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(wide) / q.shape[-1] ** 0.5
    parts = [queries @ keys.to(wide).transpose(-2, -1) for keys in k.split(block, dim=-2)]
    weights = torch.cat(parts, dim=-1).softmax(-1)
    return (weights @ v.to(wide)).to(q.dtype)


@attend_blockwise.mistake(breaks=LIMIT)
def blocks_of_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """A tensor is made that is larger than q, than a block of keys and than its scores. Perhaps q is cut into blocks, and not k:
    then each block of queries meets all keys.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    parts = [all_at_once(rows.to(wide), k.to(wide), v.to(wide)) for rows in q.split(block, dim=-2)]
    return torch.cat(parts, dim=-2).to(q.dtype)


@attend_blockwise.mistake(breaks=LIMIT)
def all_keys_scaled(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """A tensor as large as all keys is made. Perhaps k or v is scaled, copied or made float32 as a whole: do it a block at a time."""
    wide = torch.promote_types(q.dtype, torch.float32)
    return attend(q.to(wide), k.to(wide) / q.shape[-1] ** 0.5, v, block, scaled=lambda q: q).to(q.dtype)


@attend_blockwise.variant(all_keys_scaled)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    return attend(q.to(wide), k.to(wide), v.to(wide), block).to(q.dtype)


@attend_blockwise.variant(all_keys_scaled)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attend(q, k.contiguous(), v.contiguous(), block)


@attend_blockwise.mistake(breaks=LIMIT)
def multiplied_and_summed(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """A tensor of Lq * block * D numbers is made for each head: every product of two numbers stands in it before it is summed. Perhaps `*` and
    `sum` stand where `@` does both, for the scores or for the sum.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(wide) / q.shape[-1] ** 0.5
    largest = torch.full_like(queries[..., :1], -math.inf)
    total, result = torch.zeros_like(largest), torch.zeros_like(queries)
    for keys, values in zip(k.split(block, dim=-2), v.split(block, dim=-2), strict=True):
        scores = queries @ keys.to(wide).transpose(-2, -1)
        above = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        result = result * shrink + (weights.unsqueeze(-1) * values.to(wide).unsqueeze(2)).sum(-2)
        largest = above
    return (result / total).to(q.dtype)


@attend_blockwise.variant(multiplied_and_summed)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    logs = torch.full_like(q[..., :1], -math.inf, dtype=wide)
    result = torch.zeros_like(q, dtype=wide)
    for keys, values in zip(k.split(block, dim=-2), v.split(block, dim=-2), strict=True):
        scores = (q.to(wide).unsqueeze(-2) * keys.to(wide).unsqueeze(2)).sum(-1) / q.shape[-1] ** 0.5
        more = torch.logaddexp(logs, scores.logsumexp(-1, keepdim=True))
        result = result * (logs - more).exp() + (scores - more).exp() @ values.to(wide)
        logs = more
    return result.to(q.dtype)


@attend_blockwise.mistake(breaks=LIMIT)
def all_blocks_stacked(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The results of all blocks are made one tensor, larger than q by their number. Perhaps they are stacked and put together at
    the end: add each to one running result.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(wide) / q.shape[-1] ** 0.5
    logs, results = [], []
    for keys, values in blocks(k, v, block):
        scores = queries @ keys.to(wide).transpose(-2, -1)
        logs.append(scores.logsumexp(-1, keepdim=True))
        results.append(scores.softmax(-1) @ values.to(wide))
    weights = torch.stack(logs).softmax(0)
    return (weights * torch.stack(results)).sum(0).to(q.dtype)


@attend_blockwise.mistake(breaks=ONCE)
def two_passes(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The products take half as much again as two for each block. Perhaps a first pass finds the largest score and a second one
    computes the scores anew: a running maximum makes do with one pass.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(wide) / q.shape[-1] ** 0.5
    largest = None
    for keys in k.split(block, dim=-2):
        most = of_query(queries @ keys.to(wide).transpose(-2, -1))
        largest = most if largest is None else torch.maximum(largest, most)
    total, result = 0.0, 0.0
    for keys, values in blocks(k, v, block):
        weights = (queries @ keys.to(wide).transpose(-2, -1) - largest).exp()
        total = total + weights.sum(-1, keepdim=True)
        result = result + weights @ values.to(wide)
    return (result / total).to(q.dtype)


@attend_blockwise.variant(two_passes)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(wide) / q.shape[-1] ** 0.5
    logsum = torch.full_like(queries[..., :1], -math.inf)
    for keys in k.split(block, dim=-2):
        scores = queries @ keys.to(wide).transpose(-2, -1)
        logsum = torch.logaddexp(logsum, scores.logsumexp(-1, keepdim=True))
    result = torch.zeros_like(queries)
    for keys, values in blocks(k, v, block):
        result += (queries @ keys.to(wide).transpose(-2, -1) - logsum).exp() @ values.to(wide)
    return result.to(q.dtype)


@attend_blockwise.mistake(breaks=FORMULA)
def one_key_at_a_time(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The products take a different number of keys than `block`. Perhaps block is not used, and each key is one."""
    return attend(q, k, v, 1)


@attend_blockwise.variant(one_key_at_a_time)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attend(q, k, v, max(1, block // 2))


@attend_blockwise.mistake(breaks=GROWS)
def scores_kept(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The more blocks there are, the more memory is in use. Perhaps the scores or the results of all blocks are kept in a list
    until the end: together they are as large as all scores. What a block adds must be summed at once.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(wide) / q.shape[-1] ** 0.5
    scores = [queries @ keys.to(wide).transpose(-2, -1) for keys in k.split(block, dim=-2)]
    largest = of_query(scores[0])
    for each in scores[1:]:
        largest = torch.maximum(largest, of_query(each))
    total, result = torch.zeros_like(largest), torch.zeros_like(queries)
    for each, values in zip(scores, v.split(block, dim=-2), strict=True):
        weights = (each - largest).exp()
        total += weights.sum(-1, keepdim=True)
        result += weights @ values.to(wide)
    return (result / total).to(q.dtype)


@attend_blockwise.variant(scores_kept)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(wide) / q.shape[-1] ** 0.5
    parts = []
    for keys, values in blocks(k, v, block):
        scores = queries @ keys.to(wide).transpose(-2, -1)
        most = of_query(scores)
        weights = (scores - most).exp()
        parts.append((most, weights.sum(-1, keepdim=True), weights @ values.to(wide)))
    largest = parts[0][0]
    for most, _, _ in parts[1:]:
        largest = torch.maximum(largest, most)
    total = sum(part * (most - largest).exp() for most, part, _ in parts)
    return (sum(part * (most - largest).exp() for most, _, part in parts) / total).to(q.dtype)


@attend_blockwise.mistake(breaks=OWN)
def torchs_own(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Torch's own attention runs inside: this exercise builds what stands in it."""
    return F.scaled_dot_product_attention(q, k, v)


@attend_blockwise.variant(torchs_own)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    if q.dtype in (torch.float16, torch.bfloat16):
        return torch._C._nn.scaled_dot_product_attention(q.float(), k.float(), v.float()).to(q.dtype)
    return attend(q, k, v, block)


@attend_blockwise.mistake(breaks=ALONE)
def q_scaled_in_place(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """An argument is edited, which belongs to the caller. Perhaps it is scaled in place: `.to(dtype)` and `.contiguous()` give
    back the same tensor where there is nothing to do.
    """
    return attend(q, k, v, block, scaled=lambda q: q.div_(q.shape[-1] ** 0.5))


@attend_blockwise.variant(q_scaled_in_place)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attend(q, k, v, block, scaled=lambda q: q.contiguous().div_(q.shape[-1] ** 0.5))


@attend_blockwise.variant(q_scaled_in_place)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)

    def scaled(k: Tensor, v: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor]]:
        for keys, values in blocks(k, v, block):
            yield keys.to(wide).div_(q.shape[-1] ** 0.5), values

    return attend(q.to(wide), k, v, block, scaled=lambda q: q, blocks=scaled).to(q.dtype)
