"""A right answer to 11.address in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

Index = tuple[int, ...]


def counted(t: Tensor, index: Index) -> Index:
    if len(index) != t.dim():
        raise IndexError(f"{len(index)} indices for {t.dim()} dimensions")
    return index


def placed(at: int, size: int) -> int:
    """From the front, and in range."""
    if not -size <= at < size:
        raise IndexError(f"{at} is out of range for a dimension of size {size}")
    return at if at >= 0 else at + size


def steps_of(t: Tensor) -> tuple[int, ...]:
    return t.stride()


def begin_of(t: Tensor) -> int:
    return t.data_ptr()


def bytes_of(t: Tensor) -> int:
    return t.element_size()


def answer(
    *,
    count: Callable[[Tensor, Index], Index] = counted,
    place: Callable[[int, int], int] = placed,
    steps: Callable[[Tensor], tuple[int, ...]] = steps_of,
    begin: Callable[[Tensor], int] = begin_of,
    size: Callable[[Tensor], int] = bytes_of,
) -> Callable[[Tensor, Index], int]:
    """Right as it stands; a mistake replaces one part."""

    def address(t: Tensor, index: Index) -> int:
        index = count(t, index)
        each = zip(index, t.shape, steps(t), strict=False)
        return begin(t) + sum(place(at, n) * step for at, n, step in each) * size(t)

    return address


def by_count(count: Callable[[Tensor, Index], Index]) -> Callable[[Tensor, Index], int]:
    return answer(count=count)


def by_place(place: Callable[[int, int], int]) -> Callable[[Tensor, Index], int]:
    return answer(place=place)


def by_steps(steps: Callable[[Tensor], tuple[int, ...]]) -> Callable[[Tensor, Index], int]:
    return answer(steps=steps)


def by_begin(begin: Callable[[Tensor], int]) -> Callable[[Tensor, Index], int]:
    return answer(begin=begin)


def by_bytes(size: Callable[[Tensor], int]) -> Callable[[Tensor, Index], int]:
    return answer(size=size)
