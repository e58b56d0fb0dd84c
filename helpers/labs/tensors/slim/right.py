"""A right answer in parts, of which each mistake of 11.slim replaces one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor

State = dict[str, Tensor]
Group = tuple[int, int, list[str]]  # the first cell, the one behind the last, who
Answer = Callable[[State], Any]


def storage(t: Tensor) -> Hashable:
    return t.untyped_storage()._cdata


def size_of(*tensors: Tensor) -> int:
    """The bytes of the storages, each once."""
    return sum({storage(t): t.untyped_storage().nbytes() for t in tensors}.values())


def bounds(t: Tensor) -> tuple[int, int]:
    first = t.storage_offset()
    return first, first + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)) + 1


def grouped(
    state: State, names: list[str], bounds: Callable[[Tensor], tuple[int, int]] = bounds
) -> list[Group]:
    groups: list[Group] = []
    for name in sorted(names, key=lambda name: bounds(state[name])):
        first, stop = bounds(state[name])
        if groups and first < groups[-1][1]:
            start, end, together = groups.pop()
            groups.append((start, max(end, stop), [*together, name]))
        else:
            groups.append((first, stop, [name]))
    return groups


def by_bounds(bounds: Callable[[Tensor], tuple[int, int]]) -> Callable[[State, list[str]], list[Group]]:
    return lambda state, names: grouped(state, names, bounds)


def span(t: Tensor, first: int, stop: int) -> Tensor:
    """A copy of the cells from `first` to before `stop`."""
    return t.as_strided((stop - first,), (1,), first).clone()


def placed(memory: Tensor, t: Tensor, first: int) -> Tensor:
    return memory.as_strided(t.shape, t.stride(), t.storage_offset() - first)


def together(state: State, group: Group) -> State:
    first, stop, names = group
    memory = span(state[names[0]], first, stop)
    return {name: placed(memory, state[name], first) for name in names}


def packed(t: Tensor) -> Tensor:
    return t.clone(memory_format=torch.contiguous_format)


def alone(t: Tensor, first: int, stop: int) -> Tensor:
    return packed(t) if t.numel() < stop - first else placed(span(t, first, stop), t, first)


def empty(t: Tensor) -> Tensor:
    return t.clone()


def saves(old: Tensor, new: State) -> bool:
    return size_of(*new.values()) < old.untyped_storage().nbytes()


def renewed(
    state: State,
    names: list[str],
    *,
    groups: Callable[[State, list[str]], list[Group]] = grouped,
    together: Callable[[State, Group], State] = together,
    alone: Callable[[Tensor, int, int], Tensor] = alone,
    empty: Callable[[Tensor], Tensor] = empty,
) -> State:
    """The new tensors of one memory."""
    new = {name: empty(state[name]) for name in names if not state[name].numel()}
    for group in groups(state, [name for name in names if name not in new]):
        first, stop, who = group
        new.update(together(state, group) if len(who) > 1 else {who[0]: alone(state[who[0]], first, stop)})
    return new


def slimmer(
    *,
    memory: Callable[[Tensor], Hashable] = storage,
    detached: Callable[[Tensor], Tensor] = Tensor.detach,
    saves: Callable[[Tensor, State], bool] = saves,
    renewed: Callable[[State, list[str]], State] = renewed,
    **parts: Any,
) -> Answer:
    """An answer of these parts."""

    def slim(state: State) -> State:
        result, by_memory = dict(state), {}
        for name, t in state.items():
            by_memory.setdefault(memory(t), []).append(name)
        for names in by_memory.values():
            new = renewed({name: detached(state[name]) for name in names}, names, **parts)
            if saves(state[names[0]], new):
                result.update(new)
        return result

    return slim
