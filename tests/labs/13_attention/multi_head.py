"""Right answers of 13.multi_head, of other shapes than the solution's."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F


def by_einsum(x, in_w, in_b, out_w, out_b, heads, blocked=None):
    batch, length, features = x.shape
    width = features // heads
    packed = torch.einsum("btf,ghdf->gbhtd", x, in_w.view(3, heads, width, features))
    q, k, v = packed + in_b.view(3, 1, heads, 1, width)
    scores = torch.einsum("bhqd,bhkd->bhqk", q / math.sqrt(width), k)
    if blocked is not None:
        scores = torch.where(blocked, -math.inf, scores)
    weights = torch.softmax(scores, -1)
    if blocked is not None:
        weights = torch.nan_to_num(weights, 0.0)
    mixed = torch.einsum("bhqk,bhkd,ohd->bqo", weights, v, out_w.view(features, heads, width))
    return mixed + out_b


def a_head_after_the_other(x, in_w, in_b, out_w, out_b, heads, blocked=None):
    width = x.shape[-1] // heads
    w_q, w_k, w_v = in_w.chunk(3)
    b_q, b_k, b_v = in_b.chunk(3)
    result = out_b.expand_as(x)
    for head in range(heads):
        own = slice(head * width, (head + 1) * width)
        q = x @ w_q[own].T + b_q[own]
        k = x @ w_k[own].T + b_k[own]
        v = x @ w_v[own].T + b_v[own]
        scores = torch.bmm(q, k.transpose(1, 2)) * width**-0.5
        if blocked is not None:
            scores = scores.masked_fill(blocked, -torch.inf)
        weights = F.softmax(scores, dim=2)
        if blocked is not None:
            weights = weights.masked_fill(blocked.all(dim=1, keepdim=True), 0.0)
        result = result + torch.bmm(weights, v) @ out_w[:, own].T
    return result


def softmax_written_out(x, in_w, in_b, out_w, out_b, heads, blocked=None):
    """Heads folded into the batch; the lowest number for -inf, and nothing divided by 0."""
    batch, length, features = x.shape
    width = features // heads

    def folded(part):
        return part.reshape(batch, length, heads, width).permute(0, 2, 1, 3).reshape(-1, length, width)

    q, k, v = map(folded, (F.linear(x, in_w, in_b)).split(features, dim=2))
    scores = torch.baddbmm(q.new_zeros(()), q, k.mT, beta=0, alpha=1 / math.sqrt(width))
    seen = torch.ones(length, length, dtype=torch.bool) if blocked is None else blocked.logical_not()
    scores = scores.masked_fill(~seen, torch.finfo(x.dtype).min)
    weights = (scores - scores.amax(-1, keepdim=True).detach()).exp() * seen
    total = weights.sum(-1, keepdim=True)
    weights = weights / total.masked_fill(total == 0, 1)
    result = (weights @ v).reshape(batch, heads, length, width).permute(0, 2, 1, 3).reshape(x.shape)
    return torch.nn.functional.linear(result, out_w, out_b)


def in_float64(x, in_w, in_b, out_w, out_b, heads, blocked=None):
    """A sample and a head at a time, wide, rounded once."""
    wide, *weights = (each.double() for each in (x, in_w, in_b, out_w, out_b))
    in_w, in_b, out_w, out_b = weights
    samples = []
    for sample in wide:
        q, k, v = (F.linear(sample, w, b) for w, b in zip(in_w.chunk(3), in_b.chunk(3), strict=True))
        parts = []
        for own_q, own_k, own_v in zip(q.chunk(heads, 1), k.chunk(heads, 1), v.chunk(heads, 1), strict=True):
            scores = own_q @ own_k.T / own_q.shape[1] ** 0.5
            if blocked is None:
                parts.append(scores.softmax(1) @ own_v)
            else:
                weights = scores.masked_fill(blocked, float("-inf")).softmax(1)
                parts.append(weights.masked_fill(blocked, 0) @ own_v)
        samples.append(F.linear(torch.cat(parts, 1), out_w, out_b))
    return torch.stack(samples).to(x.dtype)


RIGHT: list[Any] = [by_einsum, a_head_after_the_other, softmax_written_out, in_float64]
