"""What people write for 01.deterministic, and why it is wrong."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch
import torch.utils.deterministic

from helpers.labs.reproducibility.deterministic.exercise import (
    CUBLAS,
    Switches,
    deterministic,
    switches,
    turn,
)

ON: Switches = {
    "deterministic algorithms": True,
    "warn_only": False,
    "fill_uninitialized_memory": True,
    "cudnn.benchmark": False,
    "cudnn.deterministic": True,
    CUBLAS: ":4096:8",
}


@deterministic.mistake()
@contextlib.contextmanager
def left_on() -> Iterator[None]:
    """Nothing is given back: the rest of the program runs in deterministic mode, slower, and raises where it
    did not.
    """
    turn(ON)
    yield


@deterministic.mistake()
@contextlib.contextmanager
def turned_off_what_was_on() -> Iterator[None]:
    """Switching off at the end is not giving back: whoever had the mode on before finds it off."""
    turn(ON)
    try:
        yield
    finally:
        turn(ON | {"deterministic algorithms": False, "cudnn.deterministic": False, CUBLAS: None})


@deterministic.mistake()
@contextlib.contextmanager
def warn_only_lost() -> Iterator[None]:
    """`use_deterministic_algorithms(old)` has a second argument, `warn_only`: without it, who only wanted
    warnings now gets errors.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"warn_only": False})


@deterministic.mistake()
@contextlib.contextmanager
def variable_emptied() -> Iterator[None]:
    """An environment variable that was not there must be removed. Empty is a value of its own, and child
    processes inherit it.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: before[CUBLAS] or ""})


@deterministic.mistake()
@contextlib.contextmanager
def variable_left() -> Iterator[None]:
    """The environment variable is a switch, too, and every process that is started later inherits it."""
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: ON[CUBLAS]})


@deterministic.mistake()
@contextlib.contextmanager
def not_after_an_error() -> Iterator[None]:
    """Without `finally` the lines after `yield` are skipped when the block raises, and the switches stay on."""
    before = switches()
    turn(ON)
    yield
    turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def errors_swallowed() -> Iterator[None]:
    """A `return` in `finally`, or an `except` without `raise`, eats the error of the block: the program goes
    on as if nothing had happened.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except BaseException:
        pass
    turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def only_the_mode() -> Iterator[None]:
    """`use_deterministic_algorithms` does not touch `cudnn.benchmark`, which may choose another algorithm in
    every run, nor cuBLAS's workspace.
    """
    enabled, warn_only = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


@deterministic.mistake()
@contextlib.contextmanager
def only_the_environment() -> Iterator[None]:
    """The variable fixes cuBLAS's workspace and no more; the mode itself was never turned on."""
    before = switches()
    os.environ[CUBLAS] = ON[CUBLAS]
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def only_warns() -> Iterator[None]:
    """With warn_only=True an operation without a deterministic version warns and goes on, not deterministic."""
    before = switches()
    turn(ON | {"warn_only": True})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def fill_off() -> Iterator[None]:
    """Without filling, `torch.empty` hands out whatever lay in memory, which is another thing in every run.
    NaN is the kinder value: it shows.
    """
    before = switches()
    turn(ON | {"fill_uninitialized_memory": False})
    try:
        yield
    finally:
        turn(before)


_before: Switches = {}


@deterministic.mistake()
@contextlib.contextmanager
def one_memory_for_all() -> Iterator[None]:
    """The old values stand in one global place. A block in a block overwrites them, and the outer one gives
    back what the inner one has set.
    """
    _before.update(switches())
    turn(ON)
    try:
        yield
    finally:
        turn(_before)


@deterministic.mistake()
@contextlib.contextmanager
def benchmark_kept() -> Iterator[None]:
    """cuDNN's benchmark picks the fastest algorithm by the clock, so the choice may differ from run to run."""
    before = switches()
    turn(ON | {"cudnn.benchmark": before["cudnn.benchmark"]})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def cudnn_not_given_back() -> Iterator[None]:
    """`cudnn.deterministic` is a switch of its own: the mode does not set it, and nobody else gives it back."""
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"cudnn.deterministic": ON["cudnn.deterministic"]})
