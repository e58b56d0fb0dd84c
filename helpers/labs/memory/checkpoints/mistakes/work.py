"""What people write for 14.checkpoints, and why it is wrong: too much work, and large outputs."""

from __future__ import annotations

from itertools import accumulate, combinations
from typing import Any

import numpy as np
import torch

from helpers.labs.memory.checkpoints.exercise import MOST, SIXTY, checkpoints
from helpers.labs.memory.checkpoints.right import Kept, Right

# Work.


@checkpoints.mistake(breaks=SIXTY)
def all_lists(sizes: list[int], budget: int) -> list[int]:
    """Few layers are right, and thirty are more work than sixty may be. Perhaps all lists are tried: with
    each further layer there are twice as many.
    """
    for count in range(len(sizes), -1, -1):
        for kept in combinations(range(len(sizes)), count):
            if Right(sizes, budget).fits(kept):
                return list(kept)
    raise ValueError("nothing fits")


@checkpoints.mistake(breaks=MOST)
def few_states(sizes: list[int], budget: int) -> list[int]:
    """Small cases are right, and of thirty layers fewer are kept than possible. Perhaps only some states go
    on at each layer: those left out are needed at times.
    """
    states = [(0, 0, 0, ())]  # count, minus the kept bytes, minus the gap, the list
    for at, size in enumerate(sizes):
        following = []
        for count, kept_bytes, gap, kept in states:
            following.append((count + 1, kept_bytes - size, 0, (*kept, at)))
            following.append((count, kept_bytes, gap - size, kept))
        states = sorted((each for each in following if each[1] + each[2] >= -budget), reverse=True)[:100]
    if not states:
        raise ValueError("nothing fits")
    return list(states[0][3])


@checkpoints.mistake(breaks=SIXTY)
def all_numbers_of_bytes(sizes: list[int], budget: int) -> list[int]:
    """Layers of a few bytes are right, and with larger outputs the work is too much. Perhaps there is a table of all
    numbers of bytes up to the budget: only those that some list has are needed.
    """
    if budget < 0:
        raise ValueError("nothing fits")
    before = [0, *accumulate(sizes)]
    best: list[list[tuple[int, Kept] | None]] = [[None] * (budget + 1) for _ in before]
    best[0][0] = (0, ())
    for end in range(1, len(before)):
        for start in range(end):
            gap = before[end - 1] - before[start]
            for kept_bytes in range(budget - sizes[end - 1] + 1):
                state = best[start][kept_bytes]
                if state is not None and (not gap or kept_bytes + gap <= budget):
                    new = (state[0] + 1, (*state[1], end - 1))
                    old = best[end][kept_bytes + sizes[end - 1]]
                    best[end][kept_bytes + sizes[end - 1]] = max(old or new, new)
    complete = [
        state
        for last, row in enumerate(best)
        for kept_bytes, state in enumerate(row)
        if state and (last == len(sizes) or kept_bytes + before[-1] - before[last] <= budget)
    ]
    if not complete:
        raise ValueError("nothing fits")
    return list(max(complete)[1])


# Large outputs.


def _fewest_bytes(sizes: Any, budget: Any, before: Any) -> list[int]:
    """As the solution does it, with the numbers that it is given. before: the outputs of all layers before each."""
    best: list[dict[int, tuple[Any, Kept]]] = [{0: (0, ())}]
    for end, size in enumerate(sizes):
        found: dict[int, tuple[Any, Kept]] = {}
        for start, states in enumerate(best):
            gap = before[end] - before[start]
            for count, (kept_bytes, kept) in states.items():
                more = kept_bytes + size
                if kept_bytes + gap <= budget and more <= budget:
                    new = (more, (*kept, end))
                    found[count + 1] = min(found.get(count + 1, new), new)
        best.append(found)
    complete = [
        kept
        for last, states in enumerate(best)
        for kept_bytes, kept in states.values()
        if kept_bytes + before[-1] - before[last] <= budget
    ]
    if not complete:
        raise ValueError("nothing fits")
    return list(max(complete, key=len))


@checkpoints.mistake(breaks=MOST)
def floats(sizes: list[int], budget: int) -> list[int]:
    """Small outputs are right, and with large ones the peak is a byte over the budget. Perhaps bytes are added as
    floats: those of 32 bits are exact up to 2**24 only, 16 MiB, and those of 64 bits up to 2**53. Python's int has
    no such limit.
    """
    numbers = [np.float32(size) for size in sizes]
    return _fewest_bytes(numbers, np.float32(budget), [*accumulate(numbers, initial=np.float32(0))])


@checkpoints.variant(floats)
def _(sizes: list[int], budget: int) -> list[int]:
    numbers = [float(size) for size in sizes]
    return _fewest_bytes(numbers, float(budget), [*accumulate(numbers, initial=0.0)])


@checkpoints.variant(floats)
def _(sizes: list[int], budget: int) -> list[int]:
    """Only the running sums, by torch."""
    sums = torch.tensor([0, *sizes], dtype=torch.float32).cumsum(0)
    return _fewest_bytes(sizes, budget, [int(each) for each in sums])


@checkpoints.variant(floats)
def _(sizes: list[int], budget: int) -> list[int]:
    """Only the running sums, by NumPy, whose floats have 64 bits."""
    sums = np.cumsum([0.0, *sizes])
    return _fewest_bytes(sizes, budget, [int(each) for each in sums])
