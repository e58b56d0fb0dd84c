"""Right answers of 11.view_strides, of other shapes than the solution's."""

from __future__ import annotations

from itertools import product
from typing import Any

Ints = tuple[int, ...]


def filled(size: Ints, new_size: Ints) -> Ints | None:
    """With a number for -1; None where there is none."""
    count = 1
    for n in size:
        count *= n
    places = [at for at, n in enumerate(new_size) if n == -1]
    rest = 1
    for n in new_size:
        rest *= 1 if n == -1 else n
    if not places:
        return new_size if rest == count else None
    if len(places) > 1 or rest == 0 or count % rest:
        return None
    (at,) = places
    return (*new_size[:at], count // rest, *new_size[at + 1 :])


def by_places(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """The place of each element is written down, in order; strides are read off, and tried at all of them."""
    wanted = filled(size, new_size)
    if wanted is None or 0 in wanted:
        return wanted
    places = [sum(map(int.__mul__, index, stride)) for index in product(*map(range, size))]
    strides, block = [], len(places)
    for n in wanted:
        block //= n
        strides.append(places[block] if n > 1 else -3)
    reached = [sum(map(int.__mul__, index, strides)) for index in product(*map(range, wanted))]
    return tuple(strides) if reached == places else None


def by_two_counters(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """As torch does it: a chunk ends where the next dimension does not follow, and new dimensions must end there, too."""
    wanted = filled(size, new_size)
    if wanted is None:
        return None
    if 0 in wanted:
        return tuple(7 for _ in wanted)
    strides, at = [0] * len(wanted), len(wanted) - 1
    if not size:
        return tuple(1 for _ in wanted)
    base, elements, viewed = stride[-1], 1, 1
    for d in range(len(size) - 1, -1, -1):
        elements *= size[d]
        if d == 0 or size[d - 1] != 1 and stride[d - 1] != elements * base:
            while at >= 0 and (viewed < elements or wanted[at] == 1):
                strides[at] = viewed * base
                viewed *= wanted[at]
                at -= 1
            if viewed != elements:
                return None
            if d > 0:
                base, elements, viewed = stride[d - 1], 1, 1
    return None if at != -1 else tuple(strides)


def by_recursion(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """The last new dimension is cut off, then the others are asked for."""
    wanted = filled(size, new_size)
    if wanted is None or 0 in wanted:
        return wanted
    runs: list[tuple[int, int]] = []
    for n, step in zip(size, stride, strict=True):
        if n > 1 and runs and runs[-1][1] == n * step:
            runs[-1] = runs[-1][0] * n, step
        elif n > 1:
            runs.append((n, step))

    def walk(runs: tuple[tuple[int, int], ...], wanted: Ints) -> Ints | None:
        if not wanted:
            return ()
        *rest, n = wanted
        if n == 1:
            found = walk(runs, tuple(rest))
            return None if found is None else (*found, 0)
        (have, step), before = runs[-1], runs[:-1]
        if have % n:
            return None
        found = walk((*before, (have // n, step * n)) if have > n else before, tuple(rest))
        return None if found is None else (*found, step)

    return walk(tuple(runs), wanted)


RIGHT: list[Any] = [by_places, by_two_counters, by_recursion]
