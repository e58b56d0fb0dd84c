"""What people write for 11.view_strides: numbers of elements, -1, no dimensions, and no elements."""

from __future__ import annotations

from math import prod
from typing import Any

from helpers.labs.tensors.view_strides.exercise import (
    ANY_STRIDE,
    INFERRED,
    NONE,
    STRIDES,
    WHOLE,
    view_strides,
)
from helpers.labs.tensors.view_strides.right import (
    Ints,
    NoView,
    answer,
    by_counters,
    by_infer,
    cut,
    inferred,
    real_size,
    row_major,
    runs_of,
)

infers = view_strides.bank(by_infer)
right = answer()


# Numbers of elements, and -1.


@infers.mistake(breaks=NONE)
def count_not_compared(size: Ints, new_size: Ints) -> Ints:
    """A new size with fewer elements was taken. A view has all elements of t: compare the products of the two sizes first."""
    if -1 in new_size or 0 in new_size or prod(new_size) == prod(size):
        return inferred(size, new_size)
    if prod(size) % max(prod(new_size), 1):
        raise NoView
    return new_size


@view_strides.mistake(breaks=NONE)
def count_not_compared_error(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """With more elements in the new size than t has, there was an error: perhaps nothing was left to be cut. Compare the products of the two sizes first."""
    if -1 in new_size or 0 in new_size or 0 in size:
        return right(size, stride, new_size)
    try:
        return cut(runs_of(size, stride), new_size)
    except NoView:
        return None


@infers.mistake(breaks=INFERRED)
def minus_one_not_found(size: Ints, new_size: Ints) -> Ints:
    """None came back for a -1 in the new size. It stands for the number that is missing: the elements of t, divided by the product of
    the others.
    """
    if prod(new_size) != prod(size) or -1 in new_size:
        raise NoView
    return new_size


@infers.mistake(breaks=INFERRED)
def minus_one_is_last(size: Ints, new_size: Ints) -> Ints:
    """A -1 at the end was found, and in a different place it was not. It may stand anywhere."""
    if -1 in new_size[:-1]:
        raise NoView
    return inferred(size, new_size)


@infers.mistake(breaks=INFERRED)
def minus_one_stays_as_in_t(size: Ints, new_size: Ints) -> Ints:
    """A -1 was not the size that makes the numbers of elements equal. Perhaps it was taken for the size that the dimension of t in this
    place has: so it is in `expand`.
    """
    if -1 in new_size[len(size) :]:
        raise NoView
    return inferred(
        size, tuple(have if n == -1 else n for n, have in zip(new_size, (*size, *new_size), strict=False))
    )


@view_strides.mistake(breaks=NONE)
def rest_lost(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """-1 stood beside a number by which the elements of t cannot be divided, and a result came back. `//` forgets the rest: look at
    `%` first.
    """
    known = prod(n for n in new_size if n != -1)
    if new_size.count(-1) == 1 and known and stride == row_major(size):
        return row_major(tuple(prod(size) // known if n == -1 else n for n in new_size))
    return right(size, stride, new_size)


@infers.mistake(breaks=NONE)
def larger_than_all(size: Ints, new_size: Ints) -> Ints:
    """-1 stood beside a number larger than all elements of t together, and a result came back. No size fits there: `//` gives 0, and
    with that there would be no elements.
    """
    known = prod(n for n in new_size if n != -1)
    if new_size.count(-1) == 1 and known:
        return tuple(prod(size) // known if n == -1 else n for n in new_size)
    return inferred(size, new_size)


@view_strides.mistake(breaks=STRIDES)
def floats(size: Ints, stride: Ints, new_size: Ints) -> Any:
    """A stride came back as a float. Perhaps `/` was taken, which makes floats of ints, where `//` keeps them."""
    found = right(size, stride, new_size)
    return None if found is None else tuple(step / 1 for step in found)


@infers.mistake(breaks=NONE)
def several_minus_ones(size: Ints, new_size: Ints) -> Ints:
    """Two -1 were taken in a tensor of many elements. Which of the two sizes should be found? `view` raises."""
    if new_size.count(-1) < 2:
        return inferred(size, new_size)
    at = new_size.index(-1)
    return inferred(size, tuple(1 if n == -1 and place != at else n for place, n in enumerate(new_size)))


@infers.mistake(breaks=NONE)
def several_of_one_element(size: Ints, new_size: Ints) -> Ints:
    """Two -1 were taken in a tensor of one element. Both could stand for 1, and still `view` raises: more than one -1 is never right."""
    known = prod(n for n in new_size if n != -1)
    if new_size.count(-1) < 2 or known == 0 or prod(size) % known:
        return inferred(size, new_size)
    return inferred(size, tuple(prod(size) // known if n == -1 else n for n in new_size))


@infers.mistake(breaks=NONE)
def divided_by_zero(size: Ints, new_size: Ints) -> Ints:
    """-1 stood beside a size of 0, and there was an error: a number was divided by 0. Asked is None: whatever stands there, the product is
    0.
    """
    known = prod(n for n in new_size if n != -1)
    if new_size.count(-1) == 1 and prod(size) % known:
        raise NoView
    return inferred(size, new_size)


@infers.mistake(breaks=NONE)
def zero_beside_zero(size: Ints, new_size: Ints) -> Ints:
    """In a tensor without elements -1 was taken beside a 0. Any size could stand there, so there is no single one: `view` raises."""
    if new_size.count(-1) == 1 and 0 in new_size and 0 in size:
        return tuple(0 if n == -1 else n for n in new_size)
    return inferred(size, new_size)


@infers.mistake(breaks=INFERRED)
def never_zero(size: Ints, new_size: Ints) -> Ints:
    """In a tensor without elements None came back for a -1. Beside sizes other than 0 it stands for 0, and that is a single size."""
    if -1 in new_size and 0 in size:
        raise NoView
    return inferred(size, new_size)


@view_strides.mistake(breaks=WHOLE)
def numbers_refused(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """Without dimensions, None came back for `()`, of which a tensor has one element. Perhaps the empty tuple was taken for nothing: `if
    strides:` is False for it, and `is None` is what tells.
    """
    return right(size, stride, new_size) or None


@view_strides.mistake(breaks=WHOLE)
def looked_up_in_nothing(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """Without dimensions there was an IndexError: a size or a stride was looked up in an empty tuple."""
    step = stride[-1]
    return right(size, (*stride[:-1], step), new_size)


@view_strides.variant(looked_up_in_nothing)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    assert list(stride)[-1] >= 0
    return right(size, stride, new_size)


@view_strides.variant(looked_up_in_nothing)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    assert size[0] >= 0
    return right(size, stride, new_size)


@view_strides.mistake(breaks=ANY_STRIDE)
def nothing_has_no_view(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """In a tensor without elements None came back. It can be viewed in each size that has none either, with any strides."""
    return None if 0 in size else right(size, stride, new_size)


@view_strides.variant(nothing_has_no_view)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    return by_counters(size, stride, new_size)


@view_strides.mistake(breaks=ANY_STRIDE)
def nothing_is_not_joined(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A tensor without elements kept its own size, and got None for another one that has none either. Perhaps runs were looked for:
    where there are no elements, no order of them can break.
    """
    wanted = real_size(size, new_size)
    if wanted is None or size == wanted:
        return None if wanted is None else stride
    return None if 0 in size else right(size, stride, new_size)


@view_strides.variant(nothing_is_not_joined)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    wanted = real_size(size, new_size)
    if wanted is None or 0 not in size:
        return right(size, stride, new_size)
    left, found = 1, runs_of(size, stride)
    for n in wanted[::-1]:
        if n == 1:
            continue
        if left == 1:
            if not found:
                return None
            left = found.pop(0)[0]
        if n == 0 and left or n and left % n:
            return None
        left = left // n if n else 1
    return None if found or left != 1 else row_major(wanted)


@view_strides.mistake(breaks=NONE)
def nothing_is_anything(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """In a tensor without elements two -1 were taken, and with elements they were not. Perhaps it has its answer before -1 is looked
    at, and before numbers of elements are compared: both come first.
    """
    return row_major(new_size) if 0 in size else right(size, stride, new_size)


@view_strides.mistake(breaks=ANY_STRIDE)
def nothing_by_the_same_rule(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """In a tensor without elements there was an error: something was divided by 0. Answer for such tensors before runs are looked at."""
    wanted = real_size(size, new_size)
    if wanted is None:
        return None
    try:
        return cut(runs_of(size, stride), wanted)
    except NoView:
        return None
