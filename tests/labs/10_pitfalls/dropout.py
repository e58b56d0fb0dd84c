"""Right answers to 10.dropout, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def by_bernoulli(x: Tensor, p: float, training: bool) -> Tensor:
    """As torch's own: a mask of 0 and 1, divided in place."""
    if not training or p == 0 or x.numel() == 0:
        return x
    if p == 1:
        return x * 0.0
    return x * torch.empty_like(x).bernoulli_(1 - p).div_(1 - p)


def by_where(x: Tensor, p: float, training: bool = True) -> Tensor:
    """The dropped places are named, a copy is given in evaluation."""
    if training is False:
        return x.clone()
    dropped = torch.rand(x.shape, device=x.device) < p
    scaled = x / (1.0 - p) if p < 1.0 else x
    return torch.where(dropped, torch.zeros((), dtype=x.dtype), scaled)


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mask: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.scale = scale
        return x.masked_fill(mask, 0) * scale

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        return grad_out.masked_fill(mask, 0) * ctx.scale, None, None


def by_function(x: Tensor, p: float, training: bool) -> Tensor:
    """A node of its own, which keeps the mask alone."""
    if training:
        return Masked.apply(x, torch.rand(x.shape) < p, 1 / (1 - p) if p != 1 else 1.0)
    return x


class Dropping:
    """An object, as a layer would be; the mask is made flat, entry by entry."""

    def __call__(self, x: Tensor, p: float, training: bool) -> Tensor:
        if not training:
            return x
        keep = torch.tensor([float(u >= p) for u in torch.rand(x.numel()).tolist()], dtype=x.dtype)
        return x * keep.reshape(x.shape) / max(1 - p, 1e-30 if x.dtype != torch.float16 else 1e-4)


def by_multinomial(x: Tensor, p: float, training: bool) -> Tensor:
    """Each entry's draw is a choice of two."""
    if not (training and p):
        return x
    if x.numel() == 0:
        return x
    kept = (
        torch.multinomial(torch.tensor([p, 1 - p]), x.numel(), replacement=True).reshape(x.shape).to(x.dtype)
    )
    return x * kept * (1 / (1 - p) if p < 1 else 1)


RIGHT = [by_bernoulli, by_where, by_function, Dropping(), by_multinomial]
