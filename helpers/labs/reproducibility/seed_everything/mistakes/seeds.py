"""What people write for 01.seed_everything: what is not seeded, not by the seed, or not refused."""

from __future__ import annotations

import os
import random
import time

import numpy as np
import torch

from helpers.labs.reproducibility.seed_everything.exercise import seed_everything


@seed_everything.mistake(breaks="Seed the global generators of Python's `random`, of NumPy and of torch.")
def torch_forgotten(seed: int) -> None:
    """torch's generator is not seeded. Perhaps torch.manual_seed is missing, or
    `torch.Generator().manual_seed(seed)` was meant to do it: that seeds a new object, and torch.rand does not
    draw from it.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.Generator().manual_seed(seed)


@seed_everything.mistake(breaks="Seed the global generators of Python's `random`, of NumPy and of torch.")
def numpy_forgotten(seed: int) -> None:
    """NumPy's global generator is left alone. Perhaps np.random.seed is missing:
    `np.random.default_rng(seed)` makes a new generator, and np.random.rand does not draw from it. Transforms
    of others often use the global one.
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


@seed_everything.mistake(breaks="Seed the global generators of Python's `random`, of NumPy and of torch.")
def torch_only(seed: int) -> None:
    """Only torch was seeded: random and NumPy go on wherever they were. torch.manual_seed seeds torch on every
    device, and nothing else.
    """
    torch.manual_seed(seed)


@seed_everything.mistake(breaks="Seed the global generators of Python's `random`, of NumPy and of torch.")
def random_forgotten(seed: int) -> None:
    """Python's own generator is not seeded. Perhaps random.seed is missing, or `random.Random(seed)` was meant to do it: that
    is a new object, and random.shuffle does not draw from it.
    """
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake(breaks="After the same seed the same numbers are drawn from each of them")
def torch_seed(seed: int) -> None:
    """torch was seeded, and not by the seed. Perhaps by torch.seed(), which takes a fresh seed from the operating
    system; torch.manual_seed(seed) takes yours.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.seed()


@seed_everything.mistake(breaks="After the same seed the same numbers are drawn from each of them")
def argument_left_out(seed: int) -> None:
    """random and NumPy were seeded, and not by the seed. Perhaps the argument was left out: random.seed() and
    np.random.seed() take fresh entropy. Hand them the seed.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed()
    np.random.seed()
    torch.manual_seed(seed)


@seed_everything.mistake(breaks="0 and 2**32 - 1 are seeds like all others.")
def zero_is_no_seed(seed: int) -> None:
    """The seed 0 was not used. Perhaps `if seed:`, which is False for 0: 0 is a seed like any other, test `seed is
    None` if you must.
    """
    if seed:
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)


@seed_everything.mistake()
def constant_seed(seed: int) -> None:
    """Every seed gives the same draws, perhaps since the argument is never used: a mean over five seeds is one run."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed(42)
    np.random.seed(42)
    torch.manual_seed(42)


@seed_everything.mistake()
def few_seeds(seed: int) -> None:
    """Two seeds that lie far apart give the same run. Perhaps many are folded into one, by a remainder: every
    seed must give a run of its own.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    random.seed(seed % 10_000)
    np.random.seed(seed % 10_000)
    torch.manual_seed(seed % 10_000)


@seed_everything.mistake()
def salted_hash(seed: int) -> None:
    """The draws change with the salt of hash(): Python salts the hash of text anew in each process, so that the same seed is a different one tomorrow."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    key = hash(f"seed {seed}") % 2**32
    random.seed(key)
    np.random.seed(key)
    torch.manual_seed(key)


@seed_everything.mistake()
def wraps_around(seed: int) -> None:
    """Seeds below 0 and above 2**32 - 1 were accepted. Perhaps they are made to fit, so that two seeds share a run, or a seed is
    drawn in their place, and no run comes again: refuse them.
    """
    seed = seed % 2**32
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def assert_for_range(seed: int) -> None:
    """A seed out of range raised AssertionError. Perhaps an assert: `python -O` leaves it out, so use `raise
    ValueError`.
    """
    assert 0 <= seed < 2**32
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def cpu_only(seed: int) -> None:
    """No GPU is seeded. Perhaps torch.default_generator was: it is the CPU's generator, and each GPU has one
    of its own. torch.manual_seed reaches all.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)


@seed_everything.mistake()
def current_gpu_only(seed: int) -> None:
    """One GPU is seeded, and the others are not. Perhaps by torch.cuda.manual_seed, which seeds the current GPU only:
    torch.manual_seed reaches all.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    torch.cuda.manual_seed(seed)


@seed_everything.mistake()
def starts_cuda(seed: int) -> None:
    """CUDA was started. Seeding may wait: torch keeps the seed and hands it to the GPUs when the program first uses
    one.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.init()


@seed_everything.mistake()
def sets_pythonhashseed(seed: int) -> None:
    """PYTHONHASHSEED was set. It is read once, when Python starts: setting it here changes nothing in this process."""
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@seed_everything.mistake()
def turns_switches(seed: int) -> None:
    """Switches of torch were changed. Seeds and deterministic kernels are two things: switches that slow training do
    not belong in seeding.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
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
    np.random.seed(seed)
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


# Seeds at the limits, and seeds that are refused.


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def tested(seed: int) -> int:
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    return seed


@seed_everything.mistake()
def moved_before_the_refusal(seed: int) -> None:
    """A seed was refused after generators had been moved. Perhaps a later library refused it: test the range
    before the first call.
    """
    seed_all(seed)


@seed_everything.variant(moved_before_the_refusal)
def _(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed % 2**64)
    np.random.seed(seed)


@seed_everything.mistake(breaks="0 and 2**32 - 1 are seeds like all others.")
def refuses_zero(seed: int) -> None:
    """0 was refused, and it is a seed like any other: `0 <= seed`, not `0 < seed`."""
    if not 0 < seed < 2**32:
        raise ValueError(f"seed must be positive, got {seed}")
    seed_all(seed)


@seed_everything.mistake(breaks="0 and 2**32 - 1 are seeds like all others.")
def refuses_the_largest(seed: int) -> None:
    """2**32 - 1 was refused, and it is a seed like all others. Perhaps the range ends before it: `seed < 2**32`. Or more than the
    seed is handed on, as by seed + 1: NumPy takes none above 2**32 - 1.
    """
    if not 0 <= seed < 2**32 - 1:
        raise ValueError(f"seed must be below 2**32 - 1, got {seed}")
    seed_all(seed)


@seed_everything.variant(refuses_the_largest)
def _(seed: int) -> None:
    """A seed of its own for each library."""
    torch.manual_seed(tested(seed))
    np.random.seed(seed + 1)
    random.seed(seed)


@seed_everything.mistake(breaks="0 and 2**32 - 1 are seeds like all others.")
def refuses_the_upper_half(seed: int) -> None:
    """A seed above 2**31 was refused. Perhaps the range ends with the largest int of 32 bits that has a sign: here it goes to
    2**32 - 1.
    """
    if not 0 <= seed < 2**31:
        raise ValueError(f"seed must fit into 32 bits, got {seed}")
    seed_all(seed)


@seed_everything.mistake()
def clamped(seed: int) -> None:
    """Seeds that are large give one run. Perhaps there is a limit, by min(): every seed must give a run of
    its own.
    """
    seed_all(min(tested(seed), 2**31 - 1))


@seed_everything.variant(clamped)
def _(seed: int) -> None:
    seed_all(max(0, min(seed, 2**31 - 1)))


@seed_everything.mistake()
def zero_is_replaced(seed: int) -> None:
    """0 gives the run of a different seed, perhaps by `seed or 42`: 0 is a seed like any other."""
    seed_all(tested(seed) or 42)


@seed_everything.variant(zero_is_replaced)
def _(seed: int) -> None:
    seed_all(max(tested(seed), 1))


@seed_everything.variant(zero_is_replaced)
def _(seed: int) -> None:
    seed_all(tested(seed) or 1234)


@seed_everything.mistake()
def last_bits_only(seed: int) -> None:
    """Seeds that differ by 2**31 give the same run. Perhaps only the last bits are used: all 32 count."""
    seed_all(tested(seed) & 0x7FFFFFFF)


@seed_everything.variant(last_bits_only)
def _(seed: int) -> None:
    seed_all(tested(seed) % 2**16)


@seed_everything.mistake()
def too_large_accepted(seed: int) -> None:
    """A seed above 2**32 - 1 was not refused. Perhaps it was made to fit, or NumPy got a different one.
    Refuse it.
    """
    if seed < 0:
        raise ValueError(f"a seed is 0 or more, got {seed}")
    seed_all(seed % 2**32)


@seed_everything.mistake()
def negative_accepted(seed: int) -> None:
    """A seed below 0 was not refused, perhaps by abs(): then two seeds share a run."""
    if abs(seed) >= 2**32:
        raise ValueError(f"a seed is below 2**32, got {seed}")
    seed_all(abs(seed))


@seed_everything.variant(negative_accepted)
def _(seed: int) -> None:
    if seed >= 2**32:
        raise ValueError(f"a seed is below 2**32, got {seed}")
    seed_all(seed % 2**32)


# More that is not seeded, or not by the seed.


_seen: set[int] = set()


@seed_everything.mistake(breaks="After the same seed the same numbers are drawn from each of them")
def only_once(seed: int) -> None:
    """The second call with the same seed does nothing. Perhaps a cache, or a flag: but the generators have moved since,
    and seeding again must bring them back.
    """
    if tested(seed) not in _seen:
        _seen.add(seed)
        seed_all(seed)


@seed_everything.mistake()
def seed_by_rank(seed: int) -> None:
    """The draws change with the rank, as a variable of the environment or torch.distributed gives it: who wants a
    different seed for each rank hands it over. One seed, one run.
    """
    seed_all((tested(seed) + int(os.environ.get("RANK", 0))) % 2**32)


@seed_everything.mistake()
def seed_by_process(seed: int) -> None:
    """The draws change with the process id: tomorrow the same seed is a different run."""
    seed_all((tested(seed) + os.getpid()) % 2**32)


@seed_everything.mistake()
def gpus_only_when_started(seed: int) -> None:
    """GPUs are not seeded while CUDA has not started, perhaps because of `if torch.cuda.is_initialized()`.
    torch.manual_seed leaves a note for later.
    """
    random.seed(tested(seed))
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


@seed_everything.mistake()
def seed_by_the_clock(seed: int) -> None:
    """The draws change with the time: in an hour the same seed is a different run."""
    seed_all((tested(seed) + int(time.time())) % 2**32)


@seed_everything.mistake()
def threads_too(seed: int) -> None:
    """The number of threads was changed: that is a switch for the whole program, and no seed."""
    seed_all(tested(seed))
    torch.set_num_threads(1)


@seed_everything.variant(turns_switches)
def _(seed: int) -> None:
    seed_all(tested(seed))
    torch.backends.cudnn.deterministic = True


@seed_everything.mistake()
def deterministic_too(seed: int) -> None:
    """The mode of deterministic algorithms was changed for the whole program, which nobody asked for. Where it is
    turned on, the program is slower from now on, and raises where it did not.
    """
    seed_all(tested(seed))
    torch.use_deterministic_algorithms(True)


@seed_everything.mistake()
def different_error(seed: int) -> None:
    """A seed out of range raised a different error from ValueError, and who catches that one never sees it."""
    if not 0 <= seed < 2**32:
        raise TypeError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    seed_all(seed)


@seed_everything.variant(different_error)
def _(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise OverflowError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    seed_all(seed)


@seed_everything.variant(threads_too)
def _(seed: int) -> None:
    seed_all(tested(seed))
    torch.set_num_threads(2)


@seed_everything.variant(deterministic_too)
def _(seed: int) -> None:
    seed_all(tested(seed))
    torch.use_deterministic_algorithms(True, warn_only=True)
