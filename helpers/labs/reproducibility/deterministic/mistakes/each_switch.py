"""What people write for 01.deterministic: a switch that is not set, or not given back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import torch
import torch.utils.deterministic

from helpers.labs.reproducibility.deterministic.exercise import (
    CUBLAS,
    ON,
    Switches,
    deterministic,
    switches,
    turn,
)


@deterministic.mistake(breaks="After the block all of these are as they were before it")
@contextlib.contextmanager
def left_on() -> Iterator[None]:
    """The switches are still on after the block: nothing was given back, or what was read once they had been set. The
    rest of the program runs in deterministic mode, slower, and raises where it did not.
    """
    turn(ON)
    yield


@deterministic.mistake()
@contextlib.contextmanager
def turned_off_what_was_on() -> Iterator[None]:
    """A switch has a different value after the block than before it. Perhaps switches get fixed values at the
    end, such as off: that is not giving back. Keep what was there, and set it again.
    """
    turn(ON)
    try:
        yield
    finally:
        turn(ON | {"deterministic algorithms": False, "cudnn.deterministic": False, CUBLAS: None})


@deterministic.variant(turned_off_what_was_on)
@contextlib.contextmanager
def _() -> Iterator[None]:
    turn(ON)
    try:
        yield
    finally:
        turn({name: False for name in ON} | {CUBLAS: None})


@deterministic.variant(turned_off_what_was_on)
@contextlib.contextmanager
def _() -> Iterator[None]:
    turn(ON)
    try:
        yield
    finally:
        turn(ON | {"deterministic algorithms": False, "cudnn.deterministic": False, "cudnn.benchmark": True})
        os.environ.pop(CUBLAS)


@deterministic.variant(turned_off_what_was_on)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"deterministic algorithms": False})


@deterministic.variant(turned_off_what_was_on)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"deterministic algorithms": False, "warn_only": False})


@deterministic.variant(turned_off_what_was_on)
@contextlib.contextmanager
def _() -> Iterator[None]:
    workspace = os.environ.get(CUBLAS)
    turn(ON)
    try:
        yield
    finally:
        turn(ON | {"deterministic algorithms": False, "cudnn.deterministic": False, CUBLAS: workspace})


@deterministic.mistake()
@contextlib.contextmanager
def warn_only_lost() -> Iterator[None]:
    """After the block `warn_only` is not as it was. `use_deterministic_algorithms(old)` turns it off, where no
    `warn_only=` is given: who only wanted warnings now gets errors.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"warn_only": False})


@deterministic.mistake(breaks="A variable that was not set is then not set.")
@contextlib.contextmanager
def variable_emptied() -> Iterator[None]:
    """CUBLAS_WORKSPACE_CONFIG was not there before the block, and is empty after it. Empty is a value of its own, and
    child processes inherit it: remove the variable.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: before[CUBLAS] or ""})


@deterministic.mistake(breaks="A variable that was not set is then not set.")
@contextlib.contextmanager
def variable_left() -> Iterator[None]:
    """CUBLAS_WORKSPACE_CONFIG is still set after the block. It is a switch, too, and every process that is started
    later inherits it.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: ON[CUBLAS]})


@deterministic.mistake()
@contextlib.contextmanager
def not_after_an_error() -> Iterator[None]:
    """After a block that raised, the switches stay on. Perhaps `finally` is missing: without it the lines after
    `yield` are skipped.
    """
    before = switches()
    turn(ON)
    yield
    turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def one_switch_not_after_an_error() -> Iterator[None]:
    """After a block that raised, some switches are back, and not all. Perhaps the others stand after `yield`,
    and not in `finally`.
    """
    before = switches()
    turn(ON)
    try:
        yield
        turn(before)
    finally:
        turn(before | {CUBLAS: os.environ.get(CUBLAS)})


@deterministic.variant(one_switch_not_after_an_error)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
        turn(before)
    finally:
        turn(switches() | {name: before[name] for name in ("deterministic algorithms", "warn_only")})


@deterministic.mistake(breaks="Every error comes out, of whatever kind")
@contextlib.contextmanager
def errors_swallowed() -> Iterator[None]:
    """Every error of the block is eaten, perhaps by an `except` without `raise`, or a `return` in `finally`: the
    program goes on as if nothing had happened.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except BaseException:
        pass
    turn(before)


@deterministic.mistake(breaks="`torch.backends.cudnn.deterministic` is True")
@contextlib.contextmanager
def only_the_mode() -> Iterator[None]:
    """`cudnn.deterministic` is off in the block, and CUBLAS_WORKSPACE_CONFIG is not set. Perhaps only the
    mode was turned on: `use_deterministic_algorithms` touches neither the switches of cuDNN nor the workspace
    of cuBLAS.
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


@deterministic.mistake(breaks="`torch.use_deterministic_algorithms` is on")
@contextlib.contextmanager
def only_the_environment() -> Iterator[None]:
    """The mode and cudnn.deterministic are off in the block. Perhaps only the variable was set: it fixes
    cuBLAS's workspace and no more.
    """
    before = switches()
    os.environ[CUBLAS] = ON[CUBLAS]
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake(breaks="`torch.use_deterministic_algorithms` is on, with errors and not with warnings")
@contextlib.contextmanager
def only_warns() -> Iterator[None]:
    """The mode only warns. Perhaps warn_only=True: an operation without a deterministic version then warns and goes
    on, not deterministic.
    """
    before = switches()
    turn(ON | {"warn_only": True})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake(breaks="`torch.utils.deterministic.fill_uninitialized_memory` is True")
@contextlib.contextmanager
def fill_off() -> Iterator[None]:
    """`fill_uninitialized_memory` is off in the block. Without filling, `torch.empty` hands out whatever lay in
    memory, which differs from run to run. NaN is the kinder value: it shows.
    """
    before = switches()
    turn(ON | {"fill_uninitialized_memory": False})
    try:
        yield
    finally:
        turn(before)


_before: Switches = {}


@deterministic.mistake(breaks="Blocks may stand inside each other")
@contextlib.contextmanager
def one_memory_for_all() -> Iterator[None]:
    """The outer block gives back what was set inside it. Perhaps the old values stand in one place for all blocks,
    and the inner block writes over those of the outer one.
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
    """`cudnn.benchmark` is still on in the block: it picks the fastest algorithm by the clock, so the choice may
    differ from run to run.
    """
    before = switches()
    turn(ON | {"cudnn.benchmark": before["cudnn.benchmark"]})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake(breaks="After the block all of these are as they were before it")
@contextlib.contextmanager
def cudnn_not_given_back() -> Iterator[None]:
    """`cudnn.deterministic` is not as it was. It is a switch of its own: the mode does not set it, and nobody else
    gives it back.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"cudnn.deterministic": ON["cudnn.deterministic"]})


# One switch of the six, or some.


def without(*names: str) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """An answer that leaves these switches alone."""

    @contextlib.contextmanager
    def answer() -> Iterator[None]:
        before = switches()
        turn(ON | {name: before[name] for name in names})
        try:
            yield
        finally:
            turn(before)

    return answer


@deterministic.mistake(breaks="`torch.backends.cudnn.deterministic` is True")
@contextlib.contextmanager
def cudnn_deterministic_forgotten() -> Iterator[None]:
    """`cudnn.deterministic` is off in the block. It is a switch of its own: it forbids the algorithms of cuDNN that
    do not repeat themselves. benchmark=False keeps the choice among them the same, and no more.
    """
    before = switches()
    turn(ON | {"cudnn.deterministic": before["cudnn.deterministic"]})
    try:
        yield
    finally:
        turn(before)


@deterministic.variant(cudnn_deterministic_forgotten)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON | {"cudnn.deterministic": False})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake(
    breaks='the environment variable `CUBLAS_WORKSPACE_CONFIG` is ":4096:8" (":16:8" will do, too).'
)
@contextlib.contextmanager
def variable_forgotten() -> Iterator[None]:
    """The environment variable CUBLAS_WORKSPACE_CONFIG is a switch, too: in os.environ it was not set."""
    before = switches()
    turn(ON | {CUBLAS: before[CUBLAS]})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def variable_kept() -> Iterator[None]:
    """A CUBLAS_WORKSPACE_CONFIG that somebody had set stays in the block. Perhaps `setdefault`, or an `if`: not every
    value of it is deterministic, so set it always.
    """
    before = switches()
    turn(ON | {CUBLAS: before[CUBLAS]})
    os.environ.setdefault(CUBLAS, ":4096:8")
    try:
        yield
    finally:
        turn(before)


@deterministic.variant(variable_kept)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON | {CUBLAS: before[CUBLAS] or ":4096:8"})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def fill_kept() -> Iterator[None]:
    """`fill_uninitialized_memory`, which somebody had turned off, is off in the block: set it, and give it
    back.
    """
    before = switches()
    turn(ON | {"fill_uninitialized_memory": before["fill_uninitialized_memory"]})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def warn_only_kept() -> Iterator[None]:
    """Where the mode was on with warnings only, it still only warns in the block. Perhaps it is turned on only if it
    is off, or with the `warn_only` of before: turn it on always, with `warn_only=False`.
    """
    before = switches()
    turn(ON | {"warn_only": before["warn_only"]})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def fill_not_given_back() -> Iterator[None]:
    """`fill_uninitialized_memory` was off before the block, and is on after it."""
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"fill_uninitialized_memory": True})


@deterministic.mistake()
@contextlib.contextmanager
def benchmark_not_given_back() -> Iterator[None]:
    """`cudnn.benchmark` is not as it was: where it was on, the convolutions of the rest of the program are slower."""
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"cudnn.benchmark": False})


@deterministic.mistake()
@contextlib.contextmanager
def variable_always_removed() -> Iterator[None]:
    """CUBLAS_WORKSPACE_CONFIG had been set before the block, and is gone after it. Perhaps it is always removed at the
    end: keep the old text, and set it again.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: None})


@deterministic.mistake()
@contextlib.contextmanager
def set_variable_not_given_back() -> Iterator[None]:
    """CUBLAS_WORKSPACE_CONFIG had been set before the block, and has a different text after it. Perhaps only the case
    was thought of in which it had not been set.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: None if before[CUBLAS] is None else os.environ.get(CUBLAS)})


@deterministic.mistake()
@contextlib.contextmanager
def empty_variable_removed() -> Iterator[None]:
    """CUBLAS_WORKSPACE_CONFIG was empty before the block, and is gone after it. Perhaps `if old:`, which is False for
    an empty text, too: ask `if old is not None`.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: before[CUBLAS] or None})


# The same beside a switch that is forgotten as well.

deterministic.variant(variable_forgotten)(without(CUBLAS, "fill_uninitialized_memory"))
deterministic.variant(variable_forgotten)(without(CUBLAS, "fill_uninitialized_memory", "cudnn.benchmark"))
deterministic.variant(variable_forgotten)(without(CUBLAS, "cudnn.benchmark"))
deterministic.variant(cudnn_deterministic_forgotten)(
    without("cudnn.deterministic", "fill_uninitialized_memory")
)
deterministic.variant(cudnn_deterministic_forgotten)(
    without("cudnn.deterministic", "fill_uninitialized_memory", "cudnn.benchmark")
)
deterministic.variant(cudnn_deterministic_forgotten)(without("cudnn.deterministic", "cudnn.benchmark"))
deterministic.variant(only_the_mode)(without("cudnn.deterministic", CUBLAS))
deterministic.variant(only_the_mode)(without("cudnn.deterministic", CUBLAS, "fill_uninitialized_memory"))
deterministic.variant(only_the_mode)(without("cudnn.deterministic", CUBLAS, "cudnn.benchmark"))
deterministic.variant(fill_kept)(without("fill_uninitialized_memory", "cudnn.benchmark"))


@deterministic.variant(turned_off_what_was_on)
@contextlib.contextmanager
def _() -> Iterator[None]:
    """Only cudnn.deterministic is set to a constant."""
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {"cudnn.deterministic": False})
