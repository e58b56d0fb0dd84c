"""Right answers to 01.seed_worker, in different shapes."""

from __future__ import annotations

import random

import numpy as np
import torch


def worker_by_its_seed(worker_id: int) -> None:
    """The plain answer."""
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


def worker_in_place(worker_id: int) -> None:
    """Keeps the generator object, gives it another state; limits threads, as many hooks do."""
    torch.set_num_threads(1)
    rng = torch.utils.data.get_worker_info().dataset.rng
    rng.bit_generator.state = type(rng.bit_generator)(torch.initial_seed()).state


def worker_by_a_sequence(worker_id: int) -> None:
    """Base seed and number in a SeedSequence; the global generators get seeds of their own, too."""
    info = torch.utils.data.get_worker_info()
    sequence = np.random.SeedSequence(info.seed - info.id, spawn_key=(worker_id,))
    info.dataset.rng = np.random.default_rng(sequence)
    random.seed(info.seed)
    np.random.seed(info.seed % 2**32)
    torch.manual_seed(info.seed)


def worker_by_32_bits(worker_id: int) -> None:
    """The documentation's recipe, with the dataset's generator."""
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)
    torch.utils.data.get_worker_info().dataset.rng = np.random.Generator(np.random.PCG64(seed))


def worker_by_a_global_draw(worker_id: int) -> None:
    """torch has seeded NumPy's global generator by worker and epoch: draw the seed from it."""
    torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng(np.random.randint(2**31))


def worker_with_its_own_too(worker_id: int) -> None:
    """Mixes the dataset's own seed in, so that two datasets differ."""
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng([info.seed, int(info.dataset.rng.integers(2**63))])


def worker_once(worker_id: int) -> None:
    """Does its work once in a process: a worker is one, and starts once."""
    if not _DONE:
        _DONE.append(worker_id)
        worker_by_its_seed(worker_id)


_DONE: list[int] = []


def worker_by_a_kept_generator(worker_id: int) -> None:
    """One Generator for the module, over NumPy's Twister, which gets its state from the worker's."""
    _OWN.bit_generator.state = np.random.MT19937([worker_id, torch.initial_seed() - worker_id]).state
    torch.utils.data.get_worker_info().dataset.rng = _OWN


_OWN = np.random.Generator(np.random.MT19937(0))


class WorkerByChildren:
    """A callable object: the worker's child of the epoch's sequence; it also takes its number by name."""

    def __call__(self, worker_id: int) -> None:
        info = torch.utils.data.get_worker_info()
        children = np.random.SeedSequence(info.seed - worker_id).spawn(info.num_workers)
        setattr(info.dataset, "rng", np.random.Generator(np.random.Philox(children[worker_id])))  # noqa: B010


RIGHT = [
    worker_by_its_seed,
    worker_in_place,
    worker_by_a_sequence,
    worker_by_32_bits,
    worker_by_a_global_draw,
    worker_with_its_own_too,
    worker_once,
    worker_by_a_kept_generator,
    WorkerByChildren(),
]
