"""What a forward keeps for its backward, measured in three ways at once."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from helpers.check.operations import Operation, operations


def kept_after(fn: Callable[[], Tensor]) -> tuple[Tensor, list[int]]:
    """Runs `fn()`; its result, and the bytes of each memory that it made and that is kept for the backward.

    A memory is in the list if an operation made it meanwhile (the log of operations), if it is still alive when only the
    result is held (weak references), and if autograd still has it saved (hooks: a walk over the graph does not see what lies
    inside a node that writes through a view).
    """
    saved: list[weakref.ref[Tensor]] = []

    def pack(tensor: Tensor) -> Tensor:
        alias = tensor.detach()
        saved.append(weakref.ref(alias))
        return alias

    with operations() as ran, saved_tensors_hooks(pack, lambda alias: alias):
        result = fn()
    alive = alive_of(ran)
    held = {alias.untyped_storage()._cdata for each in saved if (alias := each()) is not None}
    return result, sorted(alive[memory] for memory in alive.keys() & held)


def alive_of(ran: list[Operation]) -> dict[int, int]:
    """The bytes of all memory that these operations made and that is alive, by what tells one memory from another."""
    alive = {memory.cdata for each in ran for memory in each.memories if not memory.expired()}
    storages = (torch.UntypedStorage._new_with_weak_ptr(memory) for memory in alive)
    return {each._cdata: each.nbytes() for each in storages if each is not None}


def in_words(sizes: list[int]) -> str:
    """Bytes as a sum of what they are made of: "140 bytes: 60 + 80"."""
    total = f"{sum(sizes):,} bytes"
    return total if len(sizes) < 2 else f"{total}: {' + '.join(f'{size:,}' for size in sizes)}"
