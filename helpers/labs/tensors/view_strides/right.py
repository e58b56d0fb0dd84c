"""A right answer to 11.view_strides in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

Ints = tuple[int, ...]
Runs = list[list[int]]
Answer = Callable[[Ints, Ints, Ints], Ints | None]


class NoView(Exception):
    """Where None is to be returned."""


def inferred(size: Ints, new_size: Ints) -> Ints:
    """The new size without -1."""
    count = prod(size)
    if -1 in new_size:
        known = prod(n for n in new_size if n != -1)
        if new_size.count(-1) > 1 or known == 0 or count % known:
            raise NoView
        new_size = tuple(count // known if n == -1 else n for n in new_size)
    if prod(new_size) != count:
        raise NoView
    return new_size


def follows(outer: int, inner: list[int], n: int) -> bool:
    """Whether a dimension of stride `outer` and size n goes on where the run `inner`, [length, step], ends."""
    return outer == inner[0] * inner[1]


def runs_of(size: Ints, stride: Ints, follows: Callable[[int, list[int], int], bool] = follows) -> Runs:
    """[length, step] of what lies without a break, from the last dimension on."""
    runs: Runs = []
    for n, step in zip(reversed(size), reversed(stride), strict=True):
        if n == 1:
            continue
        if runs and follows(step, runs[-1], n):
            runs[-1][0] *= n
        else:
            runs.append([n, step])
    return runs


def cut(runs: Runs, new_size: Ints) -> Ints:
    """The strides of new dimensions, each cut from one run."""
    strides = []
    for n in reversed(new_size):
        if n == 1:
            strides.append(0)
            continue
        left, step = runs[0]
        if left % n:
            raise NoView
        strides.append(step)
        runs[0] = [left // n, step * n]
        if left == n:
            runs.pop(0)
    return tuple(reversed(strides))


def without_elements(new_size: Ints) -> Ints:
    return (0,) * len(new_size)


def answer(
    *,
    infer: Callable[[Ints, Ints], Ints] = inferred,
    runs: Callable[[Ints, Ints], Runs] = runs_of,
    cut: Callable[[Runs, Ints], Ints] = cut,
    empty: Callable[[Ints], Ints] = without_elements,
) -> Answer:
    """Right as it stands; a mistake replaces one part."""

    def view_strides(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
        try:
            new_size = infer(size, new_size)
            if 0 in new_size:
                return empty(new_size)
            return cut(runs(size, stride), new_size)
        except NoView:
            return None

    return view_strides


def by_infer(infer: Callable[[Ints, Ints], Ints]) -> Answer:
    return answer(infer=infer)


def by_runs(runs: Callable[[Ints, Ints], Runs]) -> Answer:
    return answer(runs=runs)


def by_follows(rule: Callable[[int, list[int], int], bool]) -> Answer:
    return answer(runs=lambda size, stride: runs_of(size, stride, rule))


def by_cut(cut: Callable[[Runs, Ints], Ints]) -> Answer:
    return answer(cut=cut)


def by_blocks(joined: Callable[[list[tuple[int, int]]], bool]) -> Answer:
    """The smallest blocks of old and of new dimensions with as many elements, from the first on. joined: whether the old
    ones of a block, (size, stride) each, two or more, are one run.
    """

    def view_strides(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
        wanted = real_size(size, new_size)
        if wanted is None or 0 in wanted:
            return wanted
        old = [each for each in zip(size, stride, strict=True) if each[0] != 1]
        new = [at for at, n in enumerate(wanted) if n != 1]
        strides = [0] * len(wanted)
        while old:
            block, pieces = [old.pop(0)], [new.pop(0)]
            while (have := prod(n for n, _ in block)) != (want := prod(wanted[at] for at in pieces)):
                if have < want:
                    block.append(old.pop(0))
                else:
                    pieces.append(new.pop(0))
            if len(block) > 1 and not joined(block):
                return None
            step = block[-1][1]
            for at in reversed(pieces):
                strides[at] = step
                step *= wanted[at]
        return tuple(strides)

    return view_strides


view_strides = answer()


# Parts of mistakes.


def row_major(size: Ints) -> Ints:
    return tuple(prod(size[at + 1 :]) for at in range(len(size)))


def real_size(size: Ints, new_size: Ints) -> Ints | None:
    """The new size with its numbers, or None where they cannot be."""
    try:
        return inferred(size, new_size)
    except NoView:
        return None


def by_counters(size: Ints, stride: Ints, new_size: Ints, ones: bool = True) -> Ints | None:
    """As torch walks through both sizes, and nothing before that for tensors without elements."""
    wanted = real_size(size, new_size)
    if wanted is None or not size:
        return None if wanted is None else (1,) * len(wanted)
    strides, at, base, have, seen = [0] * len(wanted), len(wanted) - 1, stride[-1], 1, 1
    for d in reversed(range(len(size))):
        have *= size[d]
        if d == 0 or size[d - 1] != 1 and stride[d - 1] != have * base:
            while at >= 0 and (seen < have or ones and wanted[at] == 1):
                strides[at] = seen * base
                seen *= wanted[at]
                at -= 1
            if seen != have:
                return None
            base, have, seen = stride[d - 1], 1, 1
    return tuple(strides) if at == -1 else None
