"""Which functions an answer runs, however it reached them: a check can see that an answer calls what it re-creates.

A patched attribute would miss `from torch.autograd import grad`, and an answer could not be told from torch.
Here Python itself reports each call (sys.setprofile), in this thread and in those that start meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType, MethodType
from typing import Any


@contextmanager
def calls_to(*functions: Callable[..., Any] | type) -> Iterator[list[str]]:
    """Yields the list of the functions that run in the block, by the name they were given with, in order of calls.

    functions: Python functions, built-in functions, methods of C types (`torch.Tensor.add_`), or
    classes, which stand for each function written in their body (an inherited one belongs to its own class).

    Code runs about twice as slowly in the block. A generator runs where it is iterated: iterate it in the block.
    Other processes are not seen.
    """
    known = _known(functions)
    seen: list[str] = []
    of_c = _of_c()

    def notice(frame: FrameType, event: str, function: Any) -> None:
        if event == "call":
            name = known.get(id(frame.f_code))
        elif event in of_c:
            name = known.get(id(function)) or known.get(id(_descriptor(function)))
        else:
            return
        if name:
            seen.append(name)

    before, before_in_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(notice)
    sys.setprofile(notice)
    try:
        yield seen
    finally:
        sys.setprofile(before)
        threading.setprofile(before_in_threads)


@cache
def _of_c() -> tuple[str, ...]:
    """The events by which a profiler is told of C functions.

    Python 3.12.0 and some after it tell of a C function that is called as a method only when it ends. pybind's methods
    are such functions, those of torch._C.Graph for example.
    """
    heard: list[tuple[str, Any]] = []

    def notice(frame: FrameType, event: str, function: Any) -> None:
        heard.append((event, function))

    method, before = MethodType(len, ()), sys.getprofile()
    sys.setprofile(notice)
    method()
    sys.setprofile(before)
    return ("c_call",) if ("c_call", len) in heard else ("c_return", "c_exception")


_found: dict[tuple[int, ...], tuple[Any, list[Any], dict[int, str]]] = {}


def _known(functions: tuple[Any, ...]) -> dict[int, str]:
    """What is looked for, by identity, with its name: code written alike, as that of dataclasses, is equal.

    Found once: each property of an exercise looks for the same functions, and all of all optimizers take a millisecond.
    What has the identities is kept with them, so that they are not given out again.
    """
    at = tuple(map(id, functions))  # pybind's methods have no hash
    if at not in _found:
        named = [(name, getattr(part, "__code__", part)) for each in functions for name, part in _parts(each)]
        _found[at] = functions, named, {id(part): name for name, part in named}
    return _found[at][-1]


def _parts(function: Any) -> Iterator[tuple[str, Any]]:
    """A function with its name; of a class, each function of its body."""
    if not isinstance(function, type):
        inner = _inner(function)
        yield getattr(inner, "__qualname__", inner.__name__), inner
        return
    for value in vars(function).values():
        if not isinstance(value, property) and hasattr(inner := _inner(value), "__code__"):
            yield function.__name__, inner


def _inner(function: Any) -> Any:
    """What runs in the end: @torch.no_grad and others wrap, and the call inside is what counts."""
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _descriptor(function: Any) -> Any:
    """What a bound method of a C type was looked up from."""
    owner = getattr(function, "__self__", None)
    return getattr(type(owner), getattr(function, "__name__", ""), None)
