"""Right answers to 01.deterministic, in different shapes."""

from __future__ import annotations

import contextlib
import os
import unittest.mock

import torch


@contextlib.contextmanager
def deterministic():
    old = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    )
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(old[0], warn_only=old[1])
        torch.utils.deterministic.fill_uninitialized_memory = old[2]
        torch.backends.cudnn.benchmark = old[3]
        torch.backends.cudnn.deterministic = old[4]
        if old[5] is None:
            os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
        else:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = old[5]


class Deterministic(contextlib.ContextDecorator):
    """A class, and torch's own context managers where there are some."""

    def __enter__(self):
        self.stack, cudnn = contextlib.ExitStack(), torch.backends.cudnn
        self.stack.enter_context(torch.backends.cudnn.flags(enabled=cudnn.enabled, deterministic=True))
        mode, fill = torch.get_deterministic_debug_mode(), torch.utils.deterministic.fill_uninitialized_memory
        self.stack.callback(torch.set_deterministic_debug_mode, mode)
        self.stack.callback(setattr, torch.utils.deterministic, "fill_uninitialized_memory", fill)
        self.stack.enter_context(unittest.mock.patch.dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":16:8"))
        torch.set_deterministic_debug_mode("error")
        torch.utils.deterministic.fill_uninitialized_memory = True
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)


def entered_late():
    """Any object with __enter__ and __exit__ will do."""
    return Deterministic()


SWITCHES = (
    (torch.utils.deterministic, "fill_uninitialized_memory", True),
    (torch.backends.cudnn, "benchmark", False),
    (torch.backends.cudnn, "deterministic", True),
)


@contextlib.contextmanager
def by_a_table():
    """The switches in a table, the environment as a whole."""
    mode, environment = torch.get_deterministic_debug_mode(), dict(os.environ)
    before = [getattr(*switch[:2]) for switch in SWITCHES]
    try:
        torch.set_deterministic_debug_mode(2)
        os.environ |= {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        for switch in SWITCHES:
            setattr(*switch)
        yield "on"
    finally:
        torch.set_deterministic_debug_mode(mode)
        for (owner, name, _), value in zip(SWITCHES, before, strict=True):
            setattr(owner, name, value)
        os.environ.clear()
        os.environ.update(environment)


def on_at_the_call():
    """All is set before the stack is returned, and the stack gives it back."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(by_a_table())
        return stack.pop_all()


RIGHT = [deterministic, Deterministic, entered_late, by_a_table, on_at_the_call]
