"""A right answer of 14.saved_bytes in steps, of which each mistake replaces one."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef


def memory_of(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def whole(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def all_before(fn: Any, args: tuple[Tensor, ...]) -> Iterable[Tensor]:
    """What was there before."""
    return [*args, *(fn.parameters() if isinstance(fn, nn.Module) else ()), *buffers_of(fn)]


def buffers_of(fn: Any) -> Iterable[Tensor]:
    return fn.buffers() if isinstance(fn, nn.Module) else ()


Alias = weakref.ref[Tensor]


def still_saved(alias: Alias, memory: StorageWeakRef) -> bool:
    """Whether autograd still has what `pack` returned."""
    return alias() is not None


def still_there(alias: Alias, memory: StorageWeakRef) -> bool:
    """Whether the memory lives, whoever keeps it."""
    return not memory.expired()


def always(alias: Alias, memory: StorageWeakRef) -> bool:
    return True


def counted(
    fn: Any,
    *args: Tensor,
    before: Callable[[Any, tuple[Tensor, ...]], Iterable[Tensor]] = all_before,
    known_by: Callable[[Tensor], Any] = memory_of,
    once_by: Callable[[Tensor], Any] | None = memory_of,
    size: Callable[[Tensor], int] = whole,
    packed: Callable[[Tensor], Tensor] = Tensor.detach,
    unpacked: Callable[[Tensor], Any] = lambda alias: alias,
    holds: bool = True,
    counts: Callable[[Alias, StorageWeakRef], bool] = still_saved,
) -> int:
    """before: what does not count. known_by: how that is found again. once_by: what counts once; None: each saved tensor.

    counts: of what was saved, what counts when fn has returned.
    """
    known = [*before(fn, args)]  # kept, so that no memory of theirs is given out again
    there = [known_by(each) for each in known]
    noted: list[tuple[Any, int, Alias, StorageWeakRef]] = []

    def pack(tensor: Tensor) -> Tensor:
        alias = packed(tensor)
        if known_by(tensor) not in there:
            key = once_by(tensor) if once_by else len(noted)
            noted.append((key, size(tensor), weakref.ref(alias), StorageWeakRef(tensor.untyped_storage())))
        return alias

    with saved_tensors_hooks(pack, unpacked):
        result = fn(*args)
    if not holds:
        del result
    return sum({key: nbytes for key, nbytes, alias, memory in noted if counts(alias, memory)}.values())
