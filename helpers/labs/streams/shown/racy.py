"""The program of 06.fix_race as the learner finds it."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def racy(api: Any) -> Tensor:
    """(a ** 5 + 5 * a + d).sum() for a = 2 and d = 100, on three streams that nobody orders."""
    left, right = api.Stream(), api.Stream()
    a = api.empty(1000)
    a.fill_(2.0)
    with api.stream(left):
        b = a * a
        for _ in range(3):
            b *= a
    with api.stream(right):
        c = a + a
        for _ in range(3):
            c += a
    del a
    d = api.empty(1000)
    d.fill_(100.0)
    return (b + c + d).sum()
