"""What people write for 01.seed_everything."""

from __future__ import annotations

import os
import random

import numpy as np
import torch

from helpers.labs.reproducibility.seed_everything import seed_everything


@seed_everything.wrong_answer(
    "torch_forgotten",
    why="torch.manual_seed is missing: `torch.Generator().manual_seed(seed)` seeds a new object, not the "
    "generator that torch.rand draws from.",
    seen="after it: torch was not seeded",
)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.Generator().manual_seed(seed)


@seed_everything.wrong_answer(
    "numpy_forgotten",
    why="NumPy's global generator is left alone: `np.random.default_rng(seed)` makes a new generator, and "
    "np.random.rand does not draw from it. Transforms of others often use the global one.",
    seen="after it: NumPy was not seeded",
)
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    random.seed(seed)
    np.random.default_rng(seed)
    torch.manual_seed(seed)


@seed_everything.another_form("numpy_forgotten")
def _(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.another_form("numpy_forgotten")
def _(seed: int) -> None:
    random.seed(seed)
    np.random.default_rng(seed)
    torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "torch_only",
    why="torch.manual_seed seeds torch on every device, and nothing else: random and NumPy go on wherever they were.",
    seen="and nothing else: random and NumPy",
)
def _(seed: int) -> None:
    torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "random_forgotten",
    why="Python's own generator is a third one: random.shuffle, and many augmentations, draw from it.",
    seen="after it: random was not seeded.",
)
def _(seed: int) -> None:
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "torch_seed",
    why="torch.seed() takes a fresh seed from the operating system; torch.manual_seed(seed) takes yours.",
    seen="torch was seeded, but not by the seed",
)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.seed()


@seed_everything.wrong_answer(
    "argument_left_out",
    why="random.seed() and np.random.seed() without an argument take fresh entropy: hand them the seed.",
    seen="random was seeded, but not by the seed; NumPy was seeded, but not by the seed.",
)
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed()
    np.random.seed()
    torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "zero_is_no_seed",
    why="`if seed:` is False for 0, and 0 is a seed like any other: test `seed is None` if you must.",
    seen="seed_everything(0) was called twice",
)
def _(seed: int) -> None:
    if seed:
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "constant_seed",
    why="The argument is never used: every seed gives the same run, and a mean over five seeds is one run.",
    seen="one more: random, NumPy, torch",
)
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed(42)
    np.random.seed(42)
    torch.manual_seed(42)


@seed_everything.wrong_answer(
    "few_seeds",
    why="A remainder of a small number folds many seeds into one; every seed must give a run of its own.",
    seen="same draws: a million more",
)
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed(seed % 10_000)
    np.random.seed(seed % 10_000)
    torch.manual_seed(seed % 10_000)


@seed_everything.wrong_answer(
    "salted_hash",
    why="Python salts the hash of text anew in each process, so that the same seed is another one tomorrow.",
    seen="with another salt in the hash",
)
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    key = hash(f"seed {seed}") % 2**32
    random.seed(key)
    np.random.seed(key)
    torch.manual_seed(key)


@seed_everything.wrong_answer(
    "wraps_around",
    why="A seed that does not fit was made to fit, so that two seeds share a run and nobody is told. Refuse it.",
    seen="but nothing was raised",
)
def _(seed: int) -> None:
    seed = seed % 2**32
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "assert_for_range",
    why="An assert raises AssertionError, and `python -O` leaves it out: use `raise ValueError`.",
    seen="but AssertionError was raised",
)
def _(seed: int) -> None:
    assert 0 <= seed < 2**32
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "cpu_only",
    why="torch.default_generator is the CPU's generator; each GPU has one of its own. torch.manual_seed reaches all.",
    seen="the first is not seeded, the second not seeded",
)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)


@seed_everything.wrong_answer(
    "current_gpu_only",
    why="torch.cuda.manual_seed seeds the current GPU only; the other one is torch.cuda.manual_seed_all.",
    seen="the first is seeded, the second not seeded",
)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    torch.cuda.manual_seed(seed)


@seed_everything.wrong_answer(
    "starts_cuda",
    why="Seeding may wait: torch keeps the seed and hands it to the GPUs when the program first uses one.",
    seen="The answer started CUDA.",
)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.init()


@seed_everything.wrong_answer(
    "sets_pythonhashseed",
    why="PYTHONHASHSEED is read once, when Python starts: setting it here changes nothing in this process.",
    seen="left this changed: environment variables",
)
def _(seed: int) -> None:
    import os

    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.wrong_answer(
    "turns_switches",
    why="Seeds and deterministic kernels are two things: switches that slow training do not belong into seeding.",
    seen="left this changed: cudnn flags",
)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = True


# The same mistakes in an answer that leaves the test of the range to NumPy, or has none.


@seed_everything.another_form("argument_left_out")
def _(seed: int) -> None:
    random.seed()
    np.random.seed()
    torch.manual_seed(seed)


@seed_everything.another_form("constant_seed")
def _(seed: int) -> None:
    random.seed(42)
    np.random.seed(42)
    torch.manual_seed(42)


@seed_everything.another_form("few_seeds")
def _(seed: int) -> None:
    random.seed(seed % 10_000)
    np.random.seed(seed % 10_000)
    torch.manual_seed(seed % 10_000)


@seed_everything.another_form("salted_hash")
def _(seed: int) -> None:
    key = hash(str(seed)) % 2**32
    random.seed(key)
    np.random.seed(key)
    torch.manual_seed(key)


@seed_everything.another_form("turns_switches")
def _(seed: int) -> None:
    """What is pasted from project to project."""
    import os

    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


@seed_everything.another_form("sets_pythonhashseed")
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.another_form("torch_forgotten")
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.cuda.manual_seed_all(seed)
