"""What people get wrong about seeds, worker_init_fn and get_worker_info in a parallel loader."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.shared.loaders import LoaderMistake
from helpers.labs.dataloader.shared.properties import order
from helpers.labs.dataloader.shared.properties import seeds as steps
from helpers.labs.dataloader.shared.right import Loader, answer
from helpers.labs.dataloader.shown.workers import numpy_seed, set_worker_info


class HookHere(Loader):
    """Calls worker_init_fn in the training loop's process."""

    def start(self) -> None:
        for id in range(self.num_workers if self.hook else 0):
            self.hook(id)
        self.hook = None
        super().start()


class NoHook(Loader):
    def prepare(self, id: int) -> None:
        self.hook = None
        super().prepare(id)


class HookForEachBatch(Loader):
    """Calls worker_init_fn before each batch."""

    def prepare(self, id: int) -> None:
        hook, self.hook = self.hook, None
        super().prepare(id)
        self.before = (lambda: hook(id)) if hook is not None else lambda: None

    def batch(self, indices: Any) -> Any:
        self.before()
        return super().batch(indices)


class NoInfo(Loader):
    def prepare(self, id: int) -> None:
        torch.set_num_threads(1)
        self.seed(id)
        if self.hook is not None:
            self.hook(id)


class InfoAfterHook(Loader):
    def prepare(self, id: int) -> None:
        super_hook, self.hook = self.hook, None
        torch.set_num_threads(1)
        self.seed(id)
        if super_hook is not None:
            super_hook(id)
        super().prepare(id)


class BaseSeedInInfo(Loader):
    """The base seed for the worker's own in WorkerInfo."""

    def prepare(self, id: int) -> None:
        torch.set_num_threads(1)
        self.seed(id)
        set_worker_info(id, self.num_workers, self.base_seed, self.dataset)
        if self.hook is not None:
            self.hook(id)


class HookBeforeSeeds(Loader):
    def prepare(self, id: int) -> None:
        torch.set_num_threads(1)
        set_worker_info(id, self.num_workers, self.base_seed + id, self.dataset)
        if self.hook is not None:
            self.hook(id)
        self.seed(id)


class ManyThreads(Loader):
    """Without torch.set_num_threads."""

    def prepare(self, id: int) -> None:
        self.seed(id)
        set_worker_info(id, self.num_workers, self.base_seed + id, self.dataset)
        if self.hook is not None:
            self.hook(id)


class ThreadsAfterHook(ManyThreads):
    def prepare(self, id: int) -> None:
        super().prepare(id)
        torch.set_num_threads(1)


class OneThreadHere(ManyThreads):
    """torch.set_num_threads(1) where the workers are started, which they inherit."""

    def start(self) -> None:
        torch.set_num_threads(1)
        super().start()


class SameSeed(Loader):
    """The base seed in each worker."""

    def seed(self, id: int) -> None:
        super().seed(0)
        torch.manual_seed(self.base_seed)


class SameSeedButNumpy(Loader):
    """The base seed in each worker, but NumPy's own mixing with the number."""

    def seed(self, id: int) -> None:
        random.seed(self.base_seed)
        torch.manual_seed(self.base_seed)
        np.random.seed(numpy_seed(self.base_seed, id))


class HookGivenTheSeed(Loader):
    """worker_init_fn(base_seed + id)."""

    def prepare(self, id: int) -> None:
        hook, self.hook = self.hook, None
        super().prepare(id)
        if hook is not None:
            hook(self.base_seed + id)


class NoNumpy(Loader):
    def seed(self, id: int) -> None:
        random.seed(self.base_seed + id)
        torch.manual_seed(self.base_seed + id)


class OnlyTorch(Loader):
    """random and NumPy are left as the fork copied them."""

    def seed(self, id: int) -> None:
        torch.manual_seed(self.base_seed + id)


class NoRandom(Loader):
    def seed(self, id: int) -> None:
        torch.manual_seed(self.base_seed + id)
        np.random.seed(numpy_seed(self.base_seed, id))


class NoGlobalDraw(Loader):
    """Takes the global generator's seed, where no generator is given."""

    def drawn(self) -> int:
        return torch.initial_seed() if self.generator is None else super().drawn()


class NumpyModulo(Loader):
    """NumPy with the low half of the worker's seed."""

    def seed(self, id: int) -> None:
        super().seed(id)
        np.random.seed((self.base_seed + id) % 2**32)


class InitialSeed(Loader):
    """torch.initial_seed() of the generator for a base seed that should be drawn."""

    def drawn(self) -> int:
        return self.generator.initial_seed() if self.generator is not None else torch.initial_seed()


class OwnDraws(Loader):
    """A base seed for each worker."""

    def drawn(self) -> int:
        self.base_seeds = [super(OwnDraws, self).drawn() for _ in range(self.num_workers)]
        return self.base_seeds[0]

    def seed(self, id: int) -> None:
        self.base_seed = self.base_seeds[id]
        super().seed(id)


class NumpyTwice(Loader):
    """The worker's number is added before NumPy's seed is mixed, which adds it again."""

    def seed(self, id: int) -> None:
        super().seed(id)
        np.random.seed(numpy_seed(self.base_seed + id, id))


class ManyDraws(Loader):
    """A draw for each worker."""

    def drawn(self) -> int:
        seed = super().drawn()
        for _ in range(self.num_workers - 1):
            super().drawn()
        return seed


class SamplerFirst(Loader):
    """Reads the first indices, then draws the base seed."""

    def begin(self) -> None:
        self.batches = _begun(self.batches)
        super().begin()


def _begun(batches: Iterator[Any]) -> Iterator[Any]:
    """The same batches, the first of them already asked for."""
    first = [next(batches, None)]
    return itertools.chain([batch for batch in first if batch is not None], batches)


class GlobalGenerator(Loader):
    """Draws from the global generator, whatever generator was given."""

    def drawn(self) -> int:
        return int(torch.empty((), dtype=torch.int64).random_().item())


class StillRunning(Loader):
    """Workers that are told nothing."""

    def close(self) -> None:
        self.workers = []


INFO = [
    LoaderMistake(
        "hook_in_the_main_process",
        steps.INFO,
        "What worker_init_fn sets in the training loop's process (generators, files, the dataset) all workers share.",
        answer(HookHere),
        breaks="called in each worker, with its id.",
    ),
    LoaderMistake(
        "hook_never_called",
        steps.INFO,
        "worker_init_fn was never called.",
        answer(NoHook),
        breaks="called in each worker, with its id.",
    ),
    LoaderMistake(
        "hook_for_each_batch",
        steps.INFO,
        "worker_init_fn was called more than once in a worker, with its number. Perhaps before each batch: it opens files or seeds "
        "generators, once, before the worker loads.",
        answer(HookForEachBatch),
        breaks="calls worker_init_fn(id), if there is one; then it loads.",
    ),
    LoaderMistake(
        "hook_given_the_seed",
        steps.INFO,
        "worker_init_fn was called with the worker's seed: it takes the worker's number, and finds the "
        "seed by get_worker_info() or torch.initial_seed().",
        answer(HookGivenTheSeed),
        breaks="called in each worker, with its id.",
    ),
    LoaderMistake(
        "no_worker_info",
        steps.INFO,
        "worker_init_fn asked get_worker_info() and got None, as if the worker were alone: it cannot shard the dataset. Perhaps "
        "set_worker_info is not called, or after the hook.",
        answer(NoInfo),
        (answer(InfoAfterHook),),
        breaks="calls lab.set_worker_info(id, num_workers, base_seed + id, dataset); calls worker_init_fn(id)",
    ),
    LoaderMistake(
        "base_seed_in_worker_info",
        steps.INFO,
        "WorkerInfo.seed is right in worker 0, and not in worker 1. Perhaps it is the base seed: the "
        "worker's own is base_seed + id, and with the base seed alone all hooks seed alike.",
        answer(BaseSeedInInfo),
        breaks="calls lab.set_worker_info(id, num_workers, base_seed + id, dataset)",
    ),
    LoaderMistake(
        "hook_before_the_seeds",
        steps.INFO,
        "torch does not have the worker's seed yet when worker_init_fn runs. Perhaps it is called before "
        "the seeds: what it seeds is then seeded over, and what it draws is not the worker's own.",
        answer(HookBeforeSeeds),
        breaks="A worker, in this order: calls torch.set_num_threads(1); seeds random and torch with "
        "base_seed + id and NumPy with lab.numpy_seed(base_seed, id); calls lab.set_worker_info(id, "
        "num_workers, base_seed + id, dataset); calls worker_init_fn(id)",
    ),
    LoaderMistake(
        "threads_in_workers",
        steps.INFO,
        "Without torch.set_num_threads(1) first, a forked worker waits for threads that were not copied.",
        answer(ManyThreads),
        (answer(ThreadsAfterHook),),
        breaks="A worker, in this order: calls torch.set_num_threads(1)",
    ),
    LoaderMistake(
        "one_thread_everywhere",
        steps.INFO,
        "torch.set_num_threads(1) was called in the training loop's process, and slows the training down: it is for the "
        "worker.",
        answer(OneThreadHere),
        breaks="A worker, in this order: calls torch.set_num_threads(1)",
    ),
]
SEEDS = [
    LoaderMistake(
        "same_seed_in_all_workers",
        steps.SEEDS,
        "Worker 1 draws the numbers of worker 0, in all three libraries. Perhaps the worker's number is "
        "missing in its seed.",
        answer(SameSeed),
        breaks="seeds random and torch with base_seed + id and NumPy with lab.numpy_seed(base_seed, id)",
    ),
    LoaderMistake(
        "same_seed_but_in_numpy",
        steps.SEEDS,
        "Worker 1 draws the numbers of worker 0 from random and torch, and NumPy is right. Perhaps both "
        "were seeded with base_seed: it is base_seed + id.",
        answer(SameSeedButNumpy),
        breaks="seeds random and torch with base_seed + id",
    ),
    LoaderMistake(
        "numpy_not_seeded",
        steps.SEEDS,
        "All workers draw the same numbers from NumPy. Perhaps it was not seeded, which makes each epoch "
        "the same, too: a fork copies NumPy's generator with its state. torch had this fault until 1.9.",
        answer(NoNumpy),
        breaks="seeds random and torch with base_seed + id and NumPy with lab.numpy_seed(base_seed, id)",
    ),
    LoaderMistake(
        "only_torch_seeded",
        steps.SEEDS,
        "random and NumPy draw other numbers than they should, and torch is right. Perhaps only torch was "
        "seeded: torch.manual_seed seeds neither random nor NumPy.",
        answer(OnlyTorch),
        breaks="seeds random and torch with base_seed + id and NumPy with lab.numpy_seed(base_seed, id)",
    ),
    LoaderMistake(
        "random_not_seeded",
        steps.SEEDS,
        "Python's random draws other numbers than after random.seed(base_seed + id); torch and NumPy are "
        "right. Perhaps it was not seeded.",
        answer(NoRandom),
        breaks="seeds random and torch with base_seed + id",
    ),
    LoaderMistake(
        "no_draw_without_a_generator",
        steps.DRAW,
        "With generator=None nothing was drawn. The base seed is then one draw from torch's global generator: its initial seed "
        "would be the same in each epoch.",
        answer(NoGlobalDraw),
    ),
    LoaderMistake(
        "numpy_by_remainder",
        steps.SEEDS,
        "NumPy draws other numbers than it should; random and torch are right. Perhaps its seed is a "
        "remainder: % 2**32 throws away half of the seed, and torch mixes all of it with the worker's "
        "number (numpy_seed).",
        answer(NumpyModulo),
        breaks="seeds random and torch with base_seed + id and NumPy with lab.numpy_seed(base_seed, id)",
    ),
    LoaderMistake(
        "base_seed_not_drawn",
        steps.SEEDS,
        "Epoch 2 replays the noise of epoch 1. Perhaps the base seed is initial_seed(): that is what the "
        "generator started from, and it stays.",
        answer(InitialSeed),
        breaks="base_seed is `torch.empty((), dtype=torch.int64).random_(generator=generator).item()`, drawn"
        " once",
    ),
    LoaderMistake(
        "global_generator",
        steps.SEEDS,
        "The workers' noise follows torch's global generator, though a generator was given: draw the base seed from that one. "
        "Whoever seeds it expects the same noise.",
        answer(GlobalGenerator),
        breaks="what the base seed is drawn from; torch's global generator if it is None.",
    ),
    LoaderMistake(
        "a_base_seed_for_each_worker",
        steps.SEEDS,
        "Worker 0 draws what it should, worker 1 does not, in all three libraries. Perhaps a base seed was drawn for each "
        "worker: one serves all, who add their number.",
        answer(OwnDraws),
        breaks="base_seed is `torch.empty((), dtype=torch.int64).random_(generator=generator).item()`, drawn"
        " once",
    ),
    LoaderMistake(
        "numpy_seed_of_the_workers_seed",
        steps.SEEDS,
        "NumPy is right in worker 0 and wrong in worker 1. Perhaps numpy_seed was called with base_seed + id: it takes the base "
        "seed and the number apart, and mixes them.",
        answer(NumpyTwice),
        breaks="seeds random and torch with base_seed + id and NumPy with lab.numpy_seed(base_seed, id)",
    ),
    LoaderMistake(
        "a_draw_for_each_worker",
        steps.DRAW,
        "The sampler, which shares the generator, draws other indices, and the generator stands elsewhere "
        "afterwards. Perhaps a number was drawn for each worker: one base seed serves all, who add their "
        "number.",
        answer(ManyDraws),
    ),
    LoaderMistake(
        "sampler_before_seed",
        steps.DRAW,
        "The sampler, which shares the generator, draws other indices, and the generator stands where it "
        "should afterwards. Perhaps the sampler was asked before the base seed was drawn: DataLoader "
        "draws the base seed first.",
        answer(SamplerFirst),
    ),
]
ENDS = [
    LoaderMistake(
        "workers_never_told",
        order.ENDS,
        "After the last batch a worker goes on running. Perhaps it waits in get() for a task that will "
        "never come: put None into each queue, and join.",
        answer(StillRunning),
    ),
]
