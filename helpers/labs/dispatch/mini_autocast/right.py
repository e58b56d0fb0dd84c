"""A right answer to 12.mini_autocast in steps, of which each mistake replaces one."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only


class Steps(TorchFunctionMode):
    """A dict from the id of a leaf to the leaf and its cast, and a count of the open blocks."""

    def __init__(self, dtype: torch.dtype, lower: set[str], higher: set[str]) -> None:
        super().__init__()
        self.dtype, self.lower, self.higher = dtype, lower, higher
        self.depth = 0
        self.casts: Any = {}

    def __enter__(self) -> Self:
        self.begin()
        return super().__enter__()

    def __exit__(self, *error: Any) -> Any:
        super().__exit__(*error)
        self.end(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.among(func.__name__, self.lower):
            args, kwargs = self.mapped(self.lowered, args, kwargs)
        elif self.among(func.__name__, self.higher):
            args, kwargs = self.mapped(self.raised, args, kwargs)
        return self.called(func, args, kwargs)

    def begin(self) -> None:
        self.depth += 1

    def end(self, *error: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.forget()

    def forget(self) -> None:
        self.casts.clear()

    def among(self, name: str, names: set[str]) -> bool:
        return name in names

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        return tree_map_only(Tensor, cast, (args, kwargs))

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)

    def lowered(self, t: Tensor) -> Tensor:
        if t.dtype != torch.float32:
            return t
        return self.kept(t) if self.is_kept(t) else self.cast(t)

    def raised(self, t: Tensor) -> Tensor:
        return t.float() if t.dtype in (torch.float16, torch.bfloat16) else t

    def is_kept(self, t: Tensor) -> bool:
        return t.is_leaf and t.requires_grad

    def key(self, t: Tensor) -> Any:
        return id(t)

    def kept(self, t: Tensor) -> Tensor:
        if self.key(t) not in self.casts:
            with torch.enable_grad():
                self.casts[self.key(t)] = (t, self.cast(t))
        return self.casts[self.key(t)][1]

    def cast(self, t: Tensor) -> Tensor:
        return t.to(self.dtype)
