"""A right loader cut into the pieces in which people go wrong; each mistake replaces one of them."""

from __future__ import annotations

import itertools
import queue
import random
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.shown.workers import numpy_seed, set_worker_info, start_worker


class Failure:
    """An error on its way from a worker."""

    def __init__(self, error: Exception) -> None:
        self.kind, self.text = type(error), traceback.format_exc()

    def raised(self) -> Exception:
        """The error to raise in the training loop."""
        try:
            error = self.kind(self.text)
        except Exception:
            return RuntimeError(self.text)
        return RuntimeError(self.text) if isinstance(error, StopIteration) else error


class Loader:
    """An iterator over the batches. Its workers start at once."""

    def __init__(
        self,
        dataset: Any,
        batch_sampler: Iterable[Any],
        collate_fn: Callable[[list], Any],
        *,
        num_workers: int,
        prefetch_factor: int = 2,
        worker_init_fn: Callable[[int], None] | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.dataset, self.collate_fn, self.hook = dataset, collate_fn, worker_init_fn
        self.num_workers, self.prefetch_factor, self.generator = num_workers, prefetch_factor, generator
        self.batches = iter(batch_sampler)
        self.sent = self.turn = 0
        self.early: dict[int, Any] = {}
        self.workers: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Starts the workers and fills their queues."""
        self.base_seed = self.drawn()
        self.results = torch.multiprocessing.Queue()
        self.tasks = [torch.multiprocessing.Queue() for _ in range(self.num_workers)]
        self.done = torch.multiprocessing.Event()
        try:
            self.start()
            self.fill()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        for id in range(self.num_workers):
            self.workers.append(start_worker(self.work, id))

    def fill(self) -> None:
        for _ in range(self.prefetch_factor * self.num_workers):
            self.ask()

    def drawn(self) -> int:
        """The base seed of this epoch."""
        return int(torch.empty((), dtype=torch.int64).random_(generator=self.generator).item())

    def ask(self) -> None:
        """Asks the sampler for one batch more."""
        for indices in itertools.islice(self.batches, 1):
            self.queue_of(self.sent).put((self.sent, indices))
            self.sent += 1

    def queue_of(self, place: int) -> Any:
        return self.tasks[place % self.num_workers]

    # In the worker

    def work(self, id: int) -> None:
        """Life of a worker."""
        failure = None
        try:
            self.prepare(id)
        except Exception as error:
            failure = Failure(error)
        while (task := self.tasks[id].get()) is not None:
            if not self.done.is_set():
                self.results.put((task[0], failure or self.made(task[1])))
        self.leave()

    def leave(self) -> None:
        """A worker's last act: it may end with results that nobody has read."""
        self.results.cancel_join_thread()

    def prepare(self, id: int) -> None:
        torch.set_num_threads(1)
        self.seed(id)
        set_worker_info(id, self.num_workers, self.base_seed + id, self.dataset)
        if self.hook is not None:
            self.hook(id)

    def seed(self, id: int) -> None:
        random.seed(self.base_seed + id)
        torch.manual_seed(self.base_seed + id)
        np.random.seed(numpy_seed(self.base_seed, id))

    def made(self, indices: Any) -> Any:
        """A batch, or the failure to make it."""
        try:
            return self.batch(indices)
        except Exception as error:
            return Failure(error)

    def batch(self, indices: Any) -> Any:
        return self.collate_fn([self.dataset[index] for index in indices])

    # In the training loop

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.turn == self.sent:
            self.close()
            raise StopIteration
        try:
            batch = self.in_turn()
            self.turn += 1
            self.refill()
            return self.opened(batch)
        except BaseException:
            self.close()
            raise

    def refill(self) -> None:
        """What follows when a batch is handed over."""
        self.ask()

    def in_turn(self) -> Any:
        """The next batch in the sampler's order."""
        while self.turn not in self.early:
            self.take()
        return self.early.pop(self.turn)

    def take(self) -> None:
        """Takes a result from the queue."""
        place, batch = self.result()
        self.early[place] = batch

    def result(self) -> tuple[int, Any]:
        while True:
            try:
                return self.results.get(timeout=0.1)
            except queue.Empty:
                self.look()

    def look(self) -> None:
        """Raises if a worker has died."""
        for id, worker in enumerate(self.workers):
            if not worker.is_alive():
                raise RuntimeError(f"worker {id} died with exit code {worker.exitcode}")

    def opened(self, batch: Any) -> Any:
        """The batch; raises if it is a failure."""
        if isinstance(batch, Failure):
            raise batch.raised()
        return batch

    def close(self) -> None:
        """Ends the workers."""
        if not self.workers:
            return
        self.done.set()
        for tasks in self.tasks:
            tasks.cancel_join_thread()
            tasks.put(None)
        until = time.monotonic() + 0.3
        for worker in self.workers:
            worker.join(max(0.0, until - time.monotonic()))
        for worker in self.workers:
            worker.kill()
            worker.join()
        for each in (self.results, *self.tasks):
            each.close()
        self.workers = []

    def __del__(self) -> None:
        self.close()


def answer(kind: type[Loader]) -> Callable[..., Any]:
    """What a learner would hand in, for a loader with a mistake."""
    return lambda *args, **kwargs: kind(*args, **kwargs)
