"""Workers as torch starts them, played in this process or in a fork (exercise 01.seed_worker)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset

from helpers.check.trial import Trial
from helpers.labs.reproducibility.shared.forks import in_a_fork
from helpers.labs.reproducibility.shared.machines import elsewhere, worker

WORKERS = 5
MANY = 70  # workers of one epoch

DRAWS = 4


class Noisy(Dataset):
    """A dataset whose samples are noise from its own generator: `rng`, a numpy.random.Generator."""

    def __init__(self, length: int, seed: int) -> None:
        self.length, self.rng = length, np.random.default_rng(seed)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[int, float]:
        """The number of the worker, and what it draws."""
        return torch.utils.data.get_worker_info().id, float(self.rng.random())


class Start(NamedTuple):
    """How one worker starts. noise: its dataset's first draws; others: first draws of the global generators.

    asked: what the hook read ("seed", "dataset"). moved: the global generators that the hook moved.
    """

    noise: tuple[float, ...]
    others: dict[str, float]
    asked: frozenset[str]
    moved: tuple[str, ...]
    shared: tuple[str, ...]


def start(
    answer: Callable[[int], None],
    trial: Trial,
    base_seed: int,
    id: int,
    dataset_seed: int = 5,
    ballast: int = 0,
    workers: int = WORKERS,
) -> Start:
    """Plays one worker: seeds as torch does, calls the hook, draws. ballast: objects that push the dataset away."""
    _kept = [(object(), Noisy(1, 0)) for _ in range(ballast)]
    dataset = Noisy(10, dataset_seed)
    with worker(base_seed, id, workers, dataset) as read:
        _nudge()  # so that a hook that seeds them as torch has done is seen to move them
        before = _places()
        answer(id)
        after = _places()
        moved = tuple(name for name, place in after.items() if place != before[name])
    noise = drawn(dataset, trial)
    shared = tuple(name for name, place in _places().items() if place != after[name])
    return Start(noise, _globals(), frozenset(read), moved, shared)


def started(answer: Callable[[int], None], trial: Trial, *args: int, **kwargs: int) -> Start:
    """The same in a process of its own, as every worker is one: what a hook counts or keeps begins anew there."""
    return in_a_fork(lambda: start(answer, trial, *args, **kwargs))


def others(answer: Callable[[int], None], trial: Trial, base_seed: int, id: int) -> dict[str, float]:
    """`start(...).others` alone, in about half the time."""
    dataset = Noisy(10, 5)
    with worker(base_seed, id, WORKERS, dataset):
        _nudge()
        answer(id)
    drawn(dataset, trial)
    return _globals()


def begun(answer: Callable[[int], None], base: int, id: int, epoch: int) -> Noisy:
    """A worker's dataset as the hook leaves it, played in this process with as little as may be."""
    dataset = Noisy(10, 5)
    with elsewhere(pid=MANY * epoch + id, hours=epoch), worker(base, id, MANY, dataset):
        answer(id)
    return dataset


def played(answer: Callable[[int], None], trial: Trial, *args: int) -> tuple[float, ...]:
    """A worker's first draws. args: base seed, id, epoch."""
    return drawn(begun(answer, *args), trial)


def alone(answer: Callable[[int], None], trial: Trial, *args: int) -> tuple[float, ...]:
    """The same in a process of its own."""
    return in_a_fork(lambda: played(answer, trial, *args))


def drawn(dataset: Noisy, trial: Trial) -> tuple[float, ...]:
    """The first draws of a dataset."""
    return tuple(generator_of(dataset, trial).random(DRAWS).tolist())


def generator_of(dataset: Noisy, trial: Trial) -> np.random.Generator:
    """A dataset's `rng`; wrong if it is no Generator any more."""
    if not isinstance(dataset.rng, np.random.Generator):
        named = dataset.rng if hasattr(dataset.rng, "__name__") else type(dataset.rng)
        kind = f"{named.__module__}.{named.__name__}" if hasattr(named, "__module__") else named.__name__
        trial.fail(
            f"After the hook dataset.rng is no numpy.random.Generator any more, but {kind}: "
            "the dataset calls rng.integers and rng.random.",
            expected="a numpy.random.Generator, as np.random.default_rng makes it",
            got=kind,
            observed=("kind", kind),
        )
    return dataset.rng


def _globals() -> dict[str, float]:
    return {
        "random": random.random(),
        "NumPy's global generator": float(np.random.random()),
        "torch": torch.rand((), dtype=torch.float64, device="cpu").item(),
    }


def _nudge() -> None:
    """Moves each global generator a little, and leaves the words of its state as the seed made them: hooks read them."""
    version, words, gauss = random.getstate()
    random.setstate((version, (*words[:-1], words[-1] - 1), gauss))
    kind, key, place, *rest = np.random.get_state(legacy=True)
    np.random.set_state((kind, key, place - 1, *rest))
    torch.rand((), device="cpu")


def _places() -> dict[str, Any]:
    """Where each global generator stands; the first words of a state tell it well enough."""
    _, words, place, *_ = np.random.get_state(legacy=True)
    return {
        "random": hash(random.getstate()),
        "NumPy's global generator": (words[:2].tobytes(), place),
        "torch": torch.default_generator.get_state().numpy().tobytes(),
    }
