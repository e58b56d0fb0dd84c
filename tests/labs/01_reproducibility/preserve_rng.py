"""Right answers to 01.preserve_rng, in different shapes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ContextDecorator, ExitStack, contextmanager
from typing import ClassVar

import numpy as np
import torch


@contextmanager
def preserve_by_a_generator() -> Iterator[None]:
    """All states in one tuple."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        torch.cuda.set_rng_state_all(states[3])


class PreserveByAClass(ContextDecorator):
    """A stack of states, so that one object may be used again inside its own block; CUDA only where it runs."""

    def __init__(self) -> None:
        self._stack: list[tuple] = []

    def __enter__(self) -> PreserveByAClass:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        numpy = np.random.get_state(legacy=False)
        self._stack.append((random.getstate(), numpy, torch.default_generator.get_state(), cuda))
        return self

    def __exit__(self, *error: object) -> None:
        for_random, for_numpy, for_torch, cuda = self._stack.pop()
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.default_generator.set_state(for_torch)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)


@contextmanager
def preserve_with_torchs_own() -> Iterator[None]:
    """fork_rng for torch, two lines for the others."""
    with torch.random.fork_rng():
        for_random, for_numpy = random.getstate(), np.random.get_state()
        try:
            yield
        finally:
            random.setstate(for_random)
            np.random.set_state(for_numpy)


def preserve_with_callbacks() -> ExitStack:
    """An ExitStack with what is to be done on exit; GPUs one by one."""
    stack = ExitStack()
    stack.callback(random.setstate, random.getstate())
    stack.callback(np.random.set_state, np.random.get_state())
    stack.callback(torch.set_rng_state, torch.get_rng_state())
    for device in range(torch.cuda.device_count()):
        stack.callback(torch.cuda.set_rng_state, torch.cuda.get_rng_state(device), device)
    return stack


class PreserveByCopies:
    """New generators hold the states; the class has one stack of them for all its blocks."""

    kept: ClassVar[list] = []

    def __enter__(self) -> None:
        python, numpy = random.Random(), np.random.RandomState()
        python.setstate(random.getstate())
        numpy.set_state(np.random.get_state())
        every = [torch.default_generator, *torch.cuda.default_generators]
        PreserveByCopies.kept.append((python, numpy, [(one, one.clone_state()) for one in every]))

    def __exit__(self, *_: object) -> bool:
        python, numpy, clones = PreserveByCopies.kept.pop()
        random.setstate(python.getstate())
        np.random.set_state(numpy.get_state())
        for generator, clone in clones:
            generator.set_state(clone.get_state())
        return False


def preserve_by_pairs():
    """Pairs of functions, and a closing stack around a plain generator function."""
    pairs = [
        (random.getstate, random.setstate),
        (np.random.get_state, np.random.set_state),
        (torch.get_rng_state, torch.set_rng_state),
        (torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all),
    ]

    def block():
        before = [(put, get()) for get, put in pairs]
        try:
            yield
        except BaseException:
            raise
        finally:
            for put, state in reversed(before):
                put(state)

    return contextmanager(block)()


RIGHT = [
    preserve_by_a_generator,
    PreserveByAClass,
    preserve_with_torchs_own,
    preserve_with_callbacks,
    PreserveByCopies,
    preserve_by_pairs,
]
