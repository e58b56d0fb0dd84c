"""What people write for 01.seed_worker, and why it is wrong."""

from __future__ import annotations

import os
import random
import time

import numpy as np
import torch
from torch.utils.data import get_worker_info

from helpers.labs.reproducibility.seed_worker.exercise import seed_worker


@seed_worker.mistake()
def worker_id_is_the_seed(worker_id: int) -> None:
    """The number of a worker is the same in every epoch, so that epoch 2 replays epoch 1. Use its seed."""
    get_worker_info().dataset.rng = np.random.default_rng(worker_id)


@seed_worker.mistake()
def constant_seed(worker_id: int) -> None:
    """A constant gives every worker the same noise in every epoch: augmentation that augments nothing."""
    get_worker_info().dataset.rng = np.random.default_rng(42)


@seed_worker.mistake()
def floor_division(worker_id: int) -> None:
    """`// 2**32` keeps the high half of the seed, and the worker's number is in the low half: the famous
    recipe says `% 2**32`, a remainder.
    """
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed() // 2**32)


@seed_worker.mistake()
def base_seed_only(worker_id: int) -> None:
    """info.seed - info.id is the base seed of the epoch, which all its workers share: leave the number in."""
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - info.id)


@seed_worker.mistake()
def global_generator_only(worker_id: int) -> None:
    """The recipe of the documentation seeds NumPy's global generator. A Generator that the dataset owns never
    looks at that one, and torch has seeded it already (since 1.9).
    """
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


@seed_worker.mistake()
def another_object(worker_id: int) -> None:
    """A new generator in a local name, or in the notebook's own dataset, is not the one that this worker
    draws from: assign it to get_worker_info().dataset.rng.
    """
    _MAIN.rng = np.random.default_rng(torch.initial_seed())


class _Dataset:
    rng = np.random.default_rng(0)


_MAIN = _Dataset()


@seed_worker.mistake()
def local_name(worker_id: int) -> None:
    """`rng = ...` gives a new value to a local name; the attribute of the dataset still holds the old
    generator.
    """
    info = get_worker_info()
    rng = info.dataset.rng
    rng = np.random.default_rng(info.seed)  # noqa: F841


@seed_worker.mistake()
def spawned_from_its_own(worker_id: int) -> None:
    """Children of the dataset's own generator differ by worker, but the workers of every epoch start from the
    same parent, which never moves.
    """
    info = get_worker_info()
    info.dataset.rng = info.dataset.rng.spawn(info.num_workers)[worker_id]


@seed_worker.mistake()
def old_randomstate(worker_id: int) -> None:
    """RandomState is NumPy's old interface, without integers(); the dataset holds a Generator."""
    info = get_worker_info()
    info.dataset.rng = np.random.RandomState(info.seed % 2**32)


@seed_worker.mistake()
def fresh_entropy(worker_id: int) -> None:
    """The seed comes from outside the run (the operating system's entropy, or the clock): each worker
    differs, and no run can be repeated.
    """
    get_worker_info().dataset.rng = np.random.default_rng()


@seed_worker.mistake()
def wall_clock(worker_id: int) -> None:
    """The time of day is another one in the next run; and two workers may start in one second."""
    get_worker_info().dataset.rng = np.random.default_rng(int(time.time()) + worker_id)


@seed_worker.mistake()
def process_id(worker_id: int) -> None:
    """The operating system hands out process ids as it likes: the next run gets others."""
    get_worker_info().dataset.rng = np.random.default_rng(os.getpid() * 1000 + worker_id)


@seed_worker.mistake()
def salted_hash(worker_id: int) -> None:
    """Python salts the hash of text anew in each run. Workers of one run share the salt; two runs do not."""
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(abs(hash(f"{info.seed}-{worker_id}")))


@seed_worker.mistake()
def few_seeds(worker_id: int) -> None:
    """A remainder of a small number leaves few streams: with 1000 of them, some 40 workers suffice for two to
    share one.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed % 1000)


@seed_worker.mistake()
def mixed_by_xor(worker_id: int) -> None:
    """info.seed holds the worker's number already: xor with it takes it out again for even base seeds."""
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed ^ worker_id)


@seed_worker.mistake()
def multiplied(worker_id: int) -> None:
    """Worker 0 draws the same in every epoch: a product with its number, or a test `if worker_id`, forgets
    the seed where the number is 0.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed * worker_id)


@seed_worker.mistake()
def shifted_stream(worker_id: int) -> None:
    """Seeds of neighbours differ by 1, so that advance(seed) starts one worker a single draw behind the
    other: it repeats all its numbers.
    """
    info = get_worker_info()
    info.dataset.rng.bit_generator.advance(info.seed)


@seed_worker.mistake()
def global_generators_reset(worker_id: int) -> None:
    """A call of seed_everything(worker_id) in the hook puts random, NumPy and torch back to the same place in
    each epoch. They were right before.
    """
    random.seed(worker_id)
    np.random.seed(worker_id)
    torch.manual_seed(worker_id)
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


@seed_worker.mistake()
def global_generators_constant(worker_id: int) -> None:
    """One constant seed in the hook makes all workers draw alike from random, NumPy or torch. They were right
    before.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


# The same mistakes beside a constant seed, or a worker's number, for the global generators.


@seed_worker.variant(global_generator_only)
def _(worker_id: int) -> None:
    np.random.seed(worker_id)


@seed_worker.variant(global_generator_only)
def _(worker_id: int) -> None:
    np.random.seed(0)


@seed_worker.variant(global_generator_only)
def _(worker_id: int) -> None:
    np.random.seed(np.random.get_state()[1][0] + worker_id)


@seed_worker.variant(worker_id_is_the_seed)
def _(worker_id: int) -> None:
    random.seed(worker_id)
    np.random.seed(worker_id)
    torch.manual_seed(worker_id)
    get_worker_info().dataset.rng = np.random.default_rng(worker_id)
