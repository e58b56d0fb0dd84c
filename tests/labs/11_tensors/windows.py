"""Right answers of 11.windows, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def with_an_offset(x: Tensor, size: tuple[int, int], step: tuple[int, int]) -> Tensor:
    """All six numbers by name, the function of torch, and the offset given."""
    (h, w), (down, right) = size, step
    *leading, height, width = x.shape
    *before, row, column = x.stride()
    if min(h, w, down, right) < 1:
        raise ValueError("sizes and steps are 1 or more")
    if h > height or w > width:
        raise ValueError("a window does not fit")
    rows, columns = 1 + (height - h) // down, 1 + (width - w) // right
    shape = [*leading, rows, columns, h, w]
    strides = [*before, row * down, column * right, row, column]
    return torch.as_strided(x, shape, strides, x.storage_offset())


def by_ranges(x, size, step):
    """Counts the places at which a window can begin: `range` raises ValueError for a step of 0."""
    places = [
        range(0, have - want + 1, pace) for have, want, pace in zip(x.shape[-2:], size, step, strict=True)
    ]
    if any(want <= 0 for want in size) or any(pace < 0 for pace in step) or not all(map(len, places)):
        raise ValueError
    steps = tuple(stride * pace for stride, pace in zip(x.stride()[-2:], step, strict=True))
    return x.as_strided(
        x.shape[:-2] + torch.Size(map(len, places)) + torch.Size(size),
        x.stride()[:-2] + steps + x.stride()[-2:],
    )


class DoesNotFit(ValueError):
    """An error of its own kind."""


def by_inserting(x, size, step):
    """One dimension after the other, in lists; divides with ceilings."""
    shape, stride = list(x.shape), list(x.stride())
    for dim in (-2, -1):
        if size[dim] not in range(1, x.size(dim) + 1) or not step[dim] > 0:
            raise DoesNotFit(f"dimension {dim}")
        shape[dim] = -(-(x.size(dim) - size[dim] + 1) // step[dim])
        stride[dim] *= step[dim]
    shape.extend(size)
    stride.extend(x.stride()[-2:])
    return torch.Tensor.as_strided(x, size=shape, stride=stride)


RIGHT: list[Any] = [with_an_offset, by_ranges, by_inserting]
