"""What people write for 11.expanded, and why it is wrong."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from helpers.labs.tensors.expanded.exercise import (
    ANY_SIZE,
    IN_FRONT,
    MATCHED,
    MINUS_ONE,
    NONE,
    NUMBERS,
    STRIDES,
    WHOLE,
    expanded,
)
from helpers.labs.tensors.expanded.right import CannotExpand, Ints, answer, by_each, by_new, new_ones, one

each, new = expanded.bank(by_each), expanded.bank(by_new)
right = answer()


def row_major(size: Ints) -> Ints:
    return tuple(prod(size[at + 1 :]) for at in range(len(size)))


# Strides.


@expanded.mistake(breaks=STRIDES)
def as_a_copy(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """A dimension of size 1 that became larger has the stride of a contiguous tensor of the new size. `expand` makes no such tensor:
    it repeats what is there, with stride 0.
    """
    if right(size, stride, to) is None:
        return None
    front = len(to) - len(size)
    return row_major(
        (*to[:front], *(n if want == -1 else want for n, want in zip(size, to[front:], strict=True)))
    )


@each.mistake(breaks=STRIDES)
def keeps_its_stride(have: int, step: int, want: int) -> int:
    """A dimension of size 1 that became larger kept the stride that it had. With that a step in it leads behind the tensor; with 0 it
    stays where it is.
    """
    one(have, step, want)
    return step


@each.mistake(breaks=STRIDES)
def stride_one(have: int, step: int, want: int) -> int:
    """A dimension of size 1 that became larger has stride 1: each step leads to the next element. Repeated, it has stride 0."""
    one(have, step, want)
    return step if want in (-1, have) else 1


@expanded.mistake(breaks=STRIDES)
def contiguous_as_it_was(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """With a contiguous tensor it is right, and with a transposed or sliced one a stride is not the one that it had. Perhaps strides were
    computed from the size; t has them.
    """
    return right(size, row_major(size), to)


@each.mistake(breaks=STRIDES)
def all_zero(have: int, step: int, want: int) -> int:
    """A dimension that did not change has stride 0, too: all of its elements would be the first one."""
    one(have, step, want)
    return 0


@each.mistake(breaks=STRIDES)
def zero_to_one(have: int, step: int, want: int) -> int:
    """A dimension that did not change has stride 1, and had 0: t was an expanded tensor itself. Its stride stays."""
    return one(have, step or 1, want) if want in (-1, have) else one(have, step, want)


@each.mistake(breaks=STRIDES)
def zero_without_elements(have: int, step: int, want: int) -> int:
    """A dimension of size 0 that did not change has stride 0. Perhaps each dimension of fewer than two elements got it; what does not
    change keeps its stride.
    """
    one(have, step, want)
    return step if have > 1 else 0


@each.variant(zero_without_elements)
def _(have: int, step: int, want: int) -> int:
    return one(have, step, want) if have else 0 * one(have, step, want)


@expanded.mistake(breaks=WHOLE)
def sizes(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """The new size came back. Asked are the strides."""
    return None if right(size, stride, to) is None else to


@expanded.mistake(breaks=STRIDES)
def a_list(size: Ints, stride: Ints, to: Ints) -> Any:
    """The strides came back as a list. `t.stride()` is a tuple, and so is what is asked: `tuple(...)`."""
    found = right(size, stride, to)
    return None if found is None else list(found)


# Without torch.


@expanded.mistake(breaks=NUMBERS)
def asked_of_torch(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """A tensor was made and expanded, to see what comes of it. What is asked is the rule by which `expand` itself decides, from the
    numbers alone.
    """
    try:
        return torch.empty_strided(size, stride, device="meta").expand(to).stride()
    except RuntimeError:
        return None


@expanded.variant(asked_of_torch)
def _(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True) if n)
    try:
        return torch.broadcast_to(torch.zeros(max(reach, 1)).as_strided(size, stride), to).stride()
    except RuntimeError:
        return None


@expanded.variant(asked_of_torch)
def _(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    try:
        torch.empty(size).expand(to)
    except RuntimeError:
        return None
    return right(size, stride, to)


@expanded.mistake(breaks=NUMBERS)
def counted_by_torch(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """Operations of torch ran, and made a tensor of a few numbers, perhaps to compare sizes. Python compares ints without one."""
    front = max(len(to) - len(size), 0)
    if len(to) == len(size) and not torch.tensor(to[front:]).shape:
        return None
    return right(size, stride, to)


# New dimensions.


@expanded.mistake(breaks=MATCHED)
def from_the_first(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """With a dimension more, sizes were matched from the first one, and they did not fit. They are matched from the last, as in
    each broadcast.
    """
    front = right(size, stride, to[: len(size)])
    if len(to) < len(size) or front is None or -1 in to[len(size) :]:
        return None
    return front + (0,) * (len(to) - len(size))


@expanded.mistake(breaks=IN_FRONT)
def new_behind(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """The 0 of a new dimension stands behind the strides of t. New dimensions stand in front."""
    found = right(size, stride, to)
    count = len(to) - len(size)
    return None if found is None else found[count:] + found[:count]


@expanded.mistake(breaks=IN_FRONT)
def new_left_out(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """A new dimension has no stride in the result: there are fewer strides than sizes. It has one, 0."""
    found = right(size, stride, to)
    return None if found is None else found[len(to) - len(size) :]


@expanded.mistake(breaks=ANY_SIZE)
def no_new_ones(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """None came back where `to` has a dimension more than t. `expand` puts new ones in front."""
    return right(size, stride, to) if len(size) == len(to) else None


@new.mistake(breaks=STRIDES)
def new_as_blocks(to: Ints, size: Ints, stride: Ints) -> list[int]:
    """A new dimension has a stride as if t were there several times, one behind the other. It is there once: the stride is 0."""
    new_ones(to, size, stride)
    block = max((n * step for n, step in zip(size, stride, strict=True)), default=1)
    count = len(to) - len(size)
    return [block * prod(to[at + 1 : count]) for at in range(count)]


# -1.


@each.mistake(breaks=MINUS_ONE)
def minus_one_refused(have: int, step: int, want: int) -> int:
    """None came back for a -1 in a dimension that t has. It stands for the size there, which does not change."""
    if want < 0:
        raise CannotExpand
    return one(have, step, want)


@each.variant(minus_one_refused)
def _(have: int, step: int, want: int) -> int:
    if want != have and have != 1 or want < 0:
        raise CannotExpand
    return step if want == have else 0


@each.mistake(breaks=MINUS_ONE)
def minus_one_only_of_one(have: int, step: int, want: int) -> int:
    """-1 was taken for a change: it makes None of a size other than 1, or a stride of 0. It says that the size stays."""
    if want != have and have != 1:
        raise CannotExpand
    return step if want == have else 0


@each.mistake(breaks=MINUS_ONE)
def minus_one_is_new(have: int, step: int, want: int) -> int:
    """With -1 the stride is 0, as if the size had changed. It says that the size stays, and so does the stride."""
    one(have, step, want)
    return step if want == have else 0


@expanded.mistake(breaks=MINUS_ONE)
def one_minus_one(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """With one -1 it is right, and with two None came back. In `view` there can be one only, since it is found from the others; here
    each stands for the size of its own dimension.
    """
    return None if to.count(-1) > 1 else right(size, stride, to)


@new.mistake(breaks=NONE)
def new_minus_one_taken(to: Ints, size: Ints, stride: Ints) -> list[int]:
    """A new dimension of -1 got a stride. There is no size in t that -1 could stand for, and `expand` raises."""
    if len(to) < len(size):
        raise CannotExpand
    return [0] * (len(to) - len(size))


@new.mistake(breaks=NONE)
def only_the_first_new_one(to: Ints, size: Ints, stride: Ints) -> list[int]:
    """A -1 in the first new dimension is found, and in the second it is not. In none of the new ones there is a size for it."""
    count = len(to) - len(size)
    if count < 0 or count and to[0] == -1:
        raise CannotExpand
    return [0] * count


@expanded.mistake(breaks=NONE)
def no_minus_one_beside_new_ones(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """With a new dimension in front, a -1 in a dimension that t has gave None. Only a new one cannot be -1."""
    return None if len(to) > len(size) and -1 in to else right(size, stride, to)


# What cannot be.


@each.mistake(breaks=NONE)
def any_change(have: int, step: int, want: int) -> int:
    """A dimension of 3 was made one of 4. Only a size of 1 can change: which of the three elements should come again?"""
    return step if want in (-1, have) else 0


@each.mistake(breaks=NONE)
def whole_times(have: int, step: int, want: int) -> int:
    """A dimension of 3 was made one of 6, since 3 goes into it twice. That is `repeat`, which copies: no stride leads back to the
    beginning after three steps.
    """
    if want in (-1, have):
        return step
    if have == 0 or want % have:
        raise CannotExpand
    return 0


@each.mistake(breaks=NONE)
def both_ways(have: int, step: int, want: int) -> int:
    """A wanted size of 1 was taken for a dimension that has more elements. In a broadcast of two tensors each may give way; `expand`
    changes t only, and takes no element away.
    """
    return step if want == 1 else one(have, step, want)


@each.mistake(breaks=NONE)
def larger_only(have: int, step: int, want: int) -> int:
    """A larger size is refused, and a smaller one is not. A size other than 1 can change in neither way."""
    if want > have != 1:
        raise CannotExpand
    return step if want in (-1, have) else 0


@each.mistake(breaks=NONE)
def zero_may_change(have: int, step: int, want: int) -> int:
    """A dimension of t without elements was made larger. It has no element that could be repeated; only a size of 1 can change."""
    return one(have or 1, step, want) if want != have else step


@each.mistake(breaks=NONE)
def stride_zero_may_change(have: int, step: int, want: int) -> int:
    """A dimension of size 3 and stride 0 was made one of 6. Its elements are all in one place, so it could be, but `expand` looks at the
    size, and raises.
    """
    return one(1 if step == 0 else have, step, want) if want not in (-1, have) else step


@each.mistake(breaks=ANY_SIZE)
def never_to_zero(have: int, step: int, want: int) -> int:
    """None came back for a size of 1 that is to become 0. It can become any size, and 0 is one."""
    if want == 0 != have:
        raise CannotExpand
    return one(have, step, want)


@each.mistake(breaks=ANY_SIZE)
def no_zero(have: int, step: int, want: int) -> int:
    """None came back for a size of 0 that stays 0. It does not change, so there is nothing to refuse."""
    if have == 0:
        raise CannotExpand
    return one(have, step, want)


@new.mistake(breaks=ANY_SIZE)
def no_new_zero(to: Ints, size: Ints, stride: Ints) -> list[int]:
    """None came back for a new dimension of size 0. A new one can have any size."""
    count = len(to) - len(size)
    if count < 0 or any(n < 1 for n in to[:count]):
        raise CannotExpand
    return [0] * count


@new.mistake(breaks=NONE)
def shorter_taken(to: Ints, size: Ints, stride: Ints) -> list[int]:
    """`to` is shorter than the size of t, and strides came back. `expand` never takes a dimension away; perhaps `zip` ended with the
    shorter one.
    """
    if -1 in to[: max(len(to) - len(size), 0)]:
        raise CannotExpand
    return [0] * (len(to) - len(size))


@expanded.variant(shorter_taken)
def _(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    missing = len(size) - len(to)
    return right(size, stride, to) if missing <= 0 else right(size[missing:], stride[missing:], to)


@expanded.mistake(breaks=NONE)
def ones_taken_away(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """`to` is shorter, and a dimension of size 1 in front was left out. It holds one element only, and still `expand` raises: it never
    takes a dimension away.
    """
    while len(size) > max(len(to), 0) and size[0] == 1:
        size, stride = size[1:], stride[1:]
    return right(size, stride, to)


@expanded.mistake(breaks=NONE)
def raises(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """An error was raised where t cannot be expanded. Asked is None: whoever calls wants to know, and not to be stopped."""
    found = right(size, stride, to)
    if found is None:
        raise ValueError("cannot be expanded")
    return found


@expanded.variant(raises)
def _(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    if len(to) < len(size):
        raise RuntimeError("the number of sizes provided must be greater or equal")
    for have, want in zip(size, to[len(to) - len(size) :], strict=True):
        if have not in (1, want) and want != -1:
            raise RuntimeError("the expanded size must match the existing size")
    return right(size, stride, to)
