"""Right answers of 12.bytes_moved, of other shapes than the solution's."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only


class _Note(TorchDispatchMode):
    """Notes (name, bytes) of each call; aliases by torch's own test."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[str, int]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        read: list[Tensor] = []
        tree_map_only(Tensor, read.append, (args, kwargs))
        total = sum(t.nbytes for t in read)
        result = func(*args, **kwargs)
        out: list[Tensor] = []
        tree_map_only(Tensor, out.append, result)
        new = [t for t in out if not any(torch._C._is_alias_of(t, each) for each in read)]
        total += sum(t.nbytes for t in new)
        writes = False
        for place, argument in enumerate(func._schema.arguments):
            if argument.is_write:
                writes = True
                value = args[place] if place < len(args) else kwargs.get(argument.name)
                values = value if isinstance(value, list | tuple) else [value]
                total += sum(t.nbytes for t in values if t is not None)
        name = str(func).split(".")[1]
        if name.startswith("empty") or name.startswith("new_empty") or (out and not new and not writes):
            return result
        self.notes.append((str(func), total))
        return result


def by_notes(fn: Any, *args: Tensor) -> dict[str, int]:
    mode = _Note()
    with mode:
        fn(*args)
    moved: defaultdict[str, int] = defaultdict(int)
    for name, size in mode.notes:
        moved[name] += size
    return moved


def by_functions(fn: Any, *args: Tensor) -> dict[str, int]:
    """Functions within it, and a mode that is entered by hand."""
    sums: dict[Any, int] = {}

    def tensors(value):
        return [leaf for leaf in tree_flatten(value)[0] if torch.is_tensor(leaf)]

    def size(value):
        return sum(t.numel() * t.itemsize for t in tensors(value))

    def written(func, args, kwargs):
        infos = {argument.name: argument.alias_info for argument in func._schema.arguments}
        values = dict(zip(infos, args, strict=False))
        values.update(kwargs)
        return [values[name] for name, info in infos.items() if info and info.is_write and name in values]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = {} if kwargs is None else kwargs
            result = func(*args, **kwargs)
            if func.__name__.startswith(("empty", "new_empty")):
                return result
            old = {
                torch.multiprocessing.reductions.StorageWeakRef(t.untyped_storage()).cdata
                for t in tensors((args, kwargs))
            }
            new = [t for t in tensors(result) if t.untyped_storage()._cdata not in old]
            moves = new or not tensors(result) or func._schema.is_mutable
            if moves:
                sums[func] = (
                    sums.get(func, 0) + size((args, kwargs)) + size(written(func, args, kwargs)) + size(new)
                )
            return result

    mode = Mode()
    mode.__enter__()
    try:
        fn(*args)
    finally:
        mode.__exit__(None, None, None)
    return {str(func): total for func, total in sums.items()}


class Counter(TorchDispatchMode):
    """A mode which is the dict's owner; what is read is measured before the call."""

    def __init__(self) -> None:
        super().__init__()
        self.moved: dict[str, int] = {}

    def walk(self, value: Any):
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            for each in value:
                yield from self.walk(each)
        elif isinstance(value, dict):
            yield from self.walk(list(value.values()))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = list(self.walk([args, kwargs]))
        amount = [t.numel() * t.element_size() for t in given]
        changes = [
            a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write
        ]
        bound = {a.name: value for a, value in zip(func._schema.arguments, args)} | kwargs  # noqa: B905
        amount += [t.numel() * t.element_size() for name in changes for t in self.walk(bound.get(name))]
        result = func(*args, **kwargs)
        came = list(self.walk(result))
        made = [
            t for t in came if all(t.untyped_storage()._cdata != g.untyped_storage()._cdata for g in given)
        ]
        amount += [t.numel() * t.element_size() for t in made]
        is_view = bool(came) and not made and not changes
        packet = func.overloadpacket.__name__
        if not is_view and packet[:5] != "empty" and packet[:9] != "new_empty":
            self.moved.setdefault(str(func), 0)
            self.moved[str(func)] += sum(amount)
        return result


def by_an_owner(fn: Any, *args: Tensor) -> dict[str, int]:
    with Counter() as counter:
        fn(*args)
    return dict(counter.moved)


RIGHT: list[Any] = [by_notes, by_functions, by_an_owner]
