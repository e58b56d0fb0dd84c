"""Tells whether a property fails because of what an answer keeps from one call to the next."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

from helpers.check.judge import Finding, tried
from helpers.check.spec import Spec

TIMES = 2  # an answer that fails by chance is hardly told this


def keeps_something(exercise: Spec, answer: Any, blob: bytes, seed: int, first: Finding) -> bool:
    """Whether the property that failed holds where each call gets a copy of the answer that was never called.

    And fails where each call gets the same one, so that it is not the wrapper that makes it hold. Asked of functions;
    not where they start processes, since a property takes seconds there.
    answer: as it was left by the check. blob: the answer as it came, by pickle. first: what the check found.
    """
    if exercise.kind != "function" or exercise.processes or first.verdict == "not attempted" or not first.at:
        return False
    failed = next(prop for prop in exercise.properties if prop.description == first.at)
    fresh = _calling(lambda: pickle.loads(blob), answer)
    same = _calling(lambda: answer, answer)
    return all(
        tried(exercise, failed, fresh, seed) is None and tried(exercise, failed, same, seed) is not None
        for _ in range(TIMES)
    )


def _calling(copy: Callable[[], Any], answer: Any) -> Any:
    """A function, or a tuple of them, that takes a copy of the answer for each call."""
    if isinstance(answer, tuple):
        return tuple(_wrapped(part, lambda place=place: copy()[place]) for place, part in enumerate(answer))
    return _wrapped(answer, copy)


def _wrapped(function: Callable[..., Any], copy: Callable[[], Any]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return copy()(*args, **kwargs)

    return call
