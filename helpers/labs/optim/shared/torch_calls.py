"""What an answer of this lab must not call: the functions of torch that it re-creates."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import torch.nn.utils.clip_grad
import torch.optim
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.calls import calls_to
from helpers.check.trial import Trial


class Ops(TorchDispatchMode):
    """The names of the operations that run in the block, in order, as in "aten::mul_"."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(op.name().partition(".")[0])
        return op(*args, **(kwargs or {}))


def _functions(module: ModuleType) -> Iterator[Callable[..., Any]]:
    """Functions that are written in this module."""
    for value in vars(module).values():
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            yield value


def _optimizers() -> Iterator[Callable[..., Any] | type]:
    """Every optimizer of torch, as a class and as functions; not the class that all of them inherit, which has no rule.

    Only what is written out: the methods that a dataclass gets are equal, as code, to those of any other.
    """
    others = ("torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.optim.optimizer")
    for found in pkgutil.iter_modules(torch.optim.__path__, "torch.optim."):
        if found.name not in others:
            module = importlib.import_module(found.name)
            yield from _functions(module)
            yield from (cls for cls in torch.optim.Optimizer.__subclasses__() if cls.__module__ == found.name)


OPTIMIZERS = tuple(_optimizers())
CLIPPING = tuple(_functions(sys.modules["torch.nn.utils.clip_grad"]))


def unaided(trial: Trial, run: Callable[[], Any]) -> Any:
    """`run()`; wrong, whatever else is, if torch's own optimizers work inside.

    Every property looks, so that it does not matter where else an answer that calls them goes wrong.
    (Not trial.call, which takes longer than the steps; the end of a property finds what is left changed.)
    """
    seen: list[str] = []
    try:
        with calls_to(*OPTIMIZERS) as seen:
            return run()
    finally:
        require_by_hand(trial, seen)


def require_by_hand(trial: Trial, seen: list[str]) -> None:
    trial.true(
        not seen,
        "The answer calls a step of torch.optim, which is what this exercise builds.",
        expected="additions and multiplications of tensors, written out",
        got=", ".join(sorted(set(seen))[:6]),
        observed="torch.optim",
    )
