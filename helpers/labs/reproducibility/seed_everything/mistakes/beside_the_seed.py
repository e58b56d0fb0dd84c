"""What people write for 01.seed_everything: one library of three, other processes, and what nobody asked for."""

from __future__ import annotations

import multiprocessing
import os
import random
import socket

import numpy as np
import torch
import torch.utils.data
import torch.utils.deterministic

from helpers.labs.reproducibility.seed_everything.exercise import seed_everything
from helpers.labs.reproducibility.seed_everything.mistakes.seeds import seed_all, starts_cuda, tested


@seed_everything.mistake()
def folded_for_some_libraries(seed: int) -> None:
    """Two different seeds give the same draws from one library or two, and not from all. Perhaps that library was handed
    less than the seed: a cast, a remainder, a limit, a shift, or bits of which a CPU generator takes only the low 32.
    """
    seed_all(tested(seed))
    np.random.seed(min(seed, 2**31 - 1))


@seed_everything.variant(folded_for_some_libraries)
def _(seed: int) -> None:
    seed_all(tested(seed))
    torch.manual_seed(seed << 32)


@seed_everything.variant(folded_for_some_libraries)
def _(seed: int) -> None:
    seed_all(tested(seed))
    random.seed(int(np.float32(seed)))


@seed_everything.mistake()
def every_second_seed(seed: int) -> None:
    """Seeds that differ by 1 give the same run. Perhaps the seed is halved, or its last bit is cut off."""
    seed_all(tested(seed) // 2)


@seed_everything.mistake()
def float32_seed(seed: int) -> None:
    """Large seeds beside each other give the same run. Perhaps the seed passes through float32, which holds 24 bits."""
    seed_all(int(np.float32(tested(seed))) % 2**32)


@seed_everything.mistake(breaks="0 and 2**32 - 1 are seeds like all others.")
def zero_is_drawn(seed: int) -> None:
    """The seed 0 gives different draws each time. Perhaps `seed or ...` with a random seed behind it: 0 is a seed like
    any other.
    """
    seed_all(tested(seed) or int.from_bytes(os.urandom(4), "big"))


@seed_everything.mistake(breaks="After the same seed the same numbers are drawn from each of them")
def spare_normal_kept(seed: int) -> None:
    """A generator was seeded, and its next normal number is still one from before: they are made in pairs, and the
    second is kept. Perhaps only a part of the state was set: random.seed, np.random.seed and torch.manual_seed drop it.
    """
    spare = random.getstate()[2]
    seed_all(tested(seed))
    random.setstate((*random.getstate()[:2], spare))


@seed_everything.mistake()
def seed_by_worker(seed: int) -> None:
    """In a worker of a DataLoader the same seed gives different draws. Perhaps get_worker_info().id was added, or
    workers are left as torch has seeded them: who wants a different seed for each hands it over.
    """
    info = torch.utils.data.get_worker_info()
    seed_all((tested(seed) + (info.id if info else 0)) % 2**32)


@seed_everything.mistake()
def seed_by_child(seed: int) -> None:
    """The draws change with the name or number that multiprocessing gives a process: one seed, one run."""
    seed_all((tested(seed) + sum(multiprocessing.current_process()._identity)) % 2**32)


@seed_everything.mistake()
def seed_by_host(seed: int) -> None:
    """The draws change with the name of the machine: one seed, one run, on every machine of a cluster."""
    seed_all((tested(seed) + len(socket.gethostname()) + 1000) % 2**32)


@seed_everything.mistake()
def works_on_a_gpu(seed: int) -> None:
    """Something was done on a GPU itself, as drawing a number or making a generator there. That starts CUDA, and needs a
    GPU that is free; torch.manual_seed only leaves a note for later.
    """
    seed_all(tested(seed))
    if torch.cuda.is_available():
        torch.rand(1, device="cuda")


@seed_everything.variant(works_on_a_gpu)
def _(seed: int) -> None:
    seed_all(tested(seed))
    if torch.cuda.is_available():
        torch.Generator("cuda:0").manual_seed(seed)


@seed_everything.mistake()
def variable_too(seed: int) -> None:
    """An environment variable was set. Every process that is started later inherits it, and nobody asked for it."""
    seed_all(tested(seed))
    os.environ["PL_GLOBAL_SEED"] = str(seed)


@seed_everything.mistake()
def float32_precision_too(seed: int) -> None:
    """The precision of float32 products was changed: that is a switch for the whole program, and no seed."""
    seed_all(tested(seed))
    torch.set_float32_matmul_precision("highest")


@seed_everything.mistake()
def mkldnn_too(seed: int) -> None:
    """`torch.backends.mkldnn.deterministic` was changed: that is a switch for the whole program, and no seed."""
    seed_all(tested(seed))
    torch.backends.mkldnn.deterministic = True


@seed_everything.mistake()
def fill_too(seed: int) -> None:
    """`torch.utils.deterministic.fill_uninitialized_memory` was changed: that is a switch for the whole program, and no
    seed.
    """
    seed_all(tested(seed))
    torch.utils.deterministic.fill_uninitialized_memory = False


@seed_everything.variant(starts_cuda)
def _(seed: int) -> None:
    seed_all(tested(seed))
    for gpu in range(torch.cuda.device_count()):
        with torch.cuda.device(gpu):
            torch.cuda.manual_seed(seed)
