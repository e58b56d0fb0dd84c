"""The guard puts the switches for float32's precision back, and notices that an answer moved one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import backends

from helpers import precision
from helpers.check import guard

SETTINGS: dict[str, Callable[[], None]] = {
    "matmul.allow_tf32 = True": partial(setattr, backends.cuda.matmul, "allow_tf32", True),
    "matmul.allow_tf32 = False": partial(setattr, backends.cuda.matmul, "allow_tf32", False),
    "cudnn.allow_tf32 = False": partial(setattr, backends.cudnn, "allow_tf32", False),
    **{name: partial(torch.set_float32_matmul_precision, name) for name in ("high", "medium", "highest")},
    **{
        f"{backend} {op} = {value}": partial(torch._C._set_fp32_precision_setter, backend, op, value)
        for (backend, op), value in itertools.product(precision.SWITCHES, ("tf32", "ieee", "none", "bf16"))
    },
}


def set_as(name: str) -> None:
    """Moves one switch; some back ends refuse some values."""
    try:
        SETTINGS[name]()
    except RuntimeError:
        pass


def old_switches() -> list[Any]:
    """What the older switches say, or that reading them raises."""
    messages = []
    for read in (
        lambda: backends.cuda.matmul.allow_tf32,
        lambda: backends.cudnn.allow_tf32,
        torch.get_float32_matmul_precision,
    ):
        try:
            messages.append(read())
        except RuntimeError:
            messages.append("raises")
    return messages


@pytest.fixture(autouse=True)
def as_it_was() -> Any:
    before = precision.read()
    yield
    precision.write(before)


def test_any_two_settings_are_undone() -> None:
    before, old = precision.read(), old_switches()
    for first, second in itertools.product(SETTINGS, SETTINGS):
        set_as(first)
        set_as(second)
        precision.write(before)
        assert (precision.read(), old_switches()) == (before, old), (first, second)


def test_from_any_setting_the_new_switches_come_back() -> None:
    default = precision.read()
    for first, second in itertools.product(SETTINGS, SETTINGS):
        precision.write(default)
        set_as(first)
        here = precision.read()
        set_as(second)
        precision.write(here)
        assert precision.read()[0] == here[0], (first, second)


@pytest.mark.parametrize(
    "name", ["high", "cuda conv = ieee", "generic all = tf32", "cudnn.allow_tf32 = False"]
)
def test_the_guard_names_a_switch_that_was_moved(name: str) -> None:
    before = guard.snapshot()
    set_as(name)
    assert guard.restore(before) == ["float32 precision"]
    assert guard.restore(before) == []
