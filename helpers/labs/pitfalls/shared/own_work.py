"""What an answer must not call: the functions of torch that it re-creates, however it reaches them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.calls import calls_to
from helpers.check.spec import Check
from helpers.check.trial import Trial
from helpers.exercise import Exercise

PLACES = (torch, torch.Tensor, F, np, np.ndarray)


class _Operators(TorchFunctionMode):
    """Operators that are called as torch.ops.aten.name, which is no function that Python could report."""

    def __init__(self, names: frozenset[str], seen: list[str]) -> None:
        super().__init__()
        self.names, self.seen = names, seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, OpOverload | OpOverloadPacket):
            self.seen += {func.__name__.partition(".")[0]} & self.names
        return func(*args, **(kwargs or {}))


class _Kernels(TorchDispatchMode):
    """Operators that run in the end, whoever called them."""

    def __init__(self, names: frozenset[str], seen: list[str]) -> None:
        super().__init__()
        self.names, self.seen = names, seen

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += {op.name().removeprefix("aten::").partition(".")[0]} & self.names
        return op(*args, **(kwargs or {}))


class Forbidden:
    """Names of functions that an answer must not reach, in torch, its methods, torch.nn.functional and NumPy.

    names: "std" stands for torch.std, Tensor.std, np.std, the operator aten::std. functions: further ones.
    description: the sentence for the report, after "The answer calls NAME, ".
    """

    def __init__(self, *names: str, functions: tuple[Callable[..., Any], ...] = (), description: str) -> None:
        self.names = frozenset(names)
        found = [getattr(place, name) for name in names for place in PLACES if hasattr(place, name)]
        self.functions = (*found, *functions)
        self.description = description

    @contextmanager
    def reached(self, seen: list[str]) -> Iterator[None]:
        """Adds the names of those that are reached in the block to `seen`."""
        with calls_to(*self.functions) as called, _Kernels(self.names, seen), _Operators(self.names, seen):
            try:
                yield
            finally:
                seen += [name.rpartition(".")[2] for name in called]

    def watched(self, answer: Any, seen: list[str]) -> Any:
        """The answer (or the tuple of answers), which adds to `seen` what it reaches."""
        if isinstance(answer, tuple):
            return tuple(self.watched(part, seen) for part in answer)

        @functools.wraps(answer, updated=())
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.reached(seen):
                return answer(*args, **kwargs)

        return run


def property_by_hand(
    exercise: Exercise,
    forbidden: Forbidden,
    description: str,
    changes: tuple[str, ...] = (),
    *,
    asks: str | tuple[str, ...] = (),
    after: tuple[Check, ...] = (),
    once_right: bool = False,
) -> Callable[[Check], Check]:
    """Adds a property at which an answer that reaches something forbidden is told that, whatever else is wrong.

    description, changes, asks, after, once_right: as for Exercise.property.
    """

    def add(check: Check) -> Check:
        @functools.wraps(check)
        def watched(answer: Any, trial: Trial) -> None:
            seen: list[str] = []
            with contextlib.ExitStack() as stack:
                stack.callback(_require_none, forbidden, trial, seen)
                check(forbidden.watched(answer, seen), trial)

        add_watched = exercise.property(
            description, asks=asks, changes=changes, after=after, once_right=once_right
        )
        return add_watched(watched)

    return add


def run_for_its_calls(function: Callable[..., Any], *args: Any) -> None:
    """Runs it to see what it calls; what it returns or raises is for other properties to tell."""
    try:
        function(*args)
    except NotImplementedError:
        raise
    except Exception:
        return


def _require_none(forbidden: Forbidden, trial: Trial, seen: list[str]) -> None:
    trial.true(
        not seen,
        f"The answer calls {', '.join(sorted(set(seen)))}, {forbidden.description}",
        expected="operations on tensors, written out",
        got=", ".join(sorted(set(seen))),
        observed=forbidden.description,
    )
