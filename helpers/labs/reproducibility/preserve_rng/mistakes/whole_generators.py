"""What people write for 01.preserve_rng: a generator that is forgotten, or put back by its seed or too late."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import numpy as np
import torch

from helpers.labs.reproducibility.preserve_rng.exercise import preserve_rng


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def torch_only() -> Iterator[None]:
    """random and NumPy are left where the block took them, and torch is back. Perhaps torch.random.fork_rng()
    was used: it keeps torch's generators only.
    """
    with torch.random.fork_rng():
        yield


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def numpy_forgotten() -> Iterator[None]:
    """NumPy's generator is left where the block took it. np.random.get_state() on entry, np.random.set_state(...) on
    exit.
    """
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(for_random)
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def random_forgotten() -> Iterator[None]:
    """Python's own generator is left where the block took it. random.getstate() on entry, random.setstate(...) on
    exit.
    """
    for_numpy = np.random.get_state()
    with torch.random.fork_rng():
        try:
            yield
        finally:
            np.random.set_state(for_numpy)


@preserve_rng.mistake()
@contextmanager
def not_on_error() -> Iterator[None]:
    """After a block that raised, generators are not back. Perhaps what puts them back stands after `yield`,
    which raises then: it belongs in `finally`.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all()
    yield
    random.setstate(for_random)
    np.random.set_state(for_numpy)
    torch.set_rng_state(for_torch)
    torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake()
@contextmanager
def only_for_exceptions() -> Iterator[None]:
    """After KeyboardInterrupt, the stop button, the generators are not back. It is no Exception: `except
    Exception` lets it pass; `finally` does not.
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
    except Exception:
        put_back()
        raise
    else:
        put_back()


@preserve_rng.mistake()
class SwallowsErrors:
    """Every error inside the block is hidden, perhaps by an `except` without `raise`, a `return` in `finally`, or an __exit__
    that returns True: no bug in the block is ever seen, and the stop button does not stop.
    """

    def __enter__(self) -> None:
        self.states = random.getstate(), np.random.get_state(), torch.get_rng_state()
        self.gpus = torch.cuda.get_rng_state_all()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        for put_back, state in zip(
            (random.setstate, np.random.set_state, torch.set_rng_state), self.states, strict=True
        ):
            put_back(state)
        torch.cuda.set_rng_state_all(self.gpus)
        return True


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def states_of_the_exit() -> Iterator[None]:
    """The states that were set are those of the end of the block, so nothing moved back. Perhaps they were read only
    then; or what was kept is the generator itself, which the block moves. Keep copies, taken on entry.
    """
    kept = random, np.random, torch.default_generator
    gpus = torch.cuda.default_generators
    try:
        yield
    finally:
        random.setstate(kept[0].getstate())
        np.random.set_state(kept[1].get_state())
        torch.set_rng_state(kept[2].get_state())
        torch.cuda.set_rng_state_all([generator.get_state() for generator in gpus])


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def seeds_anew_on_exit() -> Iterator[None]:
    """The generators stand at the start of a stream, as after seeding. Perhaps they were seeded on exit: the
    program was somewhere in the middle of its stream, and a state leads back there.
    """
    seed = torch.initial_seed()
    try:
        yield
    finally:
        random.seed(seed)
        np.random.seed(seed % 2**32)
        torch.manual_seed(seed)


@preserve_rng.mistake(
    breaks="the global generators of `random`, NumPy and torch are in the state that they had before it"
)
@contextmanager
def numpy_by_its_seed() -> Iterator[None]:
    """NumPy's generator stands at the start of a stream, as after seeding. Perhaps it was seeded on exit:
    np.random.get_state()[1][0], which many take for the seed, is the first of 624 words of the state.
    """
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    first_word = np.random.get_state()[1][0]
    gpus = torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.seed(first_word)
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake(
    breaks="The whole state: also the second of a pair of normal numbers, which a generator keeps."
)
@contextmanager
def spare_normal_lost() -> Iterator[None]:
    """NumPy is back, but for a spare normal number. It makes them in pairs and keeps the second: the last two fields
    of its state hold it.
    """
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    name, words, place, *_ = np.random.get_state()
    gpus = torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state((name, words, place))
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake()
@contextmanager
def seeds_on_entry() -> Iterator[None]:
    """The generators were moved on entry, perhaps seeded. Nobody asked for that: the block must draw what it would
    have drawn, else every evaluation is the same.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all()
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake()
class OnePlaceForAll:
    """A block was given back the states of a different block. Perhaps they are kept in one place for all blocks, so
    that an inner block writes over those of the outer one; or they come back in the wrong order.
    """

    states: tuple = ()

    def __enter__(self) -> None:
        type(self).states = (
            random.getstate(),
            np.random.get_state(),
            torch.get_rng_state(),
            torch.cuda.get_rng_state_all(),
        )

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for_random, for_numpy, for_torch, gpus = type(self).states
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)


@preserve_rng.mistake()
@contextmanager
def cuda_forgotten() -> Iterator[None]:
    """The generators of the GPUs are left where the block took them. Each GPU has a generator, and dropout there draws
    from it. Perhaps only torch.get_rng_state() was kept, which is the CPU's.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)


@preserve_rng.mistake()
@contextmanager
def current_gpu_only() -> Iterator[None]:
    """One GPU is back and the others are not. torch.cuda.get_rng_state() reads one GPU, the current one unless told
    otherwise; get_rng_state_all() reads all of them.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpu = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        if gpu is not None:
            torch.cuda.set_rng_state(gpu)


@preserve_rng.mistake(breaks="All this holds for torch on the CPU")
@contextmanager
def needs_a_gpu() -> Iterator[None]:
    """Where there is no GPU it raised. Perhaps torch.cuda.get_rng_state() was called: get_rng_state_all() gives an
    empty list there.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpu = torch.cuda.get_rng_state()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state(gpu)


@preserve_rng.mistake(breaks="A block whose draws change nothing outside it")
def no_contextmanager() -> Iterator[None]:
    """What was returned is no context manager. A function with a yield is a generator function;
    @contextlib.contextmanager makes a context manager of it.
    """
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)


# The same in answers that forget the GPUs as well, as people do who have none.


@preserve_rng.variant(torch_only)
@contextmanager
def _() -> Iterator[None]:
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


@preserve_rng.variant(numpy_forgotten)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(for_random)
        torch.set_rng_state(for_torch)


@preserve_rng.variant(random_forgotten)
@contextmanager
def _() -> Iterator[None]:
    for_numpy, for_torch = np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)


@preserve_rng.variant(not_on_error)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(for_random)
    np.random.set_state(for_numpy)
    torch.set_rng_state(for_torch)


@preserve_rng.variant(only_for_exceptions)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    except Exception:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)
        raise
    random.setstate(for_random)
    np.random.set_state(for_numpy)
    torch.set_rng_state(for_torch)


class _Swallows:
    def __enter__(self) -> None:
        self.states = random.getstate(), np.random.get_state(), torch.get_rng_state()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        random.setstate(self.states[0])
        np.random.set_state(self.states[1])
        torch.set_rng_state(self.states[2])
        return True


preserve_rng.variant(SwallowsErrors)(_Swallows)


@preserve_rng.variant(seeds_on_entry)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_numpy, for_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.set_rng_state(for_torch)


class _OnePlace:
    states: tuple = ()

    def __enter__(self) -> None:
        type(self).states = random.getstate(), np.random.get_state(), torch.get_rng_state()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        random.setstate(type(self).states[0])
        np.random.set_state(type(self).states[1])
        torch.set_rng_state(type(self).states[2])


preserve_rng.variant(OnePlaceForAll)(_OnePlace)

_depth = 0


@preserve_rng.mistake(breaks="each gives back what was before it.")
@contextmanager
def only_the_outer_block() -> Iterator[None]:
    """After a block inside a block the generators are left where it took them. Perhaps the blocks are counted, and only the
    outermost gives back: the others must, too.
    """
    global _depth
    states = random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            random.setstate(states[0])
            np.random.set_state(states[1])
            torch.set_rng_state(states[2])
            torch.cuda.set_rng_state_all(states[3])


@preserve_rng.variant(numpy_by_its_seed)
@contextmanager
def _() -> Iterator[None]:
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    first_word = np.random.get_state()[1][0]
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.seed(first_word)
        torch.set_rng_state(for_torch)


@preserve_rng.mistake(breaks="The whole state")
@contextmanager
def numpy_place_lost() -> Iterator[None]:
    """NumPy's 624 words are back, and its place among them is not: it stands at their end. Perhaps the third part of
    np.random.get_state() was not put back.
    """
    for_random, for_torch = random.getstate(), torch.get_rng_state()
    name, words, _, *spare = np.random.get_state()
    gpus = torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(for_random)
        np.random.set_state((name, words, 624, *spare))
        torch.set_rng_state(for_torch)
        torch.cuda.set_rng_state_all(gpus)
