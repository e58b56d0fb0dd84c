"""What is asked of a block: that it can stand in a `with` statement, and what comes out of it when it raises."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any

from helpers.check.trial import Trial

CAME_OUT, NOTHING = "came out", "nothing came out"


class Stop(Exception):
    """An error that nobody else raises."""


# An error of one's own, one of torch's kind, the end of an iterator, and three that are no Exception.
ERRORS = (Stop, RuntimeError, StopIteration, KeyboardInterrupt, SystemExit, GeneratorExit)


def manager(answer: Any, trial: Trial, name: str) -> AbstractContextManager[Any]:
    """What the answer gives, if it can stand in a `with` statement. name: the function's."""
    found = answer()
    kind = type(found)
    if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
        trial.fail(
            f"{name}() gave a plain generator, and `with` cannot use one. Is @contextlib.contextmanager missing?"
            if inspect.isgenerator(found)
            else f"{name}() gave {'None' if found is None else f'an object of type {kind.__name__}'}, "
            "and `with` cannot use it: it has no __enter__ and __exit__.",
            expected=f"a context manager, for `with {name}():`",
            got=kind.__name__,
            observed=("no context manager", kind.__name__),
        )
    return found


def what_came(
    block: AbstractContextManager[Any], error: BaseException, before: Callable[[], Any] = lambda: None
) -> str:
    """What comes out of a block in which `before` is called and `error` is raised, in words."""
    raised = False
    try:
        with block:
            before()
            raised = True
            raise error
    except BaseException as came:
        if not raised:
            raise
        return CAME_OUT if came is error else _instead(came, error)
    return NOTHING


def _instead(came: BaseException, error: BaseException) -> str:
    """In words, what came out instead of `error`."""
    return f"{'a different' if type(came) is type(error) else 'a'} {type(came).__name__} instead"


def which(kinds: Collection[str]) -> str:
    """The kinds of error, of ERRORS, in as few words as tell mistakes apart. StopIteration follows the other
    Exceptions, or contextlib lets it pass.
    """
    exceptions, others = {"Stop", "RuntimeError"}, {"KeyboardInterrupt", "SystemExit", "GeneratorExit"}
    if others <= set(kinds):
        return (
            "all" if exceptions <= set(kinds) else "no Exception" if not exceptions & set(kinds) else "some"
        )
    if others & set(kinds):
        return ", ".join(sorted(kinds)) if len(kinds) == 1 else "some"
    return "each Exception" if exceptions <= set(kinds) else ", ".join(sorted(kinds))


def require_all_came(trial: Trial, came: dict[str, str]) -> None:
    """Wrong unless every error came out. came: by the error, what came."""
    lost = {error: what for error, what in came.items() if what != CAME_OUT}
    swallowed = [error for error, what in lost.items() if what == NOTHING]
    trial.true(
        not lost,
        f"What the block raised did not come out of it: {', '.join(lost)}.",
        expected="each error itself, whatever its kind: " + ", ".join(came),
        got=", ".join(f"{error}: {what}" for error, what in came.items()),
        observed=("swallowed", which(swallowed)) if swallowed else ("replaced", which(lost)),
    )
