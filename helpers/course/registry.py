"""Finds the exercises and predictions that the lab modules define."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TypeVar

from helpers import paths
from helpers.check.spec import Spec
from helpers.prediction import Prediction

T = TypeVar("T")


def lab_modules() -> list[str]:
    """Full names of the modules in helpers/labs, one a lab."""
    return sorted(f"helpers.labs.{module.name}" for module in pkgutil.iter_modules([str(_folder())]))


def _folder() -> Path:
    # Not `import helpers.labs`: in a kernel that starts the fork server of the checks.
    return paths.ROOT / "helpers" / "labs"


def ids(stem: str) -> dict[str, list[str]]:
    """The ids of one lab's exercises and predictions; none for a page that has no module in helpers/labs.

    Imports that lab alone.
    """
    names = [name for name in lab_modules() if name == f"helpers.labs.{stem}"]
    return {
        "exercises": list(members(Spec, names)),
        "predictions": list(members(Prediction, names)),
    }


def found(id: str) -> Spec | None:
    """The exercise of a lab by its id; None where the lab or the exercise is none of ours. Imports that lab alone."""
    for page in paths.LABS.glob(f"{id[:2]}_*.ipynb"):
        module = _folder() / page.stem[3:]
        # Not by lab_modules(): listing all labs takes longer than all else here.
        if module.is_dir() or module.with_suffix(".py").is_file():
            return members(Spec, [f"helpers.labs.{module.name}"]).get(id)
    return None


def members(kind: type[T], names: list[str] | None = None) -> dict[str, T]:
    """All objects of `kind` that stand in a lab module, by id and in its order. Two with one id are an error.

    names: full names of the modules; all labs if None.
    """
    known: dict[str, T] = {}
    for name in lab_modules() if names is None else names:
        for item in vars(importlib.import_module(name)).values():
            if not isinstance(item, kind):
                continue
            if known.setdefault(item.id, item) is not item:
                raise ValueError(f"{name}: a second object has the id {item.id}; give it another one")
    return {id: known[id] for id in sorted(known)}
