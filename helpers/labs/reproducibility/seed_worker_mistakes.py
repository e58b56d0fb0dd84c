"""What people write for 01.seed_worker."""

from __future__ import annotations

import os
import random
import time

import numpy as np
import torch
from torch.utils.data import get_worker_info

from helpers.labs.reproducibility.seed_worker import seed_worker


@seed_worker.wrong_answer(
    "worker_id_is_the_seed",
    why="The number of a worker is the same in every epoch, so that epoch 2 replays epoch 1. Use its seed.",
    seen="epoch 2 replays epoch 1",
)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(worker_id)


@seed_worker.wrong_answer(
    "constant_seed",
    why="A constant gives every worker the same noise in every epoch: augmentation that augments nothing.",
    seen="augmentation that augments nothing",
)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(42)


@seed_worker.wrong_answer(
    "floor_division",
    why="`// 2**32` keeps the high half of the seed, and the worker's number is in the low half: "
    "the famous recipe says `% 2**32`, a remainder.",
    seen="a remainder",
)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed() // 2**32)


@seed_worker.wrong_answer(
    "base_seed_only",
    why="info.seed - info.id is the base seed of the epoch, which all its workers share: leave the number in.",
    seen="which all its workers share",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - info.id)


@seed_worker.wrong_answer(
    "global_generator_only",
    why="The recipe of the documentation seeds NumPy's global generator. A Generator that the dataset owns "
    "never looks at that one, and torch has seeded it already (since 1.9).",
    seen="what the hook seeded is",
)
def _(worker_id: int) -> None:
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


@seed_worker.wrong_answer(
    "another_object",
    why="A new generator in a local name, or in the notebook's own dataset, is not the one that this worker "
    "draws from: assign it to get_worker_info().dataset.rng.",
    seen="though the hook asked for the worker's seed",
)
def _(worker_id: int) -> None:
    _MAIN.rng = np.random.default_rng(torch.initial_seed())


class _Dataset:
    rng = np.random.default_rng(0)


_MAIN = _Dataset()


@seed_worker.wrong_answer(
    "local_name",
    why="`rng = ...` gives a new value to a local name; the attribute of the dataset still holds the old generator.",
    seen="though the hook looked at the worker's dataset",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    rng = info.dataset.rng
    rng = np.random.default_rng(info.seed)  # noqa: F841


@seed_worker.wrong_answer(
    "spawned_from_its_own",
    why="Children of the dataset's own generator differ by worker, but the workers of every epoch start from "
    "the same parent, which never moves.",
    seen="which never moves",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = info.dataset.rng.spawn(info.num_workers)[worker_id]


@seed_worker.wrong_answer(
    "old_randomstate",
    why="RandomState is NumPy's old interface, without integers(); the dataset holds a Generator.",
    seen="but RandomState",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.RandomState(info.seed % 2**32)


@seed_worker.wrong_answer(
    "fresh_entropy",
    why="The seed comes from outside the run (the operating system's entropy, or the clock): each worker "
    "differs, and no run can be repeated.",
    seen="in the same circumstances",
)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng()


@seed_worker.wrong_answer(
    "wall_clock",
    why="The time of day is another one in the next run; and two workers may start in one second.",
    seen="at another time",
)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(int(time.time()) + worker_id)


@seed_worker.wrong_answer(
    "process_id",
    why="The operating system hands out process ids as it likes: the next run gets others.",
    seen="as a process with another number",
)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(os.getpid() * 1000 + worker_id)


@seed_worker.wrong_answer(
    "salted_hash",
    why="Python salts the hash of text anew in each run. Workers of one run share the salt; two runs do not.",
    seen="another salt in its hashes",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(abs(hash(f"{info.seed}-{worker_id}")))


@seed_worker.wrong_answer(
    "few_seeds",
    why="A remainder of a small number leaves few streams: with 1000 of them, some 40 workers suffice for two to share one.",
    seen="leaves few streams",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed % 1000)


@seed_worker.wrong_answer(
    "mixed_by_xor",
    why="info.seed holds the worker's number already: xor with it takes it out again for even base seeds.",
    seen="takes it out again",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed ^ worker_id)


@seed_worker.wrong_answer(
    "multiplied",
    why="Worker 0 draws the same in every epoch: a product with its number, or a test `if worker_id`, forgets the seed "
    "where the number is 0.",
    seen="forgets the seed where the number is 0",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed * worker_id)


@seed_worker.wrong_answer(
    "shifted_stream",
    why="Seeds of neighbours differ by 1, so that advance(seed) starts one worker a single draw behind the other: "
    "it repeats all its numbers.",
    seen="one of them some draws later",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng.bit_generator.advance(info.seed)


@seed_worker.wrong_answer(
    "global_generators_reset",
    why="A call of seed_everything(worker_id) in the hook puts random, NumPy and torch back to the same place in "
    "each epoch. They were right before.",
    seen="numbers in every epoch. torch had seeded it well",
)
def _(worker_id: int) -> None:
    random.seed(worker_id)
    np.random.seed(worker_id)
    torch.manual_seed(worker_id)
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


@seed_worker.wrong_answer(
    "global_generators_constant",
    why="One constant seed in the hook makes all workers draw alike from random, NumPy or torch. They were right before.",
    seen="numbers in every worker and in every epoch. torch had seeded it well",
)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


# The same mistakes beside a constant seed, or a worker's number, for the global generators.


@seed_worker.another_form("global_generator_only")
def _(worker_id: int) -> None:
    np.random.seed(worker_id)


@seed_worker.another_form("global_generator_only")
def _(worker_id: int) -> None:
    np.random.seed(0)


@seed_worker.another_form("global_generator_only")
def _(worker_id: int) -> None:
    np.random.seed(np.random.get_state()[1][0] + worker_id)


@seed_worker.another_form("worker_id_is_the_seed")
def _(worker_id: int) -> None:
    random.seed(worker_id)
    np.random.seed(worker_id)
    torch.manual_seed(worker_id)
    get_worker_info().dataset.rng = np.random.default_rng(worker_id)
