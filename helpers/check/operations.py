"""Which of torch's operations an answer runs, and what memory they make: what a check sees besides values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Operation:
    """One operation that ran below autograd.

    name: as torch calls it, without its overload: "bmm".
    made: how many numbers the largest memory holds that it made; 0 for a view and for an edit in place.
    bytes: the bytes of all memory that it made.
    shapes: of the tensors that it was given, those in lists, too.
    memories: all memory that it made, without keeping it: `expired()` is True of one that is freed.
    """

    name: str
    made: int
    bytes: int
    shapes: tuple[tuple[int, ...], ...]
    memories: tuple[StorageWeakRef, ...] = field(default=(), compare=False, repr=False)


@contextmanager
def operations() -> Iterator[list[Operation]]:
    """Yields the list of the operations that run in the block, in their order; those of a backward, too.

    An operation of several steps (`matmul`) stands there as its steps (`expand`, `bmm`). What a kernel takes for
    itself while it runs is not seen.
    """
    ran: list[Operation] = []
    with _Noting(ran):
        yield ran


class _Noting(TorchDispatchMode):
    def __init__(self, ran: list[Operation]) -> None:
        super().__init__()
        self.ran = ran

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        result = func(*args, **(kwargs or {}))
        before = {_memory(each) for each in given}
        made = {
            _memory(each): (each.untyped_storage().nbytes() // each.element_size(), each)
            for each in pytree.tree_leaves(result)
            if isinstance(each, Tensor) and each.layout is torch.strided and _memory(each) not in before
        }
        self.ran.append(
            Operation(
                func.overloadpacket.__name__,
                max((numbers for numbers, _ in made.values()), default=0),
                sum(each.untyped_storage().nbytes() for _, each in made.values()),
                tuple(tuple(each.shape) for each in given),
                tuple(StorageWeakRef(each.untyped_storage()) for _, each in made.values()),
            )
        )
        return result


def _memory(tensor: Tensor) -> int | None:
    """What tells one memory from a different one; None for a layout without one."""
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided else None
