"""What people write for 01.preserve_rng: errors, GPUs, and a part of a state."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from helpers.labs.reproducibility.preserve_rng.exercise import TORCH_SPARE, preserve_rng
from helpers.labs.reproducibility.preserve_rng.mistakes.whole_generators import (
    not_on_error,
    states_of_the_exit,
)


@contextmanager
def kept() -> Iterator[None]:
    """Right, for all generators: mistakes build on it."""
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)


@contextmanager
def kept_on_the_cpu() -> Iterator[None]:
    """Right but for GPUs: mistakes build on it."""
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)


@preserve_rng.mistake()
@contextmanager
def exceptions_swallowed() -> Iterator[None]:
    """Errors inside the block do not come out, perhaps because of an `except Exception` without `raise`: the program
    goes on as if the validation had been done.
    """
    with kept():
        try:
            yield
        except Exception as error:
            print(error)


@preserve_rng.mistake()
@contextmanager
def error_replaced() -> Iterator[None]:
    """What comes out is a different error from the one that was raised in the block: who waits for a KeyError never
    sees it. `raise` alone passes on the one that came.
    """
    with kept():
        try:
            yield
        except Exception as error:
            raise RuntimeError(f"in preserve_rng: {error}") from error


@preserve_rng.variant(error_replaced)
@contextmanager
def _() -> Iterator[None]:
    with kept():
        try:
            yield
        except BaseException as error:
            raise RuntimeError(f"in preserve_rng: {error}") from error


@preserve_rng.mistake(
    breaks="The whole state: also the second of a pair of normal numbers, which a generator keeps."
)
@contextmanager
def pythons_spare_lost() -> Iterator[None]:
    """random is back, but for a spare normal number. random.gauss makes them in pairs and keeps the second: the third
    field of its state holds it.
    """
    version, words, _ = random.getstate()
    with kept():
        yield
    random.setstate((version, words, None))


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def torch_forgotten() -> Iterator[None]:
    """torch's own generator is left where the block took it. torch.get_rng_state() on entry, torch.set_rng_state(...)
    on exit.
    """
    for_random, for_numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def torch_by_its_seed() -> Iterator[None]:
    """torch stands at the start of a stream, as after seeding. Perhaps it was seeded on exit with
    torch.initial_seed(): the program was somewhere in the middle of its stream.
    """
    for_random, for_numpy = random.getstate(), np.random.get_state()
    seed = torch.initial_seed()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.manual_seed(seed)


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def moved_around_the_block() -> Iterator[None]:
    """A generator stands neither where it stood nor where the block took it. Perhaps a number was drawn, or a seed set,
    before the state was kept, or after it came back. Or the state is kept once for all blocks, and not at the start of each.
    """
    seed = int(torch.randint(2**31, ()))
    with kept():
        torch.manual_seed(seed)
        yield


@preserve_rng.variant(moved_around_the_block)
@contextmanager
def _() -> Iterator[None]:
    seed = random.getrandbits(31)
    with kept():
        random.seed(seed)
        yield


@preserve_rng.mistake(breaks="and on every GPU if CUDA has started before the block:")
@contextmanager
def all_states_to_one_gpu() -> Iterator[None]:
    """The first GPU stands somewhere else, and the others where the block left them. Perhaps all states were set without a
    device, so that each went to the current GPU: torch.cuda.set_rng_state_all gives each GPU its own.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        for state in gpus:
            torch.cuda.set_rng_state(state)


@preserve_rng.mistake()
@contextmanager
def gpus_not_on_error() -> Iterator[None]:
    """If the block raises, the generators of the GPUs stay where the block took them: all of it belongs in `finally`."""
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
    torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake()
@contextmanager
def current_gpus_state_for_all() -> Iterator[None]:
    """One GPU is back, and the others stand somewhere else. Perhaps the state of one was given to all of
    them: each has a state of its own, as torch.cuda.get_rng_state_all() reads them.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpu = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        for device in range(torch.cuda.device_count()):
            torch.cuda.set_rng_state(gpu, device)


@preserve_rng.variant(states_of_the_exit)
@contextmanager
def _() -> Iterator[None]:
    try:
        yield
    finally:
        random.setstate(random.getstate())
        np.random.set_state(np.random.get_state())
        torch.set_rng_state(torch.get_rng_state())


@preserve_rng.variant(not_on_error)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        yield
    random.setstate(for_random)
    np.random.set_state(for_numpy)


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def random_by_its_seed() -> Iterator[None]:
    """random stands at the start of a stream, as after seeding. Perhaps it was seeded on exit:
    random.getstate() and setstate lead back.
    """
    first_word = random.getstate()[1][0]
    with kept():
        yield
    random.seed(first_word)


@preserve_rng.mistake()
@contextmanager
def only_for_some_errors() -> Iterator[None]:
    """After some errors the generators are back, and not after others: an `except` with a name in it catches no other
    kind. `finally` is for all.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all()

    def put_back() -> None:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)

    try:
        yield
    except (RuntimeError, KeyboardInterrupt):
        put_back()
        raise
    put_back()


@preserve_rng.variant(moved_around_the_block)
@contextmanager
def _() -> Iterator[None]:
    np.random.randint(2**31)
    with kept():
        yield


@preserve_rng.variant(moved_around_the_block)
@contextmanager
def _() -> Iterator[None]:
    torch.rand(()), random.random(), np.random.rand()
    with kept():
        yield


@preserve_rng.variant(moved_around_the_block)
@contextmanager
def _() -> Iterator[None]:
    torch.rand(())
    with kept():
        yield


@preserve_rng.variant(moved_around_the_block)
@contextmanager
def _() -> Iterator[None]:
    random.random()
    with kept():
        yield


@preserve_rng.variant(moved_around_the_block)
@contextmanager
def _() -> Iterator[None]:
    with kept():
        yield
    torch.rand(()), random.random(), np.random.rand()


@preserve_rng.mistake(
    breaks="The whole state: also the second of a pair of normal numbers, which a generator keeps."
)
@contextmanager
def torchs_spare_lost() -> Iterator[None]:
    """torch's uniform numbers are back, and its next normal number is not. It makes them in pairs and keeps the second:
    the last bytes of its state hold it. torch.set_rng_state puts back the whole.
    """
    with kept():
        yield
    state = torch.get_rng_state()
    state[TORCH_SPARE:] = 0
    torch.set_rng_state(state)


@preserve_rng.mistake()
@contextmanager
def interrupt_swallowed() -> Iterator[None]:
    """KeyboardInterrupt does not come out of the block: the stop button stops nothing, and the program goes on behind
    the block.
    """
    with kept():
        try:
            yield
        except KeyboardInterrupt:
            print("stopped")


@preserve_rng.mistake()
@contextmanager
def exits_replaced() -> Iterator[None]:
    """KeyboardInterrupt, SystemExit and GeneratorExit do not come out as what they are: in their place a different
    error does, and who ends a program by them cannot.
    """
    with kept():
        try:
            yield
        except Exception:
            raise
        except BaseException as error:
            raise RuntimeError("interrupted") from error


_gpus: list = []


@preserve_rng.mistake()
@contextmanager
def gpus_in_one_place() -> Iterator[None]:
    """An outer block did not give the GPUs back the states from before it, though it did so for the CPU. Perhaps the
    GPUs' are kept in one place for all blocks, so that an inner block writes over those of the outer one.
    """
    with kept():
        _gpus[:] = torch.cuda.get_rng_state_all()
        try:
            yield
        finally:
            last = list(_gpus)
    torch.cuda.set_rng_state_all(last)


@preserve_rng.mistake()
@contextmanager
def gpus_only_for_exceptions() -> Iterator[None]:
    """After KeyboardInterrupt, SystemExit and GeneratorExit the generators of the GPUs stay where the block took them.
    They are no Exception: `except Exception` lets them pass.
    """
    gpus = torch.cuda.get_rng_state_all()
    with kept_on_the_cpu():
        try:
            yield
        except Exception:
            torch.cuda.set_rng_state_all(gpus)
            raise
        torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake()
@contextmanager
def gpus_moved_on_entry() -> Iterator[None]:
    """The generators of the GPUs were moved on entry, perhaps seeded, those of the CPU were not. The block must draw
    what it would have drawn.
    """
    with kept():
        for gpu in torch.cuda.default_generators:
            gpu.manual_seed(0)
        yield
