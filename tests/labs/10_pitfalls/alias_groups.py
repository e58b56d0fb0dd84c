"""Right answers to 10.alias_groups, in different shapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = Tensor | np.ndarray


def by_address(tensors: Sequence[Array]) -> list[set[int]]:
    """A dict by where the storage begins."""
    groups = defaultdict(set)
    for i, t in enumerate(tensors):
        storage = torch.as_tensor(t).untyped_storage()
        groups[storage.data_ptr() if storage.nbytes() and storage.data_ptr() else -1 - i].add(i)
    return [*groups.values()]


def memory_of(value: Array) -> tuple[int, int]:
    """First address and length of the whole memory that it looks into."""
    if isinstance(value, Tensor):
        storage = value.untyped_storage()
        return (0, 0) if value.device.type == "meta" else (storage.data_ptr(), storage.nbytes())
    while isinstance(value.base, np.ndarray):
        value = value.base
    if isinstance(value.base, Tensor):
        return memory_of(value.base)
    return value.__array_interface__["data"][0], value.nbytes


def by_ranges(tensors: Sequence[Array]) -> list[set[int]]:
    """Whole memories that overlap, joined until nothing changes: views into the middle of arrays, too."""
    groups: list[tuple[int, int, set[int]]] = []
    for index, value in enumerate(tensors):
        start, size = memory_of(value)
        end, members = start + size, {index}
        for group in [g for g in groups if size and g[0] < end and start < g[1]]:
            groups.remove(group)
            start, end, members = min(start, group[0]), max(end, group[1]), members | group[2]
        groups.append((start, end, members))
    return [members for _, _, members in groups]


def by_pairs(tensors: Iterable[Array]) -> list[set[int]]:
    """Each is compared with one member of each group."""
    found: list[set[int]] = []
    heads: list[Any] = []
    for i, t in enumerate(tensors):
        t = torch.from_numpy(t) if isinstance(t, np.ndarray) else t
        for group, head in zip(found, heads, strict=True):
            place = t.untyped_storage().data_ptr()
            if t is head or (place != 0 and place == head.untyped_storage().data_ptr()):
                group.add(i)
                break
        else:
            found.append({i})
            heads.append(t)
    return found


class Union:
    """Union-find over indices, by storage object or by address; frozen at the end, largest first."""

    def __call__(self, tensors: Sequence[Array]) -> list[frozenset[int]]:
        parent = list(range(len(tensors)))
        views = [t if torch.is_tensor(t) else torch.from_numpy(t) for t in tensors]

        def root(i: int) -> int:
            while parent[i] != i:
                i = parent[i]
            return i

        for i, a in enumerate(views):
            for j in range(i):
                s, t = a.untyped_storage(), views[j].untyped_storage()
                if s._cdata == t._cdata or (s.data_ptr() == t.data_ptr() and s.data_ptr()):
                    parent[root(i)] = root(j)
        groups = {r: frozenset(i for i in range(len(parent)) if root(i) == r) for r in map(root, parent)}
        return sorted(groups.values(), key=len, reverse=True)


RIGHT = [by_address, by_ranges, by_pairs, Union()]
