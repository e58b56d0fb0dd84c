"""Right answers of 11.output_strides, of other shapes than the solution's."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor


def by_insertion(*tensors: Tensor) -> tuple[int, ...]:
    """As torch sorts: each dimension moves inwards as long as it is inside of the one before it."""
    expanded = torch.broadcast_tensors(*tensors)
    shape = expanded[0].shape
    dims: list[int] = []
    for d in reversed(range(len(shape))):
        at = len(dims)
        while at and is_inside(d, dims[at - 1], expanded):
            at -= 1
        dims.insert(at, d)
    strides = [0] * len(shape)
    step = 1
    for d in dims:
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def is_inside(a: int, b: int, tensors: Any) -> bool:
    for t in tensors:
        if 0 not in (t.stride(a), t.stride(b)) and t.stride(a) != t.stride(b):
            return t.stride(a) < t.stride(b)
    return a > b


def by_counting(*tensors):
    """No sorting: the stride of a dimension is the product of the sizes of all that are inside of
    it.
    """
    sizes = [reversed(t.shape) for t in tensors]
    shape = tuple(reversed([max(n) for n in zip_longest(*sizes, fillvalue=1)]))
    rows = []
    for t in tensors:
        missing = len(shape) - t.dim()
        own = [0 if n == 1 else step for n, step in zip(t.shape, t.stride(), strict=True)]
        rows.append([0] * missing + own)

    def outer(a, b):
        votes = (row[a] > row[b] for row in rows if row[a] * row[b] and row[a] != row[b])
        return next(votes, a < b)

    result = []
    for a in range(len(shape)):
        step = 1
        for b in range(len(shape)):
            if b != a and shape[b] > 1 and outer(a, b):
                step *= shape[b]
        result.append(step)
    return tuple(result)


def by_a_matrix(*tensors):
    """How many dimensions each one is inside of; a torch.Size is a tuple of ints."""
    shape = torch.broadcast_shapes(*[t.size() for t in tensors])
    views = [t.broadcast_to(shape) for t in tensors]
    rank = {}
    for a in range(len(shape)):
        rank[a] = 0
        for b in range(len(shape)):
            for view in views:
                x, y = view.stride()[a], view.stride()[b]
                if x != y and min(x, y) > 0:
                    rank[a] += x < y
                    break
            else:
                rank[a] += a > b
    order = sorted(range(len(shape)), key=rank.get, reverse=True)
    steps, step = dict.fromkeys(order, 1), 1
    for d in order:
        steps[d], step = step, step * shape[d]
    return torch.Size([steps[d] for d in range(len(shape))])


RIGHT: list[Any] = [by_insertion, by_counting, by_a_matrix]
