"""Right answers of 14.leaks, of other shapes than the solution's."""

from __future__ import annotations

import gc
from typing import Any

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from helpers.labs import memory as lab


def in_one_block(step: Any) -> list[str]:
    """One log over the second and the third call."""
    step()
    names = []
    with lab.operations() as ran:
        step()
        watched = tuple(ran)
        ran.clear()
        step()
    gc.collect()
    for operation in watched:
        names += [operation.name] * sum(not memory.expired() for memory in operation.memories)
    names.sort()
    return names


def by_call(step: Any) -> list[str]:
    """All three calls are noted, with the number of the call; the garbage collector runs after each."""
    notes: list[tuple[int, str, Any]] = []
    for call in range(3):
        with lab.operations() as ran:
            step()
        gc.collect()
        notes.extend((call, each.name, memory) for each in ran for memory in each.memories)
    return sorted(name for call, name, memory in notes if call == 1 and not memory.expired())


class _Watch(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, tuple[str, StorageWeakRef]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {_key(each) for each in tree_leaves((args, kwargs or {})) if isinstance(each, Tensor)}
        result = func(*args, **(kwargs or {}))
        for each in tree_leaves(result):
            if isinstance(each, Tensor) and _key(each) not in given:
                name = func.name().partition("::")[2].partition(".")[0]
                self.made[_key(each)] = (name, StorageWeakRef(each.untyped_storage()))
        return result


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def by_a_mode(step: Any) -> list[str]:
    """A mode of its own, that knows each memory by its number."""
    step()
    watch = _Watch()
    with watch:
        step()
    step()
    gc.collect()
    found = [name for name, memory in watch.made.values() if not StorageWeakRef.expired(memory)]
    return sorted(found)


def by_cuts(step: Any) -> list[str]:
    """One log over all three calls, cut where the second begins and ends."""
    cuts: list[int] = []
    with lab.operations() as ran:
        for _ in range(3):
            step()
            cuts.append(len(ran))
    gc.collect()
    left = [(each.name, memory) for each in ran[cuts[0] : cuts[1]] for memory in each.memories]
    return sorted(name for name, memory in left if not memory.expired())


RIGHT: list[Any] = [in_one_block, by_call, by_a_mode, by_cuts]
