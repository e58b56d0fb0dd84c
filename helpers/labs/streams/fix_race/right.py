"""The program of 06.fix_race with gaps, for answers that are wrong in one place."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from torch import Tensor

Step = Callable[[SimpleNamespace], object]


def nothing(s: SimpleNamespace) -> None:
    pass


def wait_both(s: SimpleNamespace) -> None:
    """Both side streams wait for the current one."""
    s.left.wait_stream(s.main)
    s.right.wait_stream(s.main)


def keep_for_both(s: SimpleNamespace) -> None:
    s.a.record_stream(s.left)
    s.a.record_stream(s.right)


def join_both(s: SimpleNamespace) -> None:
    """The current stream waits for both side streams."""
    s.main.wait_stream(s.left)
    s.main.wait_stream(s.right)


def program(
    api: Any,
    *,
    begin: Step = nothing,
    start: Step = wait_both,
    inside: Step = nothing,
    between: Step = nothing,
    behind: Step = nothing,
    keep: Step = keep_for_both,
    join: Step = join_both,
    end: Step = nothing,
) -> Tensor:
    """The right program, unless a step is given: what stands before a.fill_, behind it, in each side's block, between
    the blocks, behind them, before `del a`, before the sum, behind it."""
    s = SimpleNamespace(api=api, main=api.current_stream(), left=api.Stream(), right=api.Stream())
    begin(s)
    s.a = api.empty(1000)
    s.a.fill_(2.0)
    start(s)
    with api.stream(s.left):
        s.side = s.left
        inside(s)
        s.b = s.a * s.a
        for _ in range(3):
            s.b *= s.a
    between(s)
    with api.stream(s.right):
        s.side = s.right
        inside(s)
        s.c = s.a + s.a
        for _ in range(3):
            s.c += s.a
    behind(s)
    keep(s)
    del s.a
    d = api.empty(1000)
    d.fill_(100.0)
    join(s)
    total = (s.b + s.c + d).sum()
    end(s)
    return total
