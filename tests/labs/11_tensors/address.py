"""Right answers of 11.address, of other shapes than the solution's."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from torch import Tensor


def by_recursion(t: Tensor, index: tuple[int, ...]) -> int:
    """A dimension after the other; Python's own range knows what is in range, and raises IndexError itself."""

    def walk(dim: int, at: int) -> int:
        if dim == t.dim():
            return at
        return walk(dim + 1, at + range(t.size(dim))[index[dim]] * t.stride(dim) * t.element_size())

    if len(index) > t.dim():
        raise IndexError("too many indices")
    return walk(0, t.data_ptr())


def from_the_storage(t: Tensor, index: tuple[int, ...]) -> int:
    """From the beginning of the storage, with the offset; all is checked before."""
    if len(index) - t.ndim or any(at >= n or at < -n for at, n in zip(index, t.size(), strict=True)):
        raise IndexError(index)
    place = t.storage_offset()
    for dim in range(t.ndim):
        place += (index[dim] + t.size(dim) * (index[dim] < 0)) * t.stride()[dim]
    return t.untyped_storage().data_ptr() + place * t.dtype.itemsize


class NotAnIndex(IndexError):
    """An IndexError of one's own."""


def by_products(t: Tensor, index: tuple[int, ...]) -> int:
    """All ints that a dimension takes, in a table; strides in bytes, as NumPy has them; an error of its own."""
    if len(index) != len(t.shape):
        raise NotAnIndex(index)
    tables = [{at: at % n for at in range(-n, n)} for n in t.shape]
    if any(at not in table for at, table in zip(index, tables, strict=True)):
        raise NotAnIndex(index)
    spots = map(dict.__getitem__, tables, index)
    return t.data_ptr() + sum(map(operator.mul, spots, (step * t.itemsize for step in t.stride())))


def by_numpy(t: Tensor, index: tuple[int, ...]) -> Any:
    """NumPy's integers on the way, and as the result."""
    shape = np.array(t.shape, dtype=np.int64)
    at = np.array(index, dtype=np.int64)
    if at.shape != shape.shape or (at < -shape).any() or (at >= shape).any():
        raise IndexError(f"{index} in {tuple(shape)}")
    return (
        t.data_ptr()
        + np.where(at < 0, at + shape, at) @ np.array(t.stride(), dtype=np.int64) * t.element_size()
    )


RIGHT: list[Any] = [by_recursion, from_the_storage, by_products, by_numpy]
