"""Right answers of 14.checkpoints, of other shapes than the solution's."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from functools import cache
from typing import Any


def fewest_bytes(sizes: list[int], budget: int) -> list[int]:
    """From the back, with a memory: the most layers that can follow, for each place and each number of kept bytes that matters."""
    n = len(sizes)

    @cache
    def frontier(start: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
        """For what begins at `start`, directly behind a kept layer: (count, bytes that may be kept before, the list), none worse than
        a different one.
        """
        options = []
        rest = sum(sizes[start:])
        if budget >= rest:
            options.append((0, budget - rest, ()))
        gap = 0
        for place in range(start, n):
            for count, allowed, kept in frontier(place + 1):
                room = min(allowed - sizes[place], budget - gap)
                if room >= 0:
                    options.append((count + 1, room, (place, *kept)))
            gap += sizes[place]
        best: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        for option in options:
            if option[0] not in best or option[1] > best[option[0]][1]:
                best[option[0]] = option
        return tuple(best.values())

    found = frontier(0)
    if not found:
        raise ValueError("nothing fits")
    return list(max(found)[2])


def layer_by_layer(sizes, budget):
    """One layer after the other is kept or thrown away. A state: how many are kept, their bytes, the bytes of the open gap."""
    states = {(0, 0): (0, None)}  # (kept bytes, gap) -> count, the list as a chain
    for place, size in enumerate(sizes):
        following = {}

        def offer(state, count, chain, following=following):
            if sum(state) <= budget and following.get(state, (-1, None))[0] < count:
                following[state] = count, chain

        for (kept, gap), (count, chain) in states.items():
            offer((kept + size, 0), count + 1, (place, chain))
            offer((kept, gap + size), count, chain)
        states = dict(_undominated(following))
    if not states:
        raise ValueError(budget)
    _, chain = max(states.values(), key=lambda each: each[0])
    kept = []
    while chain is not None:
        insort(kept, chain[0])
        chain = chain[1]
    return kept


def _undominated(states: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Of those with the same gap and count the one with the fewest kept bytes: a gap is one of few, since it ends at this layer."""
    seen = set()
    for (kept, gap), (count, chain) in sorted(states.items(), key=lambda each: each[0]):
        if (gap, count) not in seen:
            seen.add((gap, count))
            yield (kept, gap), (count, chain)


def how_many_first(sizes: list[int], budget: int) -> list[int]:
    """A table by number of layers first, as a shortest path with a given number of edges; bytes in plain lists."""
    n, much = len(sizes), budget + 1
    sums = [0]
    for size in sizes:
        sums.append(sums[-1] + size)
    bytes_ = [0] + [much] * n  # directly behind layer i - 1, which is kept
    tables, answer = [], None
    for count in range(n + 1):
        ends = [i for i in range(n + 1) if bytes_[i] + sums[n] - sums[i] <= budget]
        if ends:
            answer = count, ends[0]
        following, origin = [much] * (n + 1), [-1] * (n + 1)
        for i in range(1, n + 1):
            for j in range(i):
                new = bytes_[j] + sizes[i - 1]
                if bytes_[j] + sums[i - 1] - sums[j] <= budget and new < following[i]:
                    following[i], origin[i] = new, j
        tables.append(origin)
        bytes_ = following
    if answer is None:
        raise ValueError(f"a budget of {budget} bytes is too small")
    count, end = answer
    kept = []
    for origin in reversed(tables[:count]):
        kept.append(end - 1)
        end = origin[end]
    return kept[::-1]


RIGHT: list[Any] = [fewest_bytes, layer_by_layer, how_many_first]
