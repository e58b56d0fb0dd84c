"""What a forward keeps for its backward, measured in three ways at once, none of which an answer is asked to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from helpers.check.operations import Operation, operations


def kept_after(fn: Callable[[], Tensor]) -> tuple[Tensor, list[int]]:
    """Runs `fn()`; its result, and the bytes of each memory that it made and that is kept for the backward.

    A memory is in the list if an operation made it meanwhile (the log of operations), if it is still alive when only the
    result is held (weak references), and if a node of the graph has it saved (a walk from the result).
    """
    with operations() as ran:
        result = fn()
    alive = alive_of(ran)
    saved = {each.untyped_storage()._cdata for each in _saved_in(result.grad_fn)}
    return result, sorted(alive[memory] for memory in alive.keys() & saved)


def alive_of(ran: list[Operation]) -> dict[int, int]:
    """The bytes of all memory that these operations made and that is alive, by what tells one memory from another."""
    alive = {memory.cdata for each in ran for memory in each.memories if not memory.expired()}
    storages = (torch.UntypedStorage._new_with_weak_ptr(memory) for memory in alive)
    return {each._cdata: each.nbytes() for each in storages if each is not None}


def _saved_in(node: Any) -> Iterator[Tensor]:
    """All tensors that a graph has saved."""
    todo, met = [node], {None}
    while todo:
        node = todo.pop()
        if node in met:
            continue
        met.add(node)
        todo += [behind for behind, _ in node.next_functions]
        names = [name for name in dir(node) if name.startswith("_saved_")]
        values = [getattr(node, name) for name in names]
        # A node of a Function that somebody wrote has them under this name.
        values.append(getattr(node, "saved_tensors", ()) if not names else ())
        yield from (each for each in pytree.tree_leaves(values) if isinstance(each, Tensor))


def in_words(sizes: list[int]) -> str:
    """Bytes as a sum of what they are made of: "140 bytes: 60 + 80"."""
    total = f"{sum(sizes):,} bytes"
    return total if len(sizes) < 2 else f"{total}: {' + '.join(f'{size:,}' for size in sizes)}"
