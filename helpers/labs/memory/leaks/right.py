"""A right answer of 14.leaks in steps, of which each mistake replaces one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from helpers.check.operations import Operation, operations

Step = Callable[[], Any]


def of_each_memory(ran: list[Operation]) -> list[str]:
    return [each.name for each in ran for memory in each.memories if not memory.expired()]


def found(
    step: Step,
    *,
    before: int = 1,
    after: int = 1,
    collect: Callable[[], Any] = gc.collect,
    names: Callable[[list[Operation]], list[str]] = of_each_memory,
    returned: Callable[[list[str]], Any] = sorted,
) -> Any:
    """before, after: how many calls come before the one that is watched, and after it."""
    for _ in range(before):
        step()
    with operations() as ran:
        step()
    for _ in range(after):
        step()
    collect()
    return returned(names(ran))
