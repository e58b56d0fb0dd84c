"""What people write for 01.deterministic: errors, blocks in blocks, and what nobody asked for."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator

import torch
import torch.utils.deterministic

from helpers.labs.reproducibility.deterministic.exercise import (
    CUBLAS,
    ON,
    deterministic,
    switches,
    turn,
)


@deterministic.mistake(
    breaks="Where torch has no deterministic algorithm, its RuntimeError comes out of the block."
)
@contextlib.contextmanager
def runtime_error_swallowed() -> Iterator[None]:
    """The block's RuntimeError does not come out: that is the very error that the block is for. A warning, or a line of
    a log, lets the program go on with an operation that was never done.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except RuntimeError as error:
        warnings.warn(str(error), stacklevel=2)
    finally:
        turn(before)


@deterministic.variant(runtime_error_swallowed)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
    finally:
        turn(before)


@deterministic.mistake(breaks="Every error comes out, of whatever kind")
@contextlib.contextmanager
def exceptions_swallowed() -> Iterator[None]:
    """Errors of the block do not come out, perhaps because of an `except Exception` without `raise`: the program goes
    on as if nothing had happened.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except Exception as error:
        print(error)
    finally:
        turn(before)


@deterministic.mistake(breaks="Every error comes out, of whatever kind")
@contextlib.contextmanager
def error_replaced() -> Iterator[None]:
    """What comes out is a different error from the one that was raised in the block: who waits for the one that was
    raised never sees it.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except Exception as error:
        raise RuntimeError(f"in the deterministic block: {error}") from error
    finally:
        turn(before)


@deterministic.mistake(
    breaks="Where torch has no deterministic algorithm, its RuntimeError comes out of the block."
)
@contextlib.contextmanager
def runtime_error_replaced() -> Iterator[None]:
    """In place of the block's RuntimeError a different error comes out: who waits for torch's own, with its list of
    what is not deterministic, never sees it.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except RuntimeError as error:
        raise NotImplementedError("not deterministic") from error
    finally:
        turn(before)


@deterministic.mistake(breaks="Every error comes out, of whatever kind")
@contextlib.contextmanager
def interrupt_swallowed() -> Iterator[None]:
    """KeyboardInterrupt does not come out of the block: the stop button stops nothing, and the program goes on behind
    the block.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except KeyboardInterrupt:
        print("stopped")
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def only_for_some_errors() -> Iterator[None]:
    """After some errors the switches are back, and not after others: an `except` with a name in it catches no other
    kind. `finally` is for all.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except (Exception, KeyboardInterrupt):
        turn(before)
        raise
    turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def only_for_exceptions() -> Iterator[None]:
    """After KeyboardInterrupt, SystemExit and GeneratorExit the switches stay on. They are no Exception: `except Exception` lets them
    pass. `finally` is for all.
    """
    before = switches()
    turn(ON)
    try:
        yield
    except Exception:
        turn(before)
        raise
    turn(before)


_depth = 0


@deterministic.mistake(breaks="the next block inside turns them on again.")
@contextlib.contextmanager
def only_the_outer_block() -> Iterator[None]:
    """Switches that were turned inside the outer block are not on in the inner one. Perhaps a block inside a
    block does nothing: each must set all, and give back what was before it.
    """
    global _depth
    _depth += 1
    before = switches()
    if _depth == 1:
        turn(ON)
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            turn(before)


@deterministic.mistake(breaks="the next block inside turns them on again.")
@contextlib.contextmanager
def inner_block_looks_at_the_mode() -> Iterator[None]:
    """A switch that was turned inside the outer block, while the mode stayed on, is not on in the inner one. Perhaps a block
    inside a block does nothing where the mode is on: it is one of six switches, set them all.
    """
    global _depth
    before = switches()
    if not before["deterministic algorithms"] or before["warn_only"] or _depth == 0:
        turn(ON)
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def on_already() -> Iterator[None]:
    """Where the mode was on already, other switches are not as they must be in the block. Perhaps the block
    does nothing then. The mode is one of six switches: set them all, always.
    """
    if (
        torch.are_deterministic_algorithms_enabled()
        and not torch.is_deterministic_algorithms_warn_only_enabled()
    ):
        yield
        return
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before)


@deterministic.variant(on_already)
@contextlib.contextmanager
def _() -> Iterator[None]:
    if torch.are_deterministic_algorithms_enabled():
        yield
        return
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def cudnn_turned_off() -> Iterator[None]:
    """cuDNN itself is off inside the block, so that all convolutions take slower kernels. Perhaps by
    torch.backends.cudnn.flags(), whose `enabled` is False unless it is given.
    """
    before = switches()
    with torch.backends.cudnn.flags(benchmark=False, deterministic=True):
        turn(ON)
        try:
            yield
        finally:
            turn(before)


@deterministic.mistake(breaks="Nothing else is changed, inside the block or after it")
@contextlib.contextmanager
def cudnn_turned_on() -> Iterator[None]:
    """cuDNN, which somebody had turned off, is on inside the block. Perhaps by `torch.backends.cudnn.flags`, which sets
    all of its flags, those that nobody asked for, too.
    """
    before = switches()
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
        turn(ON)
        try:
            yield
        finally:
            turn(before)


@deterministic.mistake(breaks="Nothing else is changed, inside the block or after it")
@contextlib.contextmanager
def draws_undone() -> Iterator[None]:
    """A generator was moved by the end of the block. Perhaps what the block draws is undone, so that the same
    numbers come again after it: generators are no switches.
    """
    before = switches()
    with torch.random.fork_rng(devices=[]):
        turn(ON)
        try:
            yield
        finally:
            turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def seeds_too() -> Iterator[None]:
    """A generator was seeded, or moved: nobody asked for it. Which numbers are drawn is one thing, which kernels run
    is another.
    """
    before = switches()
    state = torch.get_rng_state()
    torch.manual_seed(0)
    turn(ON)
    try:
        yield
    finally:
        turn(before)
        torch.set_rng_state(state)


@deterministic.variant(seeds_too)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    torch.manual_seed(0)
    turn(ON)
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake(breaks="A block in which torch is deterministic")
def no_contextmanager() -> Iterator[None]:
    """What was returned is no context manager. A function with a yield is a generator function;
    @contextlib.contextmanager makes a context manager of it.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake(
    breaks='the environment variable `CUBLAS_WORKSPACE_CONFIG` is ":4096:8" (":16:8" will do, too).'
)
@contextlib.contextmanager
def workspace_of_another_kind() -> Iterator[None]:
    """CUBLAS_WORKSPACE_CONFIG was set, and to a value with which cuBLAS need not repeat itself: a size and a count,
    each after a colon, ":4096:8" or ":16:8".
    """
    before = switches()
    turn(ON | {CUBLAS: "4096:8"})
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def one_thread_too() -> Iterator[None]:
    """The number of threads was changed, which nobody asked for: on one machine torch's kernels repeat themselves with
    any fixed number of threads.
    """
    before, threads = switches(), torch.get_num_threads()
    torch.set_num_threads(1)
    turn(ON)
    try:
        yield
    finally:
        turn(before)
        torch.set_num_threads(threads)


@deterministic.mistake()
@contextlib.contextmanager
def hash_seed_too() -> Iterator[None]:
    """PYTHONHASHSEED was changed, which nobody asked for. It is read when Python starts: in this process it changes
    nothing.
    """
    before, salt = switches(), os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    turn(ON)
    try:
        yield
    finally:
        turn(before)
        os.environ.pop("PYTHONHASHSEED")
        if salt is not None:
            os.environ["PYTHONHASHSEED"] = salt


# What the code inside the block did.


@deterministic.mistake()
@contextlib.contextmanager
def not_turned_on_again() -> Iterator[None]:
    """A switch that was on, and that code inside the block turned off, is off after the block. Perhaps only what
    `deterministic()` had itself changed is given back: give back all, whatever stands there now.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        now = switches()
        turn(
            before
            | {
                "deterministic algorithms": before["deterministic algorithms"]
                and now["deterministic algorithms"]
            }
        )


@deterministic.variant(not_turned_on_again)
@contextlib.contextmanager
def _() -> Iterator[None]:
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(switches() | {name: old for name, old in before.items() if old != ON[name]})


@deterministic.mistake()
@contextlib.contextmanager
def removed_variable_raises() -> Iterator[None]:
    """Where code inside the block had changed or removed CUBLAS_WORKSPACE_CONFIG, leaving the block raised an error. Perhaps
    `del os.environ[...]`: `os.environ.pop(..., None)` takes a variable that is gone.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        if before[CUBLAS] is None:
            del os.environ[CUBLAS]
        turn(before)


@deterministic.mistake()
@contextlib.contextmanager
def variable_as_left_inside() -> Iterator[None]:
    """Code inside the block changed or removed CUBLAS_WORKSPACE_CONFIG, and after the block it is not as before it.
    Perhaps it is given back only where it is still there, or still the one that `deterministic()` set.
    """
    before = switches()
    turn(ON)
    try:
        yield
    finally:
        turn(before | {CUBLAS: before[CUBLAS] if CUBLAS in os.environ else None})


@deterministic.mistake()
@contextlib.contextmanager
def float32_precision_too() -> Iterator[None]:
    """The precision of float32 products was changed, which nobody asked for: TF32 repeats itself, it is only less
    exact.
    """
    before, precision = switches(), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    turn(ON)
    try:
        yield
    finally:
        turn(before)
        torch.set_float32_matmul_precision(precision)


@deterministic.mistake()
@contextlib.contextmanager
def mkldnn_too() -> Iterator[None]:
    """`torch.backends.mkldnn.deterministic` was changed, too. It may be a good idea, and is none of the switches that were
    asked for.
    """
    before, old = switches(), torch.backends.mkldnn.deterministic
    torch.backends.mkldnn.deterministic = True
    turn(ON)
    try:
        yield
    finally:
        turn(before)
        torch.backends.mkldnn.deterministic = old


@deterministic.mistake()
@contextlib.contextmanager
def seeds_gpus() -> Iterator[None]:
    """The generator of a GPU was seeded, or moved, and those of the CPU were not. Nobody asked for it: which numbers are drawn is one thing, which
    kernels run is another.
    """
    before = switches()
    torch.cuda.manual_seed_all(0)
    turn(ON)
    try:
        yield
    finally:
        turn(before)


@deterministic.mistake(breaks="Nothing else is changed, inside the block or after it")
@contextlib.contextmanager
def cuda_started() -> Iterator[None]:
    """CUDA has started, which nobody asked for: it takes time, and memory on a GPU. Perhaps the states of the GPUs' generators
    were read, as fork_rng() and torch.cuda.get_rng_state_all() do.
    """
    before, states = switches(), torch.cuda.get_rng_state_all()
    turn(ON)
    try:
        yield
    finally:
        turn(before)
        torch.cuda.set_rng_state_all(states)
