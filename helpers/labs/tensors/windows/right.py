"""A right answer to 11.windows in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

Pair = tuple[int, int]
Ints = tuple[int, ...]
Answer = Callable[[Tensor, Pair, Pair], Tensor]


def checked(x: Tensor, size: Pair, step: Pair) -> None:
    """Raises ValueError where there are no such windows."""
    for have, want, pace in zip(x.shape[-2:], size, step, strict=True):
        if not 1 <= want <= have or pace < 1:
            raise ValueError(f"windows of {size}, {step} apart, in {tuple(x.shape)}")


def counted(have: int, want: int, pace: int) -> int:
    """How many windows fit into one dimension."""
    return (have - want) // pace + 1


def sizes(x: Tensor, size: Pair, step: Pair) -> Ints:
    counts = [counted(*each) for each in zip(x.shape[-2:], size, step, strict=True)]
    return (*x.shape[:-2], *counts, *size)


def strides(x: Tensor, step: Pair) -> Ints:
    *leading, row, column = x.stride()
    return (*leading, row * step[0], column * step[1], row, column)


def made(x: Tensor, size: Ints, stride: Ints) -> Tensor:
    return x.as_strided(size, stride)


def answer(
    *,
    check: Callable[[Tensor, Pair, Pair], None] = checked,
    shape: Callable[[Tensor, Pair, Pair], Ints] = sizes,
    stride: Callable[[Tensor, Pair], Ints] = strides,
    make: Callable[..., Tensor] = made,
) -> Answer:
    """Right as it stands; a mistake replaces one step."""

    def windows(x: Tensor, size: Pair, step: Pair) -> Tensor:
        check(x, size, step)
        return make(x, shape(x, size, step), stride(x, step))

    return windows


def by_check(check: Callable[[Tensor, Pair, Pair], Any]) -> Answer:
    return answer(check=check)


def by_count(count: Callable[[int, int, int], int]) -> Answer:
    return answer(
        shape=lambda x, size, step: (
            *x.shape[:-2],
            *(count(*each) for each in zip(x.shape[-2:], size, step, strict=True)),
            *size,
        )
    )


def by_shape(shape: Callable[[Tensor, Pair, Pair], Ints]) -> Answer:
    return answer(shape=shape)


def by_strides(stride: Callable[[Tensor, Pair], Ints]) -> Answer:
    return answer(stride=stride)


def by_make(make: Callable[..., Tensor]) -> Answer:
    return answer(make=make)
