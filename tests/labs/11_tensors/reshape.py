"""Right answers of 11.reshape, of other shapes than the solution's."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor


def by_trying(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Lets `view` say whether there is a view, and a second time whether the shape is right."""
    try:
        return t.view(shape)
    except RuntimeError:
        return t.contiguous().view(shape)


def with_sizes_first(t, shape):
    """Finds the -1 and the errors itself; then a new memory that is filled."""
    count = t.numel()
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in shape:
        known = prod(n for n in shape if n >= 0)
        if not known or count % known:
            raise RuntimeError(f"shape {shape} is invalid for {count} elements")
        shape = tuple(count // known if n < 0 else n for n in shape)
    if prod(shape) != count:
        raise RuntimeError(f"shape {shape} is invalid for {count} elements")
    if shape == tuple(t.shape):
        return t
    try:
        return t.view(*shape) if shape else t.view(())
    except RuntimeError:
        return torch.empty(t.shape, dtype=t.dtype, device=t.device).copy_(t).view(shape)


def by_strides(t, shape):
    """Joins and cuts dimension by dimension, and makes the view by its strides."""
    shape = torch.empty(t.shape, device="meta").view(shape).shape  # the error of torch for a wrong shape
    strides, left, step, dims = [], 1, 1, [d for d in range(t.dim()) if t.size(d) != 1]
    for n in reversed(shape if t.numel() else ()):
        if n > 1 and left == 1:
            step = t.stride(dims[-1])
            while dims and t.stride(dims[-1]) == step * left:
                left *= t.size(dims.pop())
        if left % n:
            return t.clone(memory_format=torch.contiguous_format).view(shape)
        strides.insert(0, step)
        step, left = step * n, left // n
    return t.as_strided(shape, strides or [1] * len(shape))


class _Copied(torch.autograd.Function):
    """A copy with a backward of its own."""

    @staticmethod
    def forward(ctx, t):
        return torch.stack(t.unbind()) if t.dim() == 2 else t.contiguous()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def with_its_own_node(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Looks with a detached tensor, so that no node is made for nothing."""
    try:
        t.detach().view(shape)
    except RuntimeError:
        t = _Copied.apply(t)
    return t.view(shape)


RIGHT: list[Any] = [by_trying, with_sizes_first, by_strides, with_its_own_node]
