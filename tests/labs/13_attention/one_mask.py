"""Right answers of 13.one_mask, of other shapes than the solution's."""

from __future__ import annotations

import math
from typing import Any

import torch


def what_is_blocked(q, k, causal=False, padding=None, blocked=None):
    """Collects what is out, in the module's polarity, and turns it round at the end."""
    queries, keys = q.shape[2], k.shape[2]
    if not causal and padding is None and blocked is None:
        return None
    out = torch.zeros(1, 1, queries, keys, dtype=torch.bool)
    if causal:
        out = out | torch.triu(torch.ones(queries, keys), diagonal=keys - queries + 1).bool()
    if padding is not None:
        out = out | padding.view(len(padding), 1, 1, keys)
    if blocked is not None and blocked.dtype == torch.bool:
        out = out.logical_or(blocked)
    if blocked is None or blocked.dtype == torch.bool:
        return out.logical_not()
    return blocked.to(q.dtype).masked_fill(out, -math.inf)


def by_positions(q, k, causal=False, padding=None, blocked=None):
    """Compares positions; numbers are added at the end."""
    parts = []
    if causal:
        keys = torch.arange(k.size(-2))
        queries = keys[k.size(-2) - q.size(-2) :]
        parts.append(queries.unsqueeze(1) >= keys.unsqueeze(0))
    if padding is not None:
        parts.append(padding.logical_not().unsqueeze(1).unsqueeze(1))
    floating = blocked is not None and blocked.is_floating_point()
    if blocked is not None and not floating:
        parts.append(blocked == False)  # noqa: E712
    mask = None
    for part in parts:
        mask = part if mask is None else mask * part
    if not floating:
        return mask
    if mask is None:
        return blocked.type_as(q)
    minus = torch.zeros(mask.shape, dtype=q.dtype).masked_fill_(~mask, float("-inf"))
    return minus + blocked.to(q.dtype)


def in_place_on_its_own(q, k, causal=False, padding=None, blocked=None):
    """One tensor, closed step by step."""
    if not causal and padding is None and blocked is None:
        return None
    batch = 1 if padding is None else q.shape[0]
    floating = blocked is not None and blocked.is_floating_point()
    out = torch.zeros(batch, 1, q.shape[-2], k.shape[-2], dtype=q.dtype if floating else torch.bool)
    if blocked is not None:
        out += blocked.to(out.dtype)
    closed = float("-inf") if floating else True
    if causal:
        for row in range(q.shape[-2]):
            out[:, :, row, k.shape[-2] - q.shape[-2] + row + 1 :] = closed
    if padding is not None:
        for sample in range(batch):
            out[sample, :, :, padding[sample]] = closed
    return out if floating else ~out


RIGHT: list[Any] = [what_is_blocked, by_positions, in_place_on_its_own]
