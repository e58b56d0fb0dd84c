"""Right answers of 11.slim, of other shapes than the solution's."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import torch


def by_sets(state):
    """Ranges are joined as they come, without an order; the memory is written element by element, what lies between is not."""
    result = dict(state)
    homes = defaultdict(dict)
    for name, t in state.items():
        homes[t.untyped_storage()._cdata][name] = t
    for home in homes.values():
        sets = []  # of (first, last, names)
        new = {}
        for name, t in home.items():
            if t.numel() == 0:
                new[name] = torch.empty(t.shape, dtype=t.dtype)
                continue
            here = [
                t.storage_offset(),
                t.storage_offset() + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)),
                [name],
            ]
            apart = []
            for other in sets:
                if other[1] < here[0] or here[1] < other[0]:
                    apart.append(other)
                else:
                    here = [min(here[0], other[0]), max(here[1], other[1]), other[2] + here[2]]
            sets = [*apart, here]
        sizes = [
            min(last - first + 1, home[names[0]].numel()) if len(names) == 1 else last - first + 1
            for first, last, names in sets
        ]
        some = next(iter(home.values()))
        if sum(sizes) * some.element_size() >= some.untyped_storage().nbytes():
            continue
        for (first, last, names), size in zip(sets, sizes, strict=True):
            if size < last - first + 1:
                new[names[0]] = torch.empty(home[names[0]].shape, dtype=some.dtype).copy_(
                    home[names[0]].detach()
                )
                continue
            memory = torch.full((size,), 77).to(some.dtype)
            for name in names:
                t = home[name].detach()
                where = torch.arange(t.untyped_storage().nbytes() // t.element_size())
                where = where.as_strided(t.shape, t.stride(), t.storage_offset()) - first
                memory[where.flatten()] = t.flatten()
                new[name] = memory.as_strided(t.shape, t.stride(), t.storage_offset() - first)
        result.update(new)
    return result


def by_marks(state):
    """Each pair of neighbour cells is marked that lies in one range: what the marks hold together is a group."""
    with torch.no_grad():
        result = {}
        for name, t in state.items():
            twins = [
                n
                for n, other in state.items()
                if other.untyped_storage()._cdata == t.untyped_storage()._cdata
            ]
            if name != twins[0]:
                continue
            item, old = t.element_size(), t.untyped_storage().nbytes()
            number = np.zeros(old // item + 1, dtype=int)
            spans = {}
            for n in twins:
                u = state[n]
                if u.numel():
                    first = u.storage_offset()
                    last = first + sum(
                        (size - 1) * stride for size, stride in zip(u.shape, u.stride(), strict=True)
                    )
                    spans[n] = (first, last)
                    number[first:last] = 1
            group = np.concatenate([[0], np.cumsum(1 - number)])
            groups = defaultdict(list)
            for n, (first, _) in spans.items():
                groups[group[first]].append(n)
            new = {n: state[n].clone() for n in twins if n not in spans}
            for names in groups.values():
                low, high = min(spans[n][0] for n in names), max(spans[n][1] for n in names) + 1
                if len(names) == 1 and state[names[0]].numel() <= high - low:
                    new[names[0]] = torch.empty(state[names[0]].shape, dtype=t.dtype)
                    new[names[0]].copy_(state[names[0]])
                    continue
                copied = (
                    torch.empty(0, dtype=t.dtype).set_(t.untyped_storage(), low, (high - low,), (1,)).clone()
                )
                for n in names:
                    new[n] = torch.empty(0, dtype=t.dtype).set_(
                        copied.untyped_storage(),
                        state[n].storage_offset() - low,
                        state[n].shape,
                        state[n].stride(),
                    )
            total = {each.untyped_storage()._cdata: each.untyped_storage().nbytes() for each in new.values()}
            for n in twins:
                result[n] = new[n] if sum(total.values()) < old else state[n]
        return {name: result[name] for name in state}


class Bytes:
    """With addresses and bytes; the copies are storages, cut and cloned."""

    def __call__(self, state):
        result = state.copy()
        memories = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in state.values()}
        for start, storage in memories.items():
            mine = [name for name, t in state.items() if t.untyped_storage().data_ptr() == start]
            plan, jobs = self.plan(state, mine), {}
            for low, high, names in plan:
                t = state[names[0]].data
                if low == high or (len(names) == 1 and t.nbytes < high - low):
                    jobs[names[0]] = t.contiguous().clone()
                else:
                    piece = storage[low - start : high - start].clone()
                    for name in names:
                        t = state[name].data
                        offset = (t.data_ptr() - low) // t.itemsize
                        jobs[name] = torch.tensor([], dtype=t.dtype).set_(piece, offset, t.size(), t.stride())
            sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in jobs.values()}
            if sum(sizes.values()) < storage.nbytes():
                result |= jobs
        return result

    def plan(self, state, names):
        """Low, high, and who, in bytes: the earliest is taken, then all that touch what it has, until none does."""
        plan = [(0, 0, [name]) for name in names if not state[name].numel()]
        left = {
            name: (t.data_ptr(), t.data_ptr() + t.itemsize * (1 + self.last(t)))
            for name in names
            if (t := state[name]).numel()
        }
        while left:
            name = min(left, key=lambda each: left[each])
            low, high = left.pop(name)
            who = [name]
            while more := [name for name, (first, _) in left.items() if first < high]:
                high = max(high, *(left.pop(name)[1] for name in more))
                who += more
            plan.append((low, high, who))
        return plan

    @staticmethod
    def last(t):
        return sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))


def by_bytes(state):
    """As a class does it."""
    return Bytes()(state)


RIGHT: list[Any] = [by_sets, by_marks, by_bytes]
