"""Finds the exercises and predictions that the lab modules define."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TypeVar

T = TypeVar("T")


def lab_modules() -> list[str]:
    """Full names of the modules in helpers/labs, one a lab."""
    import helpers.labs

    return sorted(f"helpers.labs.{found.name}" for found in pkgutil.iter_modules(helpers.labs.__path__))


def members(kind: type[T]) -> dict[str, T]:
    """All objects of `kind` that stand in a lab module, by id. Two with one id are an error."""
    found: dict[str, T] = {}
    for name in lab_modules():
        for item in vars(importlib.import_module(name)).values():
            if not isinstance(item, kind):
                continue
            if found.setdefault(item.id, item) is not item:
                raise ValueError(f"{name}: a second object has the id {item.id}; give it another one")
    return {key: found[key] for key in sorted(found, key=lambda key: key.partition(".")[0])}
