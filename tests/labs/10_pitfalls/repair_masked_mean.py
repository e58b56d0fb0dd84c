"""Right answers to 10.repair_masked_mean, in different shapes."""

from __future__ import annotations

import torch
from torch import Tensor


def masked_sum(x: Tensor, mask: Tensor) -> Tensor:
    kept = mask.unsqueeze(-1)
    return x.masked_fill(~kept, 0).sum(1) / kept.sum(1).clamp(min=1)


def masked_where(x, mask):
    clean = torch.where(mask[..., None], x, torch.zeros_like(x))
    return torch.einsum("btd->bd", clean) / mask.sum(-1, keepdim=True).to(x.dtype).clamp_min(1e-9)


def masked_loop(x, mask):
    means = [
        row[keep].mean(0) if keep.any() else row.new_zeros(row.shape[-1])
        for row, keep in zip(x, mask, strict=True)
    ]
    return torch.stack(means)


def masked_then_mended(x, mask):
    """The 0 / 0 is mended afterwards; masked_fill keeps its NaN out of the gradient."""
    counts = mask.sum(1, keepdim=True)
    means = x.masked_fill(~mask.unsqueeze(-1), 0).sum(1) / counts
    return torch.where(counts > 0, means, torch.zeros_like(means))


def masked_product(x, mask):
    """A product of matrices, one row of weights for each sequence."""
    weights = mask.to(x.dtype) / mask.sum(1, keepdim=True).clamp(min=1)
    return torch.bmm(weights.unsqueeze(1), torch.where(mask.unsqueeze(-1), x, 0.0)).squeeze(1)


RIGHT = [masked_sum, masked_where, masked_loop, masked_then_mended, masked_product]
