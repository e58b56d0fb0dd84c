"""Right answers of 14.saved_bytes, of other shapes than the solution's."""

from __future__ import annotations

import weakref
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks


def by_objects(fn: Any, *args: Tensor) -> int:
    """Each saved tensor is packed into an object of its own; those that live are asked for their memory."""

    class Packed:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor

    packed: weakref.WeakSet[Packed] = weakref.WeakSet()

    def pack(tensor: Tensor) -> Packed:
        one = Packed(tensor.detach())
        packed.add(one)
        return one

    before = list(args)
    if isinstance(fn, nn.Module):
        before += list(fn.parameters()) + list(fn.buffers())
    with saved_tensors_hooks(pack, lambda one: one.tensor):
        result = fn(*args)
    there = [each.untyped_storage().data_ptr() for each in before]
    found = {}
    for one in packed:
        memory = one.tensor.untyped_storage()
        if memory.data_ptr() not in there:
            found[memory.data_ptr()] = memory.nbytes()
    del result
    return sum(found.values())


def by_the_graph(fn: Any, *args: Tensor) -> int:
    """No hooks: the graph is walked from the result, down to where the arguments come from."""
    before = args
    if isinstance(fn, nn.Module):
        before = (*args, *fn.parameters(), *fn.buffers())
    result = fn(*args)
    met = {each.grad_fn for each in before} | {None}
    found: dict[int, int] = {}

    def walk(node: Any) -> None:
        if node in met:
            return
        met.add(node)
        saved: list[Any] = []
        for name in dir(node):
            if name == "saved_tensors" or name.startswith("_saved"):
                value = getattr(node, name)
                saved += value if isinstance(value, tuple | list) else [value]
        for each in saved:
            if isinstance(each, Tensor):
                memory = each.untyped_storage()
                found[memory._cdata] = memory.nbytes()
        for behind, _ in node.next_functions:
            walk(behind)

    walk(result.grad_fn)
    walk = None  # type: ignore[assignment]  # a function that calls itself holds itself
    for each in before:
        found.pop(each.untyped_storage()._cdata, None)
    return sum(found.values())


def by_weak_references(fn: Any, *args: Tensor) -> int:
    """Weak references to the views that are packed: those that live when fn has returned are still kept."""
    there = {each.untyped_storage().data_ptr() for each in args}
    if isinstance(fn, nn.Module):
        there.update(each.untyped_storage().data_ptr() for each in [*fn.parameters(), *fn.buffers()])
    kept: list[weakref.ref[Tensor]] = []

    def pack(tensor: Tensor) -> Tensor:
        plain = tensor.detach()
        kept.append(weakref.ref(plain))
        return plain

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = fn(*args)
    alive = [tensor.untyped_storage() for reference in kept if (tensor := reference()) is not None]
    sizes = {each.data_ptr(): each.size() for each in alive if each.data_ptr() not in there}
    return sum(sizes.values()) if result is not None else 0


def by_what_goes(fn: Any, *args: Tensor) -> int:
    """What is packed says when it goes; counted is what goes with the result."""
    gone: dict[int, int] = {}

    class Going(list[Any]):
        def __del__(self) -> None:
            memory = self[0].untyped_storage()
            gone[memory._cdata] = memory.nbytes()

    before = [*args, *(fn.parameters() if isinstance(fn, nn.Module) else ())]
    before += fn.buffers() if isinstance(fn, nn.Module) else ()
    with saved_tensors_hooks(lambda tensor: Going([tensor.detach()]), lambda going: going[0]):
        result = fn(*args)
    gone.clear()
    del result
    return sum(gone.values()) - sum(gone.pop(each.untyped_storage()._cdata, 0) for each in before)


RIGHT: list[Any] = [by_objects, by_the_graph, by_weak_references, by_what_goes]
