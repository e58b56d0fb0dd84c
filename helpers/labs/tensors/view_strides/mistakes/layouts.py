"""What people write for 11.view_strides: the result, torch itself, runs and what is cut from them, and sizes of 1."""

from __future__ import annotations

from math import gcd, prod
from typing import Any

import torch
from torch._subclasses.fake_impls import _compute_stride

from helpers.labs.tensors.view_strides.exercise import (
    ANY_STRIDE,
    NONE,
    NOT_CALLED,
    NUMBERS,
    STRIDES,
    view_strides,
)
from helpers.labs.tensors.view_strides.right import (
    Ints,
    NoView,
    Runs,
    answer,
    by_blocks,
    by_counters,
    by_cut,
    by_follows,
    by_runs,
    cut,
    real_size,
    row_major,
    runs_of,
)

rules = view_strides.bank(by_follows)
cuts = view_strides.bank(by_cut)
runs = view_strides.bank(by_runs)
blocks = view_strides.bank(by_blocks)
right = answer()


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


@view_strides.mistake(breaks=NUMBERS)
def tried_with_its_size(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A tensor of the size of t was made by torch, perhaps to see whether the numbers of elements fit, or what -1 stands for. `math.prod`
    and `//` tell both.
    """
    try:
        torch.empty(size, device="meta").view(new_size)
    except RuntimeError:
        return None
    return right(size, stride, new_size)


@view_strides.variant(tried_with_its_size)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    t = torch.empty(size, device="meta")
    return right(size, stride, new_size) if -1 in new_size or t.numel() == prod(new_size) else None


@view_strides.mistake(breaks=NOT_CALLED)
def called_its_rule(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """torch's own function was called to find the strides. It is shown after this exercise, in which you write it yourself."""
    wanted = real_size(size, new_size)
    found = None if wanted is None else _compute_stride(size, stride, wanted)
    return None if found is None else tuple(found)


@view_strides.variant(called_its_rule)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    found = _compute_stride(size, stride, new_size)
    return found and tuple(found)


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


@view_strides.mistake(breaks=STRIDES)
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


@view_strides.variant(always_contiguous)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    wanted = real_size(size, new_size)
    return stride if wanted == size else None if wanted is None else row_major(wanted)


@view_strides.mistake(breaks=NONE)
def own_size_only(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A tensor that is not contiguous kept its own size, and got None where its one dimension was to be cut into two. A dimension can
    always be cut, whatever its stride is.
    """
    return stride if size == real_size(size, new_size) else only_contiguous(size, stride, new_size)


@view_strides.mistake(breaks=NONE)
def one_run_only(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A dimension of stride 3 was cut, and a permuted tensor got None where one of its dimensions was to be cut. Perhaps all of t is
    to be one run, or to keep its size. It can be several: each new dimension must lie in one of them.
    """
    wanted = real_size(size, new_size)
    if wanted is None or wanted == size:
        return None if wanted is None else stride
    found = runs_of(size, stride)
    return right(size, stride, new_size) if 0 in size or len(found) < 2 else None


@view_strides.mistake(breaks=STRIDES)
def dense_in_rows(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A permuted tensor, for a cut of it, got the strides of a contiguous one. Perhaps it was asked only whether its elements lie
    without a gap: they do, and in a different order than the one in which t has them.
    """
    wanted = real_size(size, new_size)
    if wanted is None or wanted == size or 0 in wanted:
        return None if wanted is None else stride if wanted == size else row_major(wanted)
    expected = 1
    for step, n in sorted((step, n) for n, step in zip(size, stride, strict=True) if n != 1):
        if step != expected:
            return right(size, stride, new_size)
        expected *= n
    return row_major(wanted)


@view_strides.mistake(breaks=NONE)
def only_contiguous(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A tensor that is not contiguous got None for its own size, or a cut of it. Every tensor has these views: a dimension can always
    be cut.
    """
    wanted = real_size(size, new_size)
    ones = [(step, want) for n, step, want in zip(size, stride, row_major(size), strict=True) if n != 1]
    if wanted is None or 0 not in wanted and any(step != want for step, want in ones):
        return None
    return row_major(wanted)


@view_strides.mistake(breaks=STRIDES)
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


@rules.mistake(breaks=NONE)
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


@rules.mistake(breaks=NONE)
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


@rules.mistake(breaks=NONE)
def repeated_never_joined(outer: int, inner: list[int], n: int) -> bool:
    """Two dimensions with stride 0 were not joined. Each step of both leads to the same place, so one dimension of stride 0 does, too."""
    return outer == inner[0] * inner[1] != 0


@runs.mistake(breaks=NONE)
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


@view_strides.mistake(breaks=STRIDES)
def in_the_order_of_memory(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """A transposed tensor got the strides of a contiguous one, and a tensor of every second element its own. Perhaps dimensions were
    sorted by their strides before they were joined: a view keeps the order of the indices, and not that of memory.
    """
    order = sorted(range(len(size)), key=lambda at: (-stride[at], at))
    return right(tuple(size[at] for at in order), tuple(stride[at] for at in order), new_size)


@blocks.mistake(breaks=NONE)
def only_the_ends(block: list[tuple[int, int]]) -> bool:
    """Three dimensions were joined, with breaks between them. The step of the first is as long as the other two together, and the one
    in the middle lies elsewhere. Perhaps only the first was compared with the last: each has to follow the one after it.
    """
    return block[0][1] == block[-1][1] * prod(n for n, _ in block[1:])


@blocks.mistake(breaks=NONE)
def only_the_last_two(block: list[tuple[int, int]]) -> bool:
    """Of three dimensions that were joined the last two follow without a break, and the first does not. Perhaps only the last two
    were compared: each has to follow the one after it.
    """
    return _follow(*block[-2:])


@blocks.mistake(breaks=NONE)
def only_the_first_two(block: list[tuple[int, int]]) -> bool:
    """Of three dimensions that were joined the first two follow without a break, and the last does not. Perhaps only the first two
    were compared: each has to follow the one after it.
    """
    return _follow(*block[:2])


def _follow(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[1] == inner[0] * inner[1]


@view_strides.mistake(breaks=NONE)
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


@cuts.mistake(breaks=ANY_STRIDE)
def no_ones_in_front(runs: Runs, new_size: Ints) -> Ints:
    """None came back for a new size with a 1 in front, and not for one with a 1 at its end. Perhaps all of t was used up when the 1 was
    met, and it was left over: a 1 needs nothing of t.
    """
    found = cut(runs, new_size)
    if len(new_size) > 1 and new_size[0] == 1 and prod(new_size) > 1:
        raise NoView
    return found


@view_strides.variant(no_ones_in_front)
def _(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    return by_counters(size, stride, new_size, ones=False)


@view_strides.mistake(breaks=ANY_STRIDE)
def ones_left_out(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """There are fewer strides than new dimensions: those of size 1 have none. Any stride is right there, but one has to stand there."""
    found, wanted = right(size, stride, new_size), real_size(size, new_size)
    if found is None or wanted is None or not wanted or 0 in wanted:
        return found
    return tuple(step for n, step in zip(wanted, found, strict=True) if n != 1)


@view_strides.mistake(breaks=STRIDES)
def ones_in_front_left_out(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """There are fewer strides than new dimensions: the 1 in front has none. Perhaps all of t was used up before it was met. Any
    stride is right there, but one has to stand there.
    """
    found, wanted = right(size, stride, new_size), real_size(size, new_size)
    if found is None or wanted is None or 0 in wanted:
        return found
    return found[next((at for at, n in enumerate(wanted) if n != 1), len(wanted)) :]
