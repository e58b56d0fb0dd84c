"""Right answers of 11.footprint, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

from torch.multiprocessing.reductions import StorageWeakRef


def by_a_loop(*tensors):
    """Goes through them, and remembers whom it saw."""
    seen, total = set(), 0
    for t in tensors:
        storage = t.untyped_storage()
        if t.device.type == "meta" or storage._cdata in seen:
            continue
        seen.add(storage._cdata)
        total += storage.nbytes()
    return total


def by_address(*tensors):
    """Where a storage has bytes, its address tells it from others."""
    sizes = {}
    for t in tensors:
        storage = t.untyped_storage()
        if storage.device.type == "cpu" and storage.nbytes():
            sizes[storage.data_ptr()] = storage.nbytes()
    return sum(sizes.values())


def by_weak_references(*tensors):
    """Weak references to storages are equal if the storages are one."""
    found = {
        StorageWeakRef(t.untyped_storage()): t.untyped_storage().size() for t in tensors if not t.is_meta
    }
    return sum(found.values())


def by_elements(*tensors):
    """The bytes of a storage, from its list of bytes."""
    left = [t.untyped_storage() for t in tensors if not t.is_meta]
    total = 0
    while left:
        first = left.pop()
        total += len(first)
        left = [each for each in left if each._cdata != first._cdata]
    return total


def by_identity(*tensors):
    """While a storage's Python object is kept, each view gives this very object."""
    seen = []
    for t in tensors:
        if not t.is_meta and not any(t.untyped_storage() is each for each in seen):
            seen.append(t.untyped_storage())
    return sum(each.nbytes() for each in seen)


RIGHT: list[Any] = [by_a_loop, by_address, by_weak_references, by_elements, by_identity]
