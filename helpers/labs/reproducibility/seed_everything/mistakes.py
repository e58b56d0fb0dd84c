"""What people write for 01.seed_everything, and why it is wrong."""

from __future__ import annotations

import os
import random

import numpy as np
import torch

from helpers.labs.reproducibility.seed_everything.exercise import seed_everything


@seed_everything.mistake()
def torch_forgotten(seed: int) -> None:
    """torch.manual_seed is missing: `torch.Generator().manual_seed(seed)` seeds a new object, not the
    generator that torch.rand draws from.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.Generator().manual_seed(seed)


@seed_everything.mistake()
def numpy_forgotten(seed: int) -> None:
    """NumPy's global generator is left alone: `np.random.default_rng(seed)` makes a new generator, and
    np.random.rand does not draw from it. Transforms of others often use the global one.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    random.seed(seed)
    np.random.default_rng(seed)
    torch.manual_seed(seed)


@seed_everything.variant(numpy_forgotten)
def _(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.variant(numpy_forgotten)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.default_rng(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def torch_only(seed: int) -> None:
    """torch.manual_seed seeds torch on every device, and nothing else: random and NumPy go on wherever they
    were.
    """
    torch.manual_seed(seed)


@seed_everything.mistake()
def random_forgotten(seed: int) -> None:
    """Python's own generator is a third one: random.shuffle, and many augmentations, draw from it."""
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def torch_seed(seed: int) -> None:
    """torch.seed() takes a fresh seed from the operating system; torch.manual_seed(seed) takes yours."""
    random.seed(seed)
    np.random.seed(seed)
    torch.seed()


@seed_everything.mistake()
def argument_left_out(seed: int) -> None:
    """random.seed() and np.random.seed() without an argument take fresh entropy: hand them the seed."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed()
    np.random.seed()
    torch.manual_seed(seed)


@seed_everything.mistake()
def zero_is_no_seed(seed: int) -> None:
    """`if seed:` is False for 0, and 0 is a seed like any other: test `seed is None` if you must."""
    if seed:
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)


@seed_everything.mistake()
def constant_seed(seed: int) -> None:
    """The argument is never used: every seed gives the same run, and a mean over five seeds is one run."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed(42)
    np.random.seed(42)
    torch.manual_seed(42)


@seed_everything.mistake()
def few_seeds(seed: int) -> None:
    """A remainder of a small number folds many seeds into one; every seed must give a run of its own."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed(seed % 10_000)
    np.random.seed(seed % 10_000)
    torch.manual_seed(seed % 10_000)


@seed_everything.mistake()
def salted_hash(seed: int) -> None:
    """Python salts the hash of text anew in each process, so that the same seed is another one tomorrow."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    key = hash(f"seed {seed}") % 2**32
    random.seed(key)
    np.random.seed(key)
    torch.manual_seed(key)


@seed_everything.mistake()
def wraps_around(seed: int) -> None:
    """A seed that does not fit was made to fit, so that two seeds share a run and nobody is told. Refuse it."""
    seed = seed % 2**32
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def assert_for_range(seed: int) -> None:
    """An assert raises AssertionError, and `python -O` leaves it out: use `raise ValueError`."""
    assert 0 <= seed < 2**32
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def cpu_only(seed: int) -> None:
    """torch.default_generator is the CPU's generator; each GPU has one of its own. torch.manual_seed reaches
    all.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)


@seed_everything.mistake()
def current_gpu_only(seed: int) -> None:
    """torch.cuda.manual_seed seeds the current GPU only; the other one is torch.cuda.manual_seed_all."""
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    torch.cuda.manual_seed(seed)


@seed_everything.mistake()
def starts_cuda(seed: int) -> None:
    """Seeding may wait: torch keeps the seed and hands it to the GPUs when the program first uses one."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.init()


@seed_everything.mistake()
def sets_pythonhashseed(seed: int) -> None:
    """PYTHONHASHSEED is read once, when Python starts: setting it here changes nothing in this process."""
    import os

    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def turns_switches(seed: int) -> None:
    """Seeds and deterministic kernels are two things: switches that slow training do not belong into seeding."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = True


# The same mistakes in an answer that leaves the test of the range to NumPy, or has none.


@seed_everything.variant(argument_left_out)
def _(seed: int) -> None:
    random.seed()
    np.random.seed()
    torch.manual_seed(seed)


@seed_everything.variant(constant_seed)
def _(seed: int) -> None:
    random.seed(42)
    np.random.seed(42)
    torch.manual_seed(42)


@seed_everything.variant(few_seeds)
def _(seed: int) -> None:
    random.seed(seed % 10_000)
    np.random.seed(seed % 10_000)
    torch.manual_seed(seed % 10_000)


@seed_everything.variant(salted_hash)
def _(seed: int) -> None:
    key = hash(str(seed)) % 2**32
    random.seed(key)
    np.random.seed(key)
    torch.manual_seed(key)


@seed_everything.variant(turns_switches)
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


@seed_everything.variant(sets_pythonhashseed)
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.variant(torch_forgotten)
def _(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.cuda.manual_seed_all(seed)
