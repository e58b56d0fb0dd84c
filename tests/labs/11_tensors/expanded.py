"""Right answers of 11.expanded, of other shapes than the solution's."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import torch

Ints = tuple[int, ...]


def from_the_last(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """Counted from the end with negative places; each new size is found first."""
    if len(to) < len(size):
        return None
    strides = [0] * len(to)
    for at in range(-1, -len(to) - 1, -1):
        if -at > len(size):
            if to[at] < 0:
                return None
        elif to[at] == -1 or to[at] == size[at]:
            strides[at] = stride[at]
        elif size[at] != 1:
            return None
    return tuple(strides)


def by_pairs(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """Both turned round and filled up with None; a size of 1 has any stride, here 5."""
    found: list[int] = []
    for want, have, step in zip_longest(to[::-1], size[::-1], stride[::-1]):
        if want is None or have is None and want < 0:
            return None
        final = have if want == -1 else want
        if have not in (None, 1, final):
            return None
        found.append(5 if final == 1 else step if final == have else 0)
    return tuple(found[::-1])


def padded(size: Ints, stride: Ints, to: Ints) -> Ints | None:
    """Ones of stride 0 in front of t, so that both are as long."""
    more = len(to) - len(size)
    if more < 0 or any(n == -1 for n in to[:more]):
        return None
    size, stride = (1,) * more + size, (0,) * more + stride
    to = tuple(n if want == -1 else want for n, want in zip(size, to, strict=True))
    if any(n not in (1, want) for n, want in zip(size, to, strict=True)):
        return None
    return torch.Size(step * (n == want) for n, step, want in zip(size, stride, to, strict=True))


RIGHT: list[Any] = [from_the_last, by_pairs, padded]
