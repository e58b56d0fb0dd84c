"""What people write for 01.seed_worker, and why it is wrong."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import time

import numpy as np
import torch
from torch.utils.data import get_worker_info

from helpers.labs.reproducibility.seed_worker.exercise import seed_worker


@seed_worker.mistake(breaks="differ between workers and between epochs")
def worker_id_is_the_seed(worker_id: int) -> None:
    """Epoch 2 replays epoch 1. Perhaps the seed is the number of a worker, the same in each epoch, or what a
    hook counts, which begins anew in each worker, or np.random.get_state()[1][0], a constant since torch seeds NumPy.
    Use the worker's seed.
    """
    get_worker_info().dataset.rng = np.random.default_rng(worker_id)


@seed_worker.mistake(breaks="differ between workers and between epochs")
def constant_seed(worker_id: int) -> None:
    """Every worker draws the same noise in every epoch: augmentation that augments nothing. Perhaps the seed is a constant, or
    something that all workers have in common, as an address: id() is the same in each fork.
    """
    get_worker_info().dataset.rng = np.random.default_rng(42)


@seed_worker.mistake(breaks="differ between workers and between epochs")
def floor_division(worker_id: int) -> None:
    """All workers of an epoch draw alike. Perhaps the low digits of the seed are dropped, where the worker's
    number is: `// 2**32` in place of the famous recipe's `% 2**32`, a remainder.
    """
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed() // 2**32)


@seed_worker.mistake(breaks="differ between workers and between epochs")
def base_seed_only(worker_id: int) -> None:
    """All workers of an epoch draw alike, so the worker's number is no longer in the seed. Perhaps it was taken out,
    info.seed - info.id is the base seed; or it was rounded away.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - info.id)


@seed_worker.mistake(breaks="a stream of its own")
def global_generator_only(worker_id: int) -> None:
    """A global generator was seeded, and the one that the dataset owns was left alone. The recipe of the documentation seeds
    NumPy's global generator: a Generator never looks at that one, and torch has seeded it already (since 1.9).
    """
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


@seed_worker.mistake(breaks="a stream of its own")
def another_object(worker_id: int) -> None:
    """The hook asked for the worker's seed, and the generator that the worker's dataset owns is the old one. Perhaps the
    new one is in a local name, in the notebook's own dataset, or only returned: assign it to get_worker_info().dataset.rng.
    """
    _MAIN.rng = np.random.default_rng(torch.initial_seed())


class _Dataset:
    rng = np.random.default_rng(0)


_MAIN = _Dataset()


@seed_worker.mistake(breaks="a stream of its own")
def local_name(worker_id: int) -> None:
    """The hook looked at the worker's dataset, and its attribute `rng` is still the old generator in its old state.
    Perhaps `rng = ...` gave a new value to a local name only, or a different attribute was set: assign to
    get_worker_info().dataset.rng.
    """
    info = get_worker_info()
    rng = info.dataset.rng
    rng = np.random.default_rng(info.seed)  # noqa: F841


@seed_worker.mistake(breaks="differ between workers and between epochs")
def spawned_from_its_own(worker_id: int) -> None:
    """The noise differs by worker and repeats in every epoch, and follows from where the dataset's own generator stood. Perhaps it
    is spawned from it, jumped or drawn: the copies of every epoch start from one state, which never moves in the main
    process.
    """
    info = get_worker_info()
    info.dataset.rng = info.dataset.rng.spawn(info.num_workers)[worker_id]


@seed_worker.mistake(breaks="is one afterwards")
def old_randomstate(worker_id: int) -> None:
    """RandomState is NumPy's old interface, without integers(); the dataset holds a Generator."""
    info = get_worker_info()
    info.dataset.rng = np.random.RandomState(info.seed % 2**32)


@seed_worker.mistake(breaks="They repeat if the main process was seeded alike")
def fresh_entropy(worker_id: int) -> None:
    """Started twice from the same seeds, a worker draws different noise: no run can be repeated. Perhaps
    default_rng() without a seed, or torch.seed(): both take fresh entropy from the operating system.
    """
    get_worker_info().dataset.rng = np.random.default_rng()


@seed_worker.mistake(breaks="They repeat if the main process was seeded alike")
def wall_clock(worker_id: int) -> None:
    """The noise changes with the time of day, which is different in the next run."""
    get_worker_info().dataset.rng = np.random.default_rng(int(time.time()) + worker_id)


@seed_worker.mistake(breaks="They repeat if the main process was seeded alike")
def process_id(worker_id: int) -> None:
    """The noise changes with the number of the process: the operating system hands these out as it likes, and the next run
    gets others.
    """
    get_worker_info().dataset.rng = np.random.default_rng(os.getpid() * 1000 + worker_id)


@seed_worker.mistake(breaks="They repeat if the main process was seeded alike")
def salted_hash(worker_id: int) -> None:
    """The noise changes with the salt of hash(): Python salts the hash of text anew in each run. Workers of one run share the
    salt; two runs do not.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(abs(hash(f"{info.seed}-{worker_id}")))


@seed_worker.mistake(breaks="There are 2**30 streams or more")
def few_seeds(worker_id: int) -> None:
    """Two of many workers share a stream. Perhaps there are few streams, because of a remainder of a small
    number or a short hash: with 1000 of them, some 40 workers suffice for two to share one.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed % 1000)


@seed_worker.mistake(breaks="differ between workers and between epochs")
def mixed_by_xor(worker_id: int) -> None:
    """Two workers of an epoch draw alike. Perhaps the seed and the worker's number are joined by xor: info.seed holds
    the number already, and xor takes it out again for even base seeds. Or only a few bits of the number count.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed ^ worker_id)


@seed_worker.mistake(breaks="differ between workers and between epochs")
def multiplied(worker_id: int) -> None:
    """A worker draws the same in every epoch, and the others do not. Perhaps its number is 0, and a product with it, or a test
    `if worker_id`, forgets the seed.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed * worker_id)


@seed_worker.mistake(breaks="no two streams have a stretch in common")
def shifted_stream(worker_id: int) -> None:
    """A worker repeats the numbers of a neighbour, a draw or a few later. Perhaps advance(seed): the seeds of neighbours differ
    by 1. Or each worker throws away as many draws as its number says.
    """
    info = get_worker_info()
    info.dataset.rng.bit_generator.advance(info.seed)


@seed_worker.mistake(breaks="still differ and repeat like this")
def global_generators_reset(worker_id: int) -> None:
    """What the hook seeds anew draws the same in every epoch, and was right before. Perhaps it got the worker's number, as from
    seed_everything(worker_id): torch had added the base seed of the epoch.
    """
    random.seed(worker_id)
    np.random.seed(worker_id)
    torch.manual_seed(worker_id)
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


@seed_worker.mistake(breaks="still differ and repeat like this")
def global_generators_constant(worker_id: int) -> None:
    """What the hook seeds anew draws alike in all workers and epochs, and was right before. Perhaps the seed is a constant."""
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@seed_worker.mistake(breaks="still differ and repeat like this")
def global_generators_by_base_seed(worker_id: int) -> None:
    """What the hook seeds anew draws alike in all workers of an epoch. Perhaps it got the base seed, info.seed - info.id;
    torch had added the worker's number.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    torch.manual_seed(info.seed - worker_id)


@seed_worker.mistake(breaks="still differ and repeat like this")
def global_generators_few(worker_id: int) -> None:
    """A global generator was seeded anew, with one of few seeds. Perhaps the seed is a remainder of a small number."""
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    np.random.seed(info.seed % 100)


@seed_worker.mistake(breaks="no two streams have a stretch in common")
def shifted_by_a_thousand(worker_id: int) -> None:
    """All workers draw from one stream, each from a later place: after some draws one of them comes to the numbers of the
    next. Perhaps `advance`, or draws that are thrown away.
    """
    info = get_worker_info()
    info.dataset.rng.bit_generator.advance(info.seed * 1000)


@seed_worker.mistake(breaks="is one afterwards")
def bit_generator_only(worker_id: int) -> None:
    """PCG64(seed) is the engine without the methods of a Generator: put it into np.random.Generator(...)."""
    info = get_worker_info()
    info.dataset.rng = np.random.PCG64(info.seed)


@seed_worker.mistake(breaks="is one afterwards")
def sequence_only(worker_id: int) -> None:
    """A SeedSequence is a seed, and draws nothing: give it to np.random.default_rng."""
    info = get_worker_info()
    info.dataset.rng = np.random.SeedSequence(info.seed)


@seed_worker.mistake(breaks="is one afterwards")
def seed_assigned(worker_id: int) -> None:
    """`rng` holds a number now. A seed is no generator: give it to np.random.default_rng."""
    info = get_worker_info()
    info.dataset.rng = info.seed


@seed_worker.mistake(breaks="is one afterwards")
def generator_of_python(worker_id: int) -> None:
    """random.Random is Python's generator, which has no integers(); the dataset owns NumPy's Generator."""
    info = get_worker_info()
    info.dataset.rng = random.Random(info.seed)


@seed_worker.mistake(breaks="is one afterwards")
def generator_of_torch(worker_id: int) -> None:
    """A torch.Generator has no methods that draw; the dataset owns NumPy's Generator."""
    info = get_worker_info()
    info.dataset.rng = torch.Generator().manual_seed(info.seed)


@seed_worker.mistake(breaks="is one afterwards")
def module_assigned(worker_id: int) -> None:
    """np.random is a module. Its functions share one global generator of the old kind; a Generator is an object, and
    np.random.default_rng makes one.
    """
    np.random.seed(get_worker_info().seed % 2**32)
    get_worker_info().dataset.rng = np.random


@seed_worker.mistake(breaks="no two streams have a stretch in common")
def halved(worker_id: int) -> None:
    """Neighbours in an epoch draw alike. Perhaps the seed is divided by a small number: the seeds of neighbours differ by 1
    only.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed // 2)


@seed_worker.mistake(breaks="They repeat if the main process was seeded alike")
def address_in_the_seed(worker_id: int) -> None:
    """The noise changes with the address of an object, perhaps through id() or a hash of the object: it is a different one in
    the next run.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng([info.seed, id(info.dataset)])


@seed_worker.mistake(breaks="They repeat if the main process was seeded alike")
def number_of_the_process(worker_id: int) -> None:
    """A second run in the same notebook gives different noise. Perhaps the seed holds the number or the name of the
    worker's process: multiprocessing goes on counting the processes that a program starts.
    """
    number = sum(multiprocessing.current_process()._identity)
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng([info.seed, number])


@seed_worker.mistake(breaks="a stream of its own")
def hash_below_zero(worker_id: int) -> None:
    """default_rng takes no negative seed. Perhaps it got a hash, which may be negative: it needs none, give it the numbers as a
    list.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(-abs(hash((info.seed, worker_id))) - 1)


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


@seed_worker.variant(worker_id_is_the_seed)
def _(worker_id: int) -> None:
    _COUNT["epochs"] = _COUNT.get("epochs", 0) + 1
    get_worker_info().dataset.rng = np.random.default_rng([worker_id, _COUNT["epochs"]])


_COUNT: dict[str, int] = {}


@seed_worker.variant(few_seeds)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed() % 10**6)


@seed_worker.variant(few_seeds)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed() & 0xFFFFFF)


@seed_worker.variant(bit_generator_only)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.PCG64(np.random.SeedSequence([info.seed, worker_id]))


@seed_worker.variant(few_seeds)
def _(worker_id: int) -> None:
    digest = hashlib.md5(f"{torch.initial_seed()}".encode()).digest()
    get_worker_info().dataset.rng = np.random.default_rng(int.from_bytes(digest[:2]))


@seed_worker.variant(hash_below_zero)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(hash((info.seed, worker_id)))


@seed_worker.mistake(breaks="is a `numpy.random.Generator` before the call")
def of_one_kind_only(worker_id: int) -> None:
    """The hook works for the generator that default_rng makes, and raises for one of a different kind, as MT19937 or SFC64.
    Perhaps it writes a state into the old generator, or calls what not every kind has (jumped, advance): make a new one.
    """
    info = get_worker_info()
    info.dataset.rng.bit_generator.state = np.random.PCG64(info.seed).state


@seed_worker.mistake(breaks="a stream of its own")
def one_stream_with_numpy(worker_id: int) -> None:
    """The dataset and NumPy's global generator draw from one state: each draw of one moves the other. Perhaps the Generator
    was made around the global bit generator.
    """
    get_worker_info().dataset.rng = np.random.Generator(np.random.get_bit_generator())


@seed_worker.variant(shifted_by_a_thousand)
def _(worker_id: int) -> None:
    info = get_worker_info()
    bits = np.random.PCG64(info.seed - worker_id)
    info.dataset.rng = np.random.Generator(bits.advance(1_000_000 * worker_id))


@seed_worker.mistake(breaks="still differ and repeat like this")
def global_generators_halved(worker_id: int) -> None:
    """What the hook seeds anew draws alike in some workers of an epoch. Perhaps the worker's seed is divided, or cut: the
    seeds of neighbours differ by 1.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    random.seed(info.seed // 2)


@seed_worker.variant(few_seeds)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed() % (10**9 + 7))


@seed_worker.mistake(breaks="the base seed and the worker's number decide")
def number_of_workers_in_the_seed(worker_id: int) -> None:
    """The noise of a worker changes with the number of workers beside it: only the base seed and its own number may decide.
    Perhaps info.num_workers is in the seed.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng([info.seed, info.num_workers])


@seed_worker.mistake(breaks="still differ and repeat like this")
def global_generators_fresh(worker_id: int) -> None:
    """A global generator draws other numbers when the run is repeated. Perhaps it was seeded without an argument, which takes
    fresh entropy: torch had seeded it well.
    """
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    random.seed()


@seed_worker.variant(global_generators_fresh)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    np.random.seed()


@seed_worker.variant(few_seeds)
def _(worker_id: int) -> None:
    digest = hashlib.sha256(f"{torch.initial_seed()}".encode()).digest()
    get_worker_info().dataset.rng = np.random.default_rng(int.from_bytes(digest[:3]))


@seed_worker.variant(shifted_stream)
def _(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - worker_id)
    info.dataset.rng.random(worker_id)


@seed_worker.variant(spawned_from_its_own)
def _(worker_id: int) -> None:
    dataset = get_worker_info().dataset
    dataset.rng = np.random.Generator(dataset.rng.bit_generator.jumped(worker_id + 1))


@seed_worker.variant(worker_id_is_the_seed)
def _(worker_id: int) -> None:
    get_worker_info().dataset.rng = np.random.default_rng(int(np.random.get_state()[1][0]) + worker_id)
