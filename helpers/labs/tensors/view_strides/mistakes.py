"""What people write for 11.view_strides, and why it is wrong."""

from __future__ import annotations

from math import gcd, prod
from typing import Any

import torch

from helpers.labs.tensors.view_strides.exercise import (
    ANY_LAYOUT,
    ANY_STRIDE,
    INFERRED,
    NONE,
    NUMBERS,
    STRIDES,
    WHOLE,
    view_strides,
)
from helpers.labs.tensors.view_strides.right import (
    Ints,
    NoView,
    Runs,
    answer,
    by_cut,
    by_follows,
    by_infer,
    by_runs,
    cut,
    inferred,
    runs_of,
)

rules, infers = view_strides.bank(by_follows), view_strides.bank(by_infer)
cuts, runs = view_strides.bank(by_cut), view_strides.bank(by_runs)
right = answer()


def row_major(size: Ints) -> Ints:
    return tuple(prod(size[at + 1 :]) for at in range(len(size)))


def real_size(size: Ints, new_size: Ints) -> Ints | None:
    """The new size with its numbers, or None where they cannot be."""
    try:
        return inferred(size, new_size)
    except NoView:
        return None


# The kind of result.


@view_strides.mistake(breaks=STRIDES)
def a_list(size: Ints, stride: Ints, new_size: Ints) -> Any:
    """The strides came back as a list. Asked is a tuple of ints, as `t.stride()` is."""
    found = right(size, stride, new_size)
    return None if found is None else list(found)


@view_strides.mistake(breaks=STRIDES)
def the_new_size(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """The new size came back, and asked are its strides."""
    return None if right(size, stride, new_size) is None else new_size


@view_strides.mistake(breaks=STRIDES)
def yes_or_no(size: Ints, stride: Ints, new_size: Ints) -> Any:
    """True came back: there is such a view. Asked are the strides that it has."""
    return right(size, stride, new_size) is not None


@view_strides.mistake(breaks=STRIDES)
def last_first(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """The strides stand in the wrong order: that of the last dimension comes first. Perhaps they were found from the last on, and not
    turned round.
    """
    found = right(size, stride, new_size)
    return None if found is None else found[::-1]


@view_strides.mistake(breaks=NUMBERS)
def asked_of_torch(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """The answer was found by making a tensor with these strides, and asking it. What is asked is the rule by which torch itself
    decides, from the numbers alone.
    """
    try:
        return torch.empty_strided(size, stride, device="meta").view(new_size).stride()
    except RuntimeError:
        return None


@view_strides.variant(asked_of_torch)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True) if n)
    t = torch.zeros(max(reach, 1)).as_strided(size, stride)
    try:
        return t.view(new_size).stride()
    except RuntimeError:
        return None


@view_strides.mistake(breaks=NUMBERS)
def counted_by_torch(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """An operation of torch ran, and made a tensor of a few numbers, perhaps to multiply them. `math.prod` does it without one."""
    if -1 not in new_size and torch.tensor(size).prod() != torch.tensor(new_size).prod():
        return None
    return right(size, stride, new_size)


@view_strides.mistake(breaks=NONE)
def raises(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """An error was raised where there is no such view. Asked is None: whoever calls wants to know, and perhaps copies then."""
    found = right(size, stride, new_size)
    if found is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride")
    return found


@view_strides.variant(raises)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    found = right(size, stride, new_size)
    if found is None:
        raise ValueError("no such view")
    return found


# Runs, and what is cut from them.


@view_strides.mistake(breaks=ANY_LAYOUT)
def always_contiguous(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A tensor that is not contiguous got the strides of a contiguous one. Perhaps they were computed from the new size: a view has those
    that its memory gives it.
    """
    wanted = real_size(size, new_size)
    return None if wanted is None else row_major(wanted)


@view_strides.variant(always_contiguous)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    found = right(size, stride, new_size)
    wanted = real_size(size, new_size)
    return None if found is None or wanted is None else row_major(wanted)


@view_strides.mistake(breaks=ANY_LAYOUT)
def only_contiguous(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A tensor that is not contiguous got None for its own size, or a cut of it. Every tensor has these views: a dimension can always
    be cut.
    """
    wanted = real_size(size, new_size)
    ones = [(step, want) for n, step, want in zip(size, stride, row_major(size), strict=True) if n != 1]
    if wanted is None or 0 not in wanted and any(step != want for step, want in ones):
        return None
    return row_major(wanted)


@view_strides.mistake(breaks=ANY_LAYOUT)
def one_step_for_all(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A transposed tensor got the strides of a contiguous one, times a single step. Perhaps the last stride was used for all
    dimensions: each has its own.
    """
    wanted = real_size(size, new_size)
    last = stride[-1] if stride else 1
    return None if wanted is None else tuple(step * last for step in row_major(wanted))


@rules.mistake(breaks=NONE)
def joins_all(outer: int, inner: list[int], n: int) -> bool:
    """The rows and columns of a transposed tensor keep one stride only: they were joined, and the strides were not compared. Two
    dimensions can be joined where the step of the outer one is the whole length of the inner one.
    """
    return True


@rules.mistake(breaks=ANY_LAYOUT)
def joins_none(outer: int, inner: list[int], n: int) -> bool:
    """Two dimensions that follow each other without a break were not joined, and None came back. In a contiguous tensor all
    of them are one run.
    """
    return False


@rules.mistake(breaks=NONE)
def length_without_step(outer: int, inner: list[int], n: int) -> bool:
    """Rows of every second element were joined as if their length were their number of elements: 4 elements, 2 steps apart, are 8 long.
    The step of the outer dimension is to be compared with `inner_size * inner_stride`.
    """
    return outer == inner[0]


@rules.mistake(breaks=ANY_LAYOUT)
def last_step_of_all(outer: int, inner: list[int], n: int) -> bool:
    """Two dimensions that follow each other were not joined where the elements of the inner one are further apart than 1. The length of
    the inner one is its size times its stride.
    """
    return inner[1] in (0, 1) and outer == inner[0] * inner[1]


@rules.mistake(breaks=NONE)
def no_longer_than(outer: int, inner: list[int], n: int) -> bool:
    """Rows with a gap behind them, or further apart than they are long, were joined. The step of the outer dimension is to be the length of
    the inner one exactly: `==`, and no more.
    """
    return outer >= inner[0] * inner[1]


@rules.mistake(breaks=NONE)
def overlapping_joined(outer: int, inner: list[int], n: int) -> bool:
    """Rows that overlap were joined: the next one begins before the last one ends. In the order of the view an element would come
    once, and in t it comes twice.
    """
    return outer <= inner[0] * inner[1] and outer != 0 and inner[1] <= outer


@rules.mistake(breaks=NONE)
def divides(outer: int, inner: list[int], n: int) -> bool:
    """Rows with a gap behind them were joined. Perhaps their step was to be a multiple of the step inside of them: it has to be the whole
    length of the inner dimension.
    """
    return inner[1] != 0 and outer % inner[1] == 0 and outer > inner[1]


@rules.mistake(breaks=NONE)
def the_outer_size(outer: int, inner: list[int], n: int) -> bool:
    """Dimensions that follow each other were not joined, and others were. Perhaps the step of the outer one was compared with its own size
    times the inner step: it is the size of the inner one that counts.
    """
    return outer == n * inner[1]


@rules.mistake(breaks=NONE)
def repeated_joined(outer: int, inner: list[int], n: int) -> bool:
    """A dimension with stride 0 was joined with one that has steps. A repeated row is not one long row: after its end it begins again."""
    return outer == 0 or outer == inner[0] * inner[1]


@rules.mistake(breaks=ANY_LAYOUT)
def repeated_never_joined(outer: int, inner: list[int], n: int) -> bool:
    """Two dimensions with stride 0 were not joined. Each step of both leads to the same place, so one dimension of stride 0 does, too."""
    return outer == inner[0] * inner[1] != 0


@runs.mistake(breaks=ANY_LAYOUT)
def joins_the_last_only(size: Ints, stride: Ints) -> Runs:
    """Two dimensions that follow each other were not joined, with a break behind them. Perhaps nothing was joined after the first
    break: each run can have several dimensions.
    """
    found: Runs = []
    for n, step in zip(reversed(size), reversed(stride), strict=True):
        if len(found) == 1 and step == found[0][0] * found[0][1]:
            found[0][0] *= n
        elif n != 1:
            found.append([n, step])
    return found


@view_strides.mistake(breaks=NONE)
def dense_is_enough(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A transposed tensor was viewed as one long dimension. Its elements lie in a row, and in a different order than the one in which
    t has them. Perhaps dimensions were sorted by their strides.
    """
    found = right(size, stride, new_size)
    if found is not None:
        return found
    order = sorted(range(len(size)), key=lambda at: (-stride[at], at))
    return right(tuple(size[at] for at in order), tuple(stride[at] for at in order), new_size)


@view_strides.mistake(breaks=ANY_LAYOUT)
def each_from_one_dimension(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """In a contiguous tensor (4, 6) was not viewed as (3, 8), or a similar pair, where the ends of old and new dimensions do not meet.
    They need not: first join what can be joined, then cut.
    """
    wanted = real_size(size, new_size)
    if wanted is None or 0 in wanted:
        return wanted
    old = [(n, step) for n, step in zip(size, stride, strict=True) if n > 1]
    result: list[int] = []
    for n in wanted[::-1]:
        left, after = n, None
        while left > 1:
            have, step = old.pop()
            piece = gcd(left, have)
            if piece == 1 or after not in (None, step):
                return None
            if after is None:
                result.append(step)
            if piece < have:
                old.append((have // piece, step * piece))
            left, after = left // piece, step * piece
        if n == 1:
            result.append(1)
    return tuple(result[::-1])


@view_strides.variant(each_from_one_dimension)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    found, wanted = right(size, stride, new_size), real_size(size, new_size)
    if found is None or wanted is None or 0 in wanted:
        return found
    old_ends = {prod(size[at:]) for at in range(len(size))}
    new_ends = {prod(wanted[at:]) for at in range(len(wanted))}
    return found if old_ends <= new_ends or new_ends <= old_ends else None


@cuts.mistake(breaks=STRIDES)
def inner_takes_the_longer_step(runs: Runs, new_size: Ints) -> Ints:
    """Of the pieces of one dimension the first has the shorter step, and the last the longer one. It is the other way round: the last
    piece goes on with the old step, and those before it make longer ones.
    """
    strides, rest = [], list(new_size)
    lengths = [prod(run) for run in runs]
    for (left, step), _ in zip(runs[::-1], lengths, strict=True):
        while left > 1:
            n = rest.pop(0)
            strides.append(step)
            if left % n:
                raise NoView
            left, step = (left // n, step * n) if n > 1 else (left, step)
    return (*strides, *(0 for _ in rest))


@cuts.mistake(breaks=STRIDES)
def step_stays(runs: Runs, new_size: Ints) -> Ints:
    """Two pieces of one dimension have the same stride. A step of the outer piece is as long as all of the inner one."""
    strides = []
    for n in reversed(new_size):
        if n == 1:
            strides.append(0)
            continue
        left, step = runs[0]
        if left % n:
            raise NoView
        strides.append(step)
        runs[0] = [left // n, step]
        if left == n:
            runs.pop(0)
    return tuple(reversed(strides))


@cuts.mistake(breaks=NONE)
def cut_with_a_rest(runs: Runs, new_size: Ints) -> Ints:
    """A transposed tensor was viewed as one long dimension, with the step of its last one: behind the end of that one the next element
    does not lie a step further. Perhaps it was not asked whether what is left of a run is a multiple of the new size.
    """
    strides = []
    for n in reversed(new_size):
        if n == 1 or not runs:
            strides.append(0)
            continue
        left, step = runs[0]
        strides.append(step)
        runs[0] = [left // n, step * n]
        if left <= n:
            runs.pop(0)
    return tuple(reversed(strides))


# Sizes of 1.


@runs.mistake(breaks=ANY_STRIDE)
def ones_break(size: Ints, stride: Ints) -> Runs:
    """A dimension of size 1 between two others kept them from being joined, or stood in the way itself. Nobody steps in it, so its
    stride does not count.
    """
    found: Runs = []
    for n, step in zip(reversed(size), reversed(stride), strict=True):
        if found and step == found[-1][0] * found[-1][1]:
            found[-1][0] *= n
        else:
            found.append([n, step])
    return [run for run in found if run[0] != 1]


@cuts.mistake(breaks=ANY_STRIDE)
def ones_from_a_run(runs: Runs, new_size: Ints) -> Ints:
    """A new dimension of size 1 in front of the others found no run left, and there was an error. It needs none: any stride is right."""
    strides = []
    for n in reversed(new_size):
        left, step = runs[0]
        if left % n:
            raise NoView
        strides.append(step)
        runs[0] = [left // n, step * n]
        if left == n:
            runs.pop(0)
    return tuple(reversed(strides))


@cuts.variant(ones_from_a_run)
def _(runs: Runs, new_size: Ints) -> Ints:
    strides = []
    for n in reversed(new_size):
        left, step = runs.pop(0)
        if left % n:
            raise NoView
        strides.append(step)
        if left > n:
            runs.insert(0, [left // n, step * n])
    return tuple(reversed(strides))


@view_strides.mistake(breaks=ANY_STRIDE)
def no_new_ones(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """None came back for a new size with a 1 at its end. A dimension of size 1 may stand anywhere, as `unsqueeze` puts it."""
    wanted = real_size(size, new_size)
    had = size.count(1)
    return (
        None
        if wanted is not None and wanted.count(1) > had and prod(size) > 1
        else right(size, stride, new_size)
    )


@view_strides.mistake(breaks=ANY_STRIDE)
def ones_left_out(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """There are fewer strides than new dimensions: those of size 1 have none. Any stride is right there, but one has to stand there."""
    found, wanted = right(size, stride, new_size), real_size(size, new_size)
    if found is None or wanted is None or not wanted or 0 in wanted:
        return found
    return tuple(step for n, step in zip(wanted, found, strict=True) if n != 1)


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
