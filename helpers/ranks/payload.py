"""A function and its arguments as bytes; where that fails, which of them is to blame."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from helpers.processes.by_value import by_value


def packed(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Both together, with all of the notebook that they refer to.

    Raises:
        TypeError: something cannot be copied to another process; the message says what.
    """
    try:
        return by_value((fn, args))
    except Exception as error:
        raise not_copied(fn, args, error) from None


def not_copied(fn: Callable[..., Any], args: tuple[Any, ...], error: Exception) -> TypeError:
    """What to say when these could not be copied, because of `error`."""
    why = f"{type(error).__name__}: {str(error)[:200]}"
    for number, value in enumerate(args):
        if not _can_travel(value):
            message = f"argument {number + 1} after fn, {_kind(value)}, cannot be copied to the ranks."
            return TypeError(f"{message} ({why})")
    chain = _chain(fn)
    description = f": it uses {', which uses '.join(chain)}" if chain else ""
    return TypeError(f"{_name(fn)} cannot be copied to the ranks{description}. ({why})")


def put_into_main(*things: Any) -> None:
    """The notebook's classes and functions, as far as they came along, under __main__, as they are in the notebook.

    There they are looked for by what pickles by name: all_gather_object, torch.save, a pool of processes.
    """
    main = sys.modules["__main__"]
    for thing in things:
        thing = getattr(thing, "func", thing)  # of a partial
        thing = getattr(thing, "__func__", thing)  # of a method
        known = [type(thing), thing, *getattr(thing, "__globals__", {}).values()]
        for value in known:
            if isinstance(value, (type, types.FunctionType)) and value.__module__ == "__main__":
                # In a forked rank the original stands there, of which this is a copy.
                setattr(main, value.__name__, value)


def _chain(fn: Callable[..., Any]) -> list[str]:
    """What cannot be copied and why fn needs it: names that fn uses, that those use, and so on to the culprit."""
    chain: list[str] = []
    thing: Any = fn
    for _ in range(8):
        bad = next(((name, value) for name, value in _used(thing) if not _can_travel(value)), None)
        if bad is None:
            break
        name, thing = bad
        chain.append(name if isinstance(thing, types.FunctionType) else f"{name}, {_kind(thing)}")
    return chain


def _can_travel(value: Any) -> bool:
    try:
        by_value(value)
    except Exception:
        return False
    return True


def _used(thing: Any) -> Iterator[tuple[str, Any]]:
    """Names and values that a function refers to: globals, closure, the object that it is bound to; attributes."""
    if isinstance(thing, types.MethodType):
        yield "self", thing.__self__
        thing = thing.__func__
    if not isinstance(thing, types.FunctionType):
        if not isinstance(thing, type):
            yield from (
                (f"its attribute {name}", value) for name, value in getattr(thing, "__dict__", {}).items()
            )
        return
    for name in _names(thing.__code__):
        if name in thing.__globals__:
            yield name, thing.__globals__[name]
    for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            pass
    defaults = thing.__defaults__ or ()
    taking = thing.__code__.co_varnames[: thing.__code__.co_argcount][-len(defaults) :]
    yield from ((f"the default of {name}", value) for name, value in zip(taking, defaults, strict=False))


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _kind(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
