"""The marks of @torch.jit.export, ignore and unused on functions that came from another process.

The compiler compares these marks by identity, and what was pickled has copies of them: it would not see one.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

from torch import nn
from torch._jit_internal import FunctionModifiers

MARKS = {mark: mark for mark in vars(FunctionModifiers).values() if isinstance(mark, str)}


def restore_marks(module: nn.Module) -> None:
    """Gives the functions that a module's classes are made of, or name, torch's own marks."""
    for function in set(_functions(module)):
        mark = vars(function).get("_torchscript_modifier")
        if mark in MARKS:
            function._torchscript_modifier = MARKS[mark]


def _functions(module: nn.Module) -> Iterator[FunctionType]:
    kinds = {kind for part in module.modules() for kind in type(part).__mro__}
    for kind in kinds:
        for member in vars(kind).values():
            method = _plain(member)
            if method is not None and not kind.__module__.startswith("torch."):
                yield method
                named = (method.__globals__.get(name) for name in method.__code__.co_names)
                enclosed = (cell.cell_contents for cell in method.__closure__ or () if cell != type(cell)())
                yield from (one for one in (*named, *enclosed) if isinstance(one, FunctionType))


def _plain(member: Any) -> FunctionType | None:
    """The function behind a method, a static method or a property."""
    found = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return found if isinstance(found, FunctionType) else None
