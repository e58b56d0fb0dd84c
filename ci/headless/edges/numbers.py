"""Which numbers another machine may compute otherwise, and the same value with these numbers a little off."""

from __future__ import annotations

import dataclasses
import math
import struct
import sys
from collections.abc import Callable
from typing import Any

MOST = 4000  # numbers of one value that are looked at: torch and NumPy print far fewer
FEW_BITS = 12
TINY, ERROR = 1e-5, 0.25  # a float32 is computed to some 1e-7 of it, and the errors of a long sum add up


def is_exact(number: float) -> bool:
    """Whether a number is taken to be the same on every machine: nan, inf, or one that little is needed to write.

    Six decimal digits (0.1, 2.5, 3e-4, 1024.0); four for a float32 that became a float64 (the nearest float32 of 0.15);
    or 12 bits (2**-20, the largest bfloat16), as every number of half precision has.

    The rule has holes, on both sides. A sum that comes out round here by chance (one float64 in 10**10, one float32
    in 1,000), or since its parts cancel, is not disturbed, and may be 0.4999999 elsewhere: running under other
    settings is for that. A mean of counts is round as well (0.9125 is 365 of 400), and right so as long as the
    counts are the same; whether they are, no small change of the mean would tell. And an exact number of many digits
    (one third as a float32, to nine) is disturbed: EXACT in portable.py has those that the course must show.
    """
    if not math.isfinite(number):
        return True
    if float(f"{number:.6g}") == number or (math.frexp(number)[0] * 2**FEW_BITS).is_integer():
        return True
    try:
        [near] = struct.unpack("f", struct.pack("f", float(f"{number:.4g}")))
    except OverflowError:  # too large for a float32
        return False
    return near == number


def neighbour(number: float, part: float) -> float:
    """The number as another machine may compute it: a part of it more, or less. An exact one is the same.

    A number next to nothing is most likely a rounding error itself, of which another machine may make another: it is
    a quarter more or less, whatever the part. 0 is no change at all.
    """
    if not part or is_exact(number):
        return number
    return number * (1 + (math.copysign(ERROR, part) if abs(number) < TINY else part))


def holds(value: Any) -> bool:
    """Whether a value is a number with a fraction, or holds one."""
    found: list[float] = []
    disturbed(value, lambda number: found.append(number) or number)
    return bool(found)


def moved(value: Any, part: float) -> Any:
    """The value with each number's neighbour in its place, and without what autograd knows of it."""
    return disturbed(value, lambda number: neighbour(number, part))


def disturbed(value: Any, change: Callable[[float], float]) -> Any:
    """A copy of the value with `change` done to each float in it; the value itself where it holds none that is known.

    Known are Python's and NumPy's floats, tensors and arrays of floats in main memory, and what Python's own
    containers and dataclasses hold of them. A number of half precision is rounded again: one part in a million is
    nothing to it.
    """
    return _Copy(change).of(value)


class _Copy:
    """One pass over a value; it ends at MOST numbers, and goes round no circle."""

    def __init__(self, change: Callable[[float], float]) -> None:
        self.change, self.left, self.inside = change, MOST, set()

    def of(self, value: Any) -> Any:
        kind = type(value)
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if isinstance(value, float) or (numpy and isinstance(value, numpy.floating)):
            self.left -= 1
            return kind(self.change(float(value))) if self.left >= 0 else value
        if torch and kind in (torch.Tensor, torch.nn.Parameter):
            return self._tensor(value, torch)
        if numpy and kind is numpy.ndarray and numpy.issubdtype(value.dtype, numpy.floating):
            return self._array(value, numpy)
        if kind := _container_of(value):
            return self._container(value, kind)
        return value

    def _tensor(self, value: Any, torch: Any) -> Any:
        known = value.layout is torch.strided and value.device.type == "cpu" and value.is_floating_point()
        if not known or not 0 < value.numel() <= self.left:
            return value
        numbers = self._all(value.detach().flatten().tolist())
        return torch.tensor(numbers, dtype=value.dtype).reshape(value.shape)

    def _array(self, value: Any, numpy: Any) -> Any:
        if not 0 < value.size <= self.left:
            return value
        return numpy.array(self._all(value.ravel().tolist()), dtype=value.dtype).reshape(value.shape)

    def _all(self, numbers: list[float]) -> list[float]:
        self.left -= len(numbers)
        return [self.change(number) for number in numbers]

    def _container(self, value: Any, kind: type) -> Any:
        if id(value) in self.inside or self.left <= 0:
            return value
        self.inside.add(id(value))
        parts = _parts(value)
        copies = []
        for part in parts[:MOST]:
            copies.append(self.of(part))
        self.inside.discard(id(value))
        if len(parts) > MOST or all(new is old for new, old in zip(copies, parts, strict=True)):
            return value
        if kind is dict:
            return dict(zip(value, copies, strict=True))
        if hasattr(kind, "_make"):
            return kind._make(copies)
        if dataclasses.is_dataclass(kind):
            return _with_fields(value, copies)
        return kind(copies)


def _container_of(value: Any) -> type | None:
    """What to make a copy of this container with: one that shows its parts in the same way. None for all else."""
    kind = type(value)
    for base in (list, tuple, dict, set, frozenset):
        # A class of one's own is shown as its base is, and so are those of collections, but for their name.
        if issubclass(kind, base) and (kind.__repr__ is base.__repr__ or kind.__module__ == "collections"):
            return base
    shows_fields = dataclasses.is_dataclass(kind) and kind.__dataclass_params__.repr
    return kind if shows_fields or (isinstance(value, tuple) and hasattr(kind, "_make")) else None


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return list(value)


def _with_fields(value: Any, parts: list[Any]) -> Any:
    copy = object.__new__(type(value))
    for field, part in zip(dataclasses.fields(value), parts, strict=True):
        object.__setattr__(copy, field.name, part)
    return copy
