"""Right answers of 13.attend_blockwise, of other shapes than the solution's."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def by_logarithms(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """A softmax a block; two results are mixed by the logarithms of their sums."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    queries = q.to(wide) * q.size(-1) ** -0.5
    logsum, result = None, None
    for start in range(0, k.size(2), block):
        scores = torch.einsum("bhqd,bhkd->bhqk", queries, k[:, :, start : start + block].to(wide))
        part = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v[:, :, start : start + block].to(wide))
        log = scores.logsumexp(-1, keepdim=True)
        if result is None:
            logsum, result = log, part
        else:
            share = torch.sigmoid(log - logsum)
            result = result + (part - result) * share
            logsum = torch.logaddexp(logsum, log)
    return result.to(q.dtype)


def in_place(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Running tensors edited in place; float64 throughout; begins at the lowest finite number."""
    queries = q.double()
    result = torch.zeros(queries.shape, dtype=torch.float64)
    total = torch.zeros(queries.shape[:-1], dtype=torch.float64)
    largest = torch.full_like(total, torch.finfo(torch.float64).min)
    first = 0
    while first < k.shape[2]:
        last = min(first + block, k.shape[2])
        scores = torch.matmul(queries, k[:, :, first:last].double().mT).div_(math.sqrt(q.shape[3]))
        new = torch.max(largest, scores.max(dim=3).values)
        scores.sub_(new[..., None]).exp_()
        shrink = largest.sub_(new).exp_()
        total.mul_(shrink).add_(scores.sum(3))
        result.mul_(shrink[..., None]).add_(scores @ v[:, :, first:last].double())
        largest = new
        first = last
    return result.div_(total[..., None]).to(q.dtype)


def over_heads(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Python's loops over batch and heads; the first block begins; the result is divided in each block."""
    out = torch.empty_like(q)
    wide = torch.promote_types(q.dtype, torch.float32)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            rows = q[b, h].to(wide)
            for number, (keys, values) in enumerate(
                zip(k[b, h].split(block), v[b, h].split(block), strict=True)
            ):
                scores = rows @ keys.to(wide).T / math.sqrt(q.shape[-1])
                most = scores.amax(1, keepdim=True)
                if number == 0:
                    m, s = most, (scores - most).exp().sum(1, keepdim=True)
                    o = (scores - most).exp() @ values.to(wide) / s
                    continue
                new = torch.maximum(m, most)
                weights = (scores - new).exp()
                old = s * (m - new).exp()
                s = old + weights.sum(1, keepdim=True)
                o = (o * old + weights @ values.to(wide)) / s
                m = new
            out[b, h] = o.to(q.dtype)
    return out


def turned(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Heads flattened, scores and result transposed, chunks, the products added by baddbmm."""
    wide = torch.promote_types(q.dtype, torch.float32)
    columns = q.flatten(0, 1).to(wide).transpose(1, 2) / q.shape[-1] ** 0.5
    largest = torch.full((columns.shape[0], 1, columns.shape[2]), -torch.inf, dtype=wide)
    total, result = torch.zeros_like(largest), torch.zeros_like(columns)
    chunks = math.ceil(k.shape[2] / block)
    for number in range(chunks):
        keys, values = (
            each[:, :, number * block : (number + 1) * block].flatten(0, 1).to(wide) for each in (k, v)
        )
        scores = keys @ columns
        new = torch.maximum(largest, scores.amax(1, keepdim=True))
        weights = torch.exp(scores - new)
        shrink = torch.exp(largest - new)
        total = total * shrink + weights.sum(1, keepdim=True)
        result = torch.baddbmm(result * shrink, values.transpose(1, 2), weights)
        largest = new
    return (result / total).transpose(1, 2).reshape(q.shape).to(q.dtype)


RIGHT = [by_logarithms, in_place, over_heads, turned]
