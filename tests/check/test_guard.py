"""The state around an answer: what was replaced is put back, what the check itself has replaced stays."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from helpers.check import guard


class Equal:
    """Calls what it replaces, and says that it is the same."""

    def __init__(self, replaced: Any) -> None:
        self.replaced = replaced

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.replaced(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


class Incomparable(Equal):
    """Cannot even be asked."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("not to be compared")

    __hash__ = None


@contextlib.contextmanager
def replaced(kind: type) -> Iterator[None]:
    """torch.allclose is such an object until the end of the block, unless something else puts it back."""
    old = torch.allclose
    torch.allclose = kind(old)
    try:
        yield
    finally:
        torch.allclose = old


def differing(one: guard.Names, other: guard.Names) -> list[str]:
    """The names that stand for different objects, or stand in one only."""
    missing = object()
    return [
        f"{space}.{name}"
        for space in one.spaces.keys() | other.spaces.keys()
        for name in one.spaces.get(space, {}).keys() | other.spaces.get(space, {}).keys()
        if one.spaces.get(space, {}).get(name, missing) is not other.spaces.get(space, {}).get(name, missing)
    ]


def test_nothing_is_copied_where_nothing_has_changed() -> None:
    for thread in threading.enumerate():
        if thread.name == "warm worker":  # that of an earlier test: it puts the worker into its module
            thread.join()
    gc.collect()  # what an earlier test left half done may put a function of torch back when it is collected
    first, second = guard.snapshot().names, guard.snapshot().names
    assert first is second, differing(first, second)
    assert guard.snapshot(guard.DISTURBING).names is guard.snapshot().names
    assert guard.restore(guard.snapshot()) == []


def test_a_replaced_function_is_put_back_after_a_call() -> None:
    for kind in (mock.Mock, Incomparable):
        state = guard.snapshot(guard.DISTURBING)
        with replaced(kind):
            assert guard.restore(state) == ["torch.allclose"]
            assert not isinstance(torch.allclose, kind)


def test_at_the_end_of_a_property_an_object_that_equals_the_old_one_is_put_back_too() -> None:
    state = guard.snapshot()
    with replaced(Equal):
        assert guard.restore(state) == ["torch.allclose"]
        assert not isinstance(torch.allclose, Equal)


def test_what_the_check_has_replaced_stays() -> None:
    guard.snapshot()
    with replaced(mock.Mock):
        assert guard.restore(guard.snapshot(guard.DISTURBING)) == []
        assert isinstance(torch.allclose, mock.Mock)
    with replaced(Equal):
        assert guard.restore(guard.snapshot()) == []
        assert isinstance(torch.allclose, Equal)


def test_the_first_optimizer_s_hooks_run_after_a_call() -> None:
    """torch wraps the class's `step` when it makes the first optimizer of a kind: unwrapped, hooks would be silent."""
    p, ran = torch.zeros(1, requires_grad=True), []
    wrapped = torch.optim.SGD.step
    if hasattr(wrapped, "hooked"):
        torch.optim.SGD.step = wrapped.__wrapped__  # as in a fresh process
    try:
        state = guard.snapshot()
        optimizer = torch.optim.SGD([p])
        optimizer.register_step_post_hook(lambda *args: ran.append(1))
        assert guard.restore(state) == []
        p.sum().backward()
        optimizer.step()
        assert ran == [1]
        torch.optim.SGD.step = lambda self: None
        assert guard.restore(guard.snapshot()) == [] and guard.restore(state) == ["torch.optim.SGD.step"]
    finally:
        torch.optim.SGD.step = wrapped
