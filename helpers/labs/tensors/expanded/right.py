"""A right answer to 11.expanded in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Ints = tuple[int, ...]
Answer = Callable[[Ints, Ints, Ints], Ints | None]


class CannotExpand(Exception):
    """Where None is to be returned."""


def new_ones(to: Ints, size: Ints, stride: Ints) -> Sequence[int]:
    """The strides of the new dimensions."""
    count = len(to) - len(size)
    if count < 0 or -1 in to[:count]:
        raise CannotExpand
    return (0,) * count


def one(have: int, step: int, want: int) -> int:
    """The stride of a dimension that t has."""
    if want in (-1, have):
        return step
    if have != 1:
        raise CannotExpand
    return 0


def answer(
    *, new: Callable[[Ints, Ints, Ints], Sequence[int]] = new_ones, each: Callable[[int, int, int], int] = one
) -> Answer:
    """Right as it stands; a mistake replaces one part."""

    def expanded(size: Ints, stride: Ints, to: Ints) -> Ints | None:
        try:
            front = new(to, size, stride)
            partners = to[max(len(to) - len(size), 0) :]
            return (*front, *(each(*three) for three in zip(size, stride, partners, strict=False)))
        except CannotExpand:
            return None

    return expanded


def by_new(new: Callable[[Ints, Ints, Ints], Sequence[int]]) -> Answer:
    return answer(new=new)


def by_each(each: Callable[[int, int, int], int]) -> Answer:
    return answer(each=each)
