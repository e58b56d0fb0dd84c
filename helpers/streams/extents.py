"""Which bytes of a piece of memory a kernel touches, and what the trace calls them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import torch

Run = tuple[int, int]  # bytes, the last exclusive
RUNS = 4096  # a tensor in more runs than this counts as everything from its first byte to its last


@dataclass(frozen=True)
class Extent:
    """A part of a piece of memory: the runs of bytes in it, in order and apart from each other."""

    memory: str
    runs: tuple[Run, ...]


def extent(memory: str, tensor: torch.Tensor) -> Extent:
    """The bytes that a tensor's elements lie in."""
    size = tensor.element_size()
    first = tensor.storage_offset() * size
    if tensor.numel() == 0:
        return Extent(memory, ((first, first),))
    if tensor.is_contiguous():
        return Extent(memory, ((first, first + tensor.numel() * size),))
    return Extent(memory, _runs(tensor, first, size))


def _runs(tensor: torch.Tensor, first: int, length: int) -> tuple[Run, ...]:
    """From the innermost dimension outwards: elements that follow each other make one run."""
    dims = sorted((step * length, n) for n, step in zip(tensor.shape, tensor.stride(), strict=True) if n > 1)
    firsts = [first]
    for step, n in dims:
        if step <= length and len(firsts) == 1:
            length += (n - 1) * step
        elif step and len(firsts) * n > RUNS:
            return ((first, first + length + sum((n - 1) * step for step, n in dims)),)
        elif step:
            firsts = [start + i * step for i in range(n) for start in firsts]
    return _merged((start, start + length) for start in firsts)


def _merged(runs: Iterable[Run]) -> tuple[Run, ...]:
    found: list[Run] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


def names_of_parts(used: Iterable[Extent]) -> dict[Extent, frozenset[str]]:
    """For each extent, the names of the smallest parts of memory that make it up.

    Memory that is always used as a whole keeps its name. A part in several runs is named by its first.
    """
    by_memory: dict[str, list[Extent]] = {}
    for part in dict.fromkeys(used):
        by_memory.setdefault(part.memory, []).append(part)
    names: dict[Extent, frozenset[str]] = {}
    for memory, parts in by_memory.items():
        names |= _names_in(memory, parts)
    return names


def _names_in(memory: str, parts: list[Extent]) -> dict[Extent, frozenset[str]]:
    edges = sorted({edge for part in parts for run in part.runs for edge in run})
    users: list[list[int]] = [[] for _ in edges]  # of the bytes from this edge to the next
    for number, part in enumerate(parts):
        for first, last in part.runs:
            for at in range(bisect_left(edges, first), bisect_left(edges, last)):
                users[at].append(number)
    pieces: dict[tuple[int, ...], list[int]] = {}  # where bytes lie that the same extents use
    for at, who in enumerate(users):
        if who:
            pieces.setdefault(tuple(who), []).append(at)
    found: list[set[str]] = [set() for _ in parts]
    for who, places in pieces.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        name = f"{memory}[{edges[places[0]]}:{edges[places[0] + 1]}{more}]" if len(pieces) > 1 else memory
        for number in who:
            found[number].add(name)
    return {part: frozenset(names) for part, names in zip(parts, found, strict=True)}
