"""Right answers of 14.saved_bytes, of other shapes than the solution's."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode


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

    with saved_tensors_hooks(pack, lambda one: one.tensor):
        result = fn(*args)
    before = list(args)
    if isinstance(fn, nn.Module):
        before += list(fn.parameters()) + list(fn.buffers())
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
    result = fn(*args)
    if isinstance(fn, nn.Module):
        args = (*args, *fn.parameters(), *fn.buffers())
    met = {each.grad_fn for each in args} | {None}
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
    for each in args:
        found.pop(each.untyped_storage()._cdata, None)
    return sum(found.values())


def by_what_is_made(fn: Any, *args: Tensor) -> int:
    """Notes what operations make, so that nothing needs to be known of what was there before."""
    made: set[int] = set()
    kept: list[weakref.ref[Tensor]] = []

    class Made(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            given = {
                each.untyped_storage()._cdata
                for each in torch.utils._pytree.tree_leaves(args)
                if type(each) is Tensor
            }
            for each in torch.utils._pytree.tree_leaves(result):
                if isinstance(each, Tensor) and each.untyped_storage()._cdata not in given:
                    made.add(each.untyped_storage()._cdata)
            return result

    there = {each.untyped_storage()._cdata for each in args}
    if isinstance(fn, nn.Module):
        there.update(each.untyped_storage()._cdata for each in [*fn.parameters(), *fn.buffers()])

    def pack(tensor: Tensor) -> Tensor:
        plain = tensor.detach()
        kept.append(weakref.ref(plain))
        return plain

    with Made(), saved_tensors_hooks(pack, lambda tensor: tensor):
        result = fn(*args)
    alive = [tensor for reference in kept if (tensor := reference()) is not None]
    sizes = {
        each.untyped_storage()._cdata: each.untyped_storage().size()
        for each in alive
        if each.untyped_storage()._cdata in made - there
    }
    del result, alive
    return sum(sizes.values())


RIGHT: list[Any] = [by_objects, by_the_graph, by_what_is_made]
