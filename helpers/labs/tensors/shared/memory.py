"""What memory an answer makes, and which tensors without any: those of the meta device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Made:
    """A memory that an operation made, of so many bytes; on the meta device, bytes that are not
    there.
    """

    operation: str
    bytes: int
    meta: bool = False


@contextmanager
def made() -> Iterator[list[Made]]:
    """Yields the list of what memory is made in the block. A view makes none, an edit in place
    neither.
    """
    seen: list[Made] = []
    with _Noting(seen):
        yield seen


class _Noting(TorchDispatchMode):
    def __init__(self, seen: list[Made]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = {memory(each) for each in _tensors((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for each in _tensors(result):
            if (at := memory(each)) not in before:
                before.add(at)
                meta = each.device.type == "meta" or type(each) is not Tensor
                name = func.overloadpacket.__name__
                self.seen.append(Made(name, each.untyped_storage().nbytes(), meta))
        return result


def memory(t: Tensor) -> int:
    """What tells one memory from a different one."""
    return t.untyped_storage()._cdata


def _tensors(tree: Any) -> list[Tensor]:
    return [
        each for each in pytree.tree_leaves(tree) if isinstance(each, Tensor) and each.layout is torch.strided
    ]
