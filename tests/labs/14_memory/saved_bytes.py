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


def by_users(fn: Any, *args: Tensor) -> int:
    """A table of memories, each with the number of those that use it: what is packed comes and goes."""
    users: dict[int, list[int]] = {}

    def pack(tensor: Tensor) -> Any:
        storage = tensor.untyped_storage()
        entry = users.setdefault(storage._cdata, [0, storage.nbytes()])
        entry[0] += 1

        plain = tensor.detach()

        def unpack() -> Tensor:
            return plain

        weakref.finalize(unpack, leave, storage._cdata)
        return unpack

    def leave(memory: int) -> None:
        users[memory][0] -= 1
        if not users[memory][0]:
            del users[memory]

    before = [*args, *(fn.parameters() if isinstance(fn, nn.Module) else ())]
    before += fn.buffers() if isinstance(fn, nn.Module) else ()
    there = [each.untyped_storage()._cdata for each in before]
    with saved_tensors_hooks(pack, lambda unpack: unpack()):
        result = fn(*args)
    total = sum(size for memory, (_, size) in users.items() if memory not in there)
    del result
    return total


def by_weak_references(fn: Any, *args: Tensor) -> int:
    """Weak references to the views that are packed: those that live when fn has returned are still kept."""
    before = list(args)
    if isinstance(fn, nn.Module):
        before += [*fn.parameters(), *fn.buffers()]
    there = {each.untyped_storage().data_ptr() for each in before}
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


RIGHT: list[Any] = [by_objects, by_users, by_weak_references, by_what_goes]
