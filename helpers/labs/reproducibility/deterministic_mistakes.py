"""What people write for 01.deterministic."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch
import torch.utils.deterministic

from helpers.labs.reproducibility.deterministic import CUBLAS, Switches, deterministic, switches, turn

ON: Switches = {
    "deterministic algorithms": True,
    "warn_only": False,
    "fill_uninitialized_memory": True,
    "cudnn.benchmark": False,
    "cudnn.deterministic": True,
    CUBLAS: ":4096:8",
}


@deterministic.wrong_answer(
    "left_on",
    why="Nothing is given back: the rest of the program runs in deterministic mode, slower, and raises where it did not.",
    seen="Nothing is given back",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    turn(ON)
    yield


@deterministic.wrong_answer(
    "turned_off_what_was_on",
    why="Switching off at the end is not giving back: whoever had the mode on before finds it off.",
    seen="Switching off at the end is not giving back",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    turn(ON)
    try:
        yield
    finally:
        turn(ON | {"deterministic algorithms": False, "cudnn.deterministic": False, CUBLAS: None})


@deterministic.wrong_answer(
    "warn_only_lost",
    why="`use_deterministic_algorithms(old)` has a second argument, `warn_only`: without it, who only wanted warnings "
    "now gets errors.",
    seen="has a second argument",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"warn_only": False})


@deterministic.wrong_answer(
    "variable_emptied",
    why="An environment variable that was not there must be removed. Empty is a value of its own, and child processes "
    "inherit it.",
    seen="Empty is a value of its own",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: before[CUBLAS] or ""})


@deterministic.wrong_answer(
    "variable_left",
    why="The environment variable is a switch, too, and every process that is started later inherits it.",
    seen="and every process that is started later inherits it",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: ON[CUBLAS]})


@deterministic.wrong_answer(
    "not_after_an_error",
    why="Without `finally` the lines after `yield` are skipped when the block raises, and the switches stay on.",
    seen="Without `finally`",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    yield
    turn(before)


@deterministic.wrong_answer(
    "errors_swallowed",
    why="A `return` in `finally`, or an `except` without `raise`, eats the error of the block: the program goes on as "
    "if nothing had happened.",
    seen="eats the error of the block",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    except BaseException:
        pass
    turn(before)


@deterministic.wrong_answer(
    "only_the_mode",
    why="`use_deterministic_algorithms` does not touch `cudnn.benchmark`, which may choose another algorithm in every "
    "run, nor cuBLAS's workspace.",
    seen="nor cuBLAS's workspace",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    enabled, warn_only = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


@deterministic.wrong_answer(
    "only_the_environment",
    why="The variable fixes cuBLAS's workspace and no more; the mode itself was never turned on.",
    seen="the mode itself was never turned on",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    os.environ[CUBLAS] = ON[CUBLAS]
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        turn(before)


@deterministic.wrong_answer(
    "only_warns",
    why="With warn_only=True an operation without a deterministic version warns and goes on, not deterministic.",
    seen="warns and goes on",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON | {"warn_only": True})
    try:
        yield
    finally:
        turn(before)


@deterministic.wrong_answer(
    "fill_off",
    why="Without filling, `torch.empty` hands out whatever lay in memory, which is another thing in every run. NaN is "
    "the kinder value: it shows.",
    seen="NaN is the kinder value",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON | {"fill_uninitialized_memory": False})
    try:
        yield
    finally:
        turn(before)


_before: Switches = {}


@deterministic.wrong_answer(
    "one_memory_for_all",
    why="The old values stand in one global place. A block in a block overwrites them, and the outer one gives back "
    "what the inner one has set.",
    seen="stand in one global place",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    _before.update(switches())
    turn(ON)
    try:
        yield
    finally:
        turn(_before)


@deterministic.wrong_answer(
    "benchmark_kept",
    why="cuDNN's benchmark picks the fastest algorithm by the clock, so the choice may differ from run to run.",
    seen="by the clock",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON | {"cudnn.benchmark": before["cudnn.benchmark"]})
    try:
        yield
    finally:
        turn(before)


@deterministic.wrong_answer(
    "cudnn_not_given_back",
    why="`cudnn.deterministic` is a switch of its own: the mode does not set it, and nobody else gives it back.",
    seen="nobody else gives it back",
)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"cudnn.deterministic": ON["cudnn.deterministic"]})
