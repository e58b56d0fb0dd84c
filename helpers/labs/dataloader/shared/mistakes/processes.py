"""What people hand in for a loader with processes, and is none, or is somebody else's."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import torch
from torch.utils.data import DataLoader

from helpers.labs.dataloader.shared.loaders import LoaderMistake
from helpers.labs.dataloader.shared.properties import order as steps
from helpers.labs.dataloader.shared.right import Loader, answer


def serial(dataset: Any, batch_sampler: Any, collate_fn: Any, *, num_workers: int, **options: Any) -> Any:
    for indices in batch_sampler:
        yield collate_fn([dataset[index] for index in indices])


def thread_pool(
    dataset: Any, batch_sampler: Any, collate_fn: Any, *, num_workers: int, **options: Any
) -> Any:
    def made(indices: Any) -> Any:
        return collate_fn([dataset[index] for index in indices])

    with ThreadPoolExecutor(num_workers) as pool:
        yield from pool.map(made, batch_sampler)


def imap_in_threads(
    dataset: Any, batch_sampler: Any, collate_fn: Any, *, num_workers: int, **options: Any
) -> Any:
    with ThreadPool(num_workers) as pool:
        yield from pool.imap(lambda indices: collate_fn([dataset[i] for i in indices]), batch_sampler)


class Threads(Loader):
    """Threads by hand."""

    def start(self) -> None:
        for id in range(self.num_workers):
            threading.Thread(target=self._work, args=(id,), daemon=True).start()

    def _work(self, id: int) -> None:
        while (task := self.tasks[id].get()) is not None:
            self.results.put((task[0], self.made(task[1])))


def data_loader(dataset: Any, batch_sampler: Any, collate_fn: Any, **options: Any) -> Any:
    return iter(DataLoader(dataset, batch_sampler=list(batch_sampler), collate_fn=collate_fn, **options))


def from_data_loader(dataset: Any, batch_sampler: Any, collate_fn: Any, **options: Any) -> Any:
    options.setdefault("prefetch_factor", 2)
    yield from DataLoader(dataset, batch_sampler=batch_sampler, collate_fn=collate_fn, **options)


def imap(dataset: Any, batch_sampler: Any, collate_fn: Any, *, num_workers: int, **options: Any) -> Any:
    global _job
    _job = dataset, collate_fn
    with torch.multiprocessing.get_context("fork").Pool(num_workers) as pool:
        yield from pool.imap(_pool_batch, batch_sampler)


_job: Any = None


def _pool_batch(indices: Any) -> Any:
    dataset, collate_fn = _job
    return collate_fn([dataset[index] for index in indices])


def executor(dataset: Any, batch_sampler: Any, collate_fn: Any, *, num_workers: int, **options: Any) -> Any:
    global _job
    _job = dataset, collate_fn
    with ProcessPoolExecutor(num_workers, mp_context=torch.multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_pool_batch, batch_sampler)


class ProcessPerBatch(Loader):
    """A new process for each batch."""

    def start(self) -> None:
        pass

    def ask(self) -> None:
        for indices in itertools.islice(self.batches, 1):
            tasks = self.queue_of(self.sent)
            tasks.put((self.sent, indices))
            worker = torch.multiprocessing.get_context("fork").Process(
                target=self._once, args=(self.sent % self.num_workers,), daemon=True
            )
            worker.start()
            self.workers.append(worker)
            self.sent += 1

    def _once(self, id: int) -> None:
        self.prepare(id)
        place, indices = self.tasks[id].get()
        self.results.put((place, self.made(indices)))

    def look(self) -> None:
        pass


class ReadsOne(Loader):
    """Reads the first sample to see what it is."""

    def begin(self) -> None:
        self.dataset[0]
        super().begin()


class GeneratorToCollate(Loader):
    """Spares the list."""

    def batch(self, indices: Any) -> Any:
        return self.collate_fn(self.dataset[index] for index in indices)


class TupleToCollate(Loader):
    def batch(self, indices: Any) -> Any:
        return self.collate_fn(tuple(self.dataset[index] for index in indices))


class SortsIndices(Loader):
    """Reads a batch in the order of the file."""

    def batch(self, indices: Any) -> Any:
        return super().batch(sorted(indices))


class AsksLength(Loader):
    """Counts the batches first."""

    def begin(self) -> None:
        self.count = len(self.batches)  # type: ignore[arg-type]
        super().begin()


class CountsFirst(Loader):
    """Goes through the sampler to count its batches."""

    def begin(self) -> None:
        self.count = sum(1 for _ in self.batches)
        super().begin()


class Indexes(Loader):
    """Asks for a batch by its place."""

    def ask(self) -> None:
        self.queue_of(self.sent).put((self.sent, self.batches[self.sent]))  # type: ignore[index]
        self.sent += 1


class CollatesHere(Loader):
    """Sends samples."""

    def batch(self, indices: Any) -> Any:
        return [self.dataset[index] for index in indices]

    def opened(self, batch: Any) -> Any:
        return self.collate_fn(super().opened(batch))


_THREADS = (answer(Threads), imap_in_threads)

PROCESSES = [
    LoaderMistake(
        "serial",
        steps.PROCESSES,
        "Every sample was loaded by the training loop itself. Perhaps there are no workers, or they get nothing, or samples in "
        "place of indices.",
        serial,
        breaks="Batches of a map-style dataset, loaded by `num_workers` processes",
    ),
    LoaderMistake(
        "threads",
        steps.PROCESSES,
        "Threads share the interpreter with the training loop: only what releases its lock runs beside it, "
        "and random numbers are shared, too.",
        thread_pool,
        _THREADS,
        breaks="Batches of a map-style dataset, loaded by `num_workers` processes",
    ),
    LoaderMistake(
        "data_loader_inside",
        steps.PROCESSES,
        "This is the class that the exercise re-creates.",
        from_data_loader,
        (data_loader,),
        breaks="Start the workers yourself, with lab.start_worker(work, *args) or torch.multiprocessing: no "
        "DataLoader, no pool.",
    ),
    LoaderMistake(
        "pool_inside",
        steps.PROCESSES,
        "A pool deals tasks to whoever is free, draws all indices at once and knows no worker_init_fn with a number.",
        imap,
        (executor,),
        breaks="Start the workers yourself, with lab.start_worker(work, *args) or torch.multiprocessing: no "
        "DataLoader, no pool.",
    ),
    LoaderMistake(
        "sample_loaded_in_the_main_process",
        steps.PROCESSES,
        "Some samples were loaded by the training loop itself, beside the workers. Perhaps one was read as a test: it may be "
        "slow, and open a file that the workers then share.",
        answer(ReadsOne),
        breaks="Worker k % num_workers loads and collates it",
    ),
    LoaderMistake(
        "collated_in_the_main_process",
        steps.PROCESSES,
        "Batches were collated in the training loop's process. Perhaps the workers send samples: "
        "collating is work, too; in the worker it runs beside the training, and one batch travels in "
        "place of many samples.",
        answer(CollatesHere),
        breaks="Worker k % num_workers loads and collates it",
    ),
    LoaderMistake(
        "generator_to_collate",
        steps.PROCESSES,
        "collate_fn was given a generator: it looks at the first sample, counts them and goes through "
        "them more than once, and a generator is empty after one pass.",
        answer(GeneratorToCollate),
        breaks="Batch k is `collate_fn([dataset[i] for i in indices])` with the sampler's k-th list of "
        "indices.",
    ),
    LoaderMistake(
        "length_needed",
        steps.PROCESSES,
        "A length was asked of something that has none, perhaps by len(batch_sampler): any iterable will "
        "do as sampler, and one without an end has no length.",
        answer(AsksLength),
        breaks="any iterable of lists of indices; it may have no end.",
    ),
    LoaderMistake(
        "sampler_counted_first",
        steps.PROCESSES,
        "The sampler was gone through to its end, and no batch came. Perhaps its batches were counted first: an iterator is empty "
        "after that, and one without an end is never counted. Ask for a batch when it is needed.",
        answer(CountsFirst),
        breaks="The sampler is gone through once, lazily",
    ),
    LoaderMistake(
        "sampler_indexed",
        steps.PROCESSES,
        "A generator was asked for an item by its place. Perhaps the sampler, with [k] or a slice: any iterable of lists will do, "
        "so ask it by iter() and next().",
        answer(Indexes),
        breaks="any iterable of lists of indices; it may have no end.",
    ),
    LoaderMistake(
        "tuple_to_collate",
        steps.PROCESSES,
        "collate_fn was given a tuple: it takes the list of a batch's samples, and may tell the two apart.",
        answer(TupleToCollate),
        breaks="Batch k is `collate_fn([dataset[i] for i in indices])` with the sampler's k-th list of "
        "indices.",
    ),
    LoaderMistake(
        "samples_in_a_different_order",
        steps.PROCESSES,
        "Inside a batch the samples come in a different order than their indices, perhaps sorted: the "
        "sampler decides the order.",
        answer(SortsIndices),
        breaks="Batch k is `collate_fn([dataset[i] for i in indices])` with the sampler's k-th list of "
        "indices.",
    ),
    LoaderMistake(
        "process_per_batch",
        steps.PROCESSES,
        "A process for each batch pays for its start each time, and a dataset that opens files opens them each time.",
        answer(ProcessPerBatch),
        breaks="Batches of a map-style dataset, loaded by `num_workers` processes",
    ),
]
