"""What right answers of this lab share."""

from __future__ import annotations

import itertools
import pickle
import queue
import random
import time
import traceback
import weakref
from multiprocessing.connection import wait

import numpy as np
import torch
import torch.multiprocessing as mp

from helpers.labs.dataloader.shown.workers import numpy_seed, set_worker_info, start_worker


def whole(
    dataset, batch_sampler, collate_fn, *, num_workers, prefetch_factor=2, worker_init_fn=None, generator=None
):
    """The solution of the notebook's third cell, a little shorter."""
    base_seed = torch.empty((), dtype=torch.int64).random_(generator=generator).item()

    def work(id, tasks, results, done):
        torch.set_num_threads(1)
        failure = None
        try:
            random.seed(base_seed + id)
            torch.manual_seed(base_seed + id)
            np.random.seed(numpy_seed(base_seed, id))
            set_worker_info(id, num_workers, base_seed + id, dataset)
            if worker_init_fn is not None:
                worker_init_fn(id)
        except Exception as error:
            failure = type(error), traceback.format_exc()
        while (task := tasks.get()) is not None:
            batch, failed = None, failure
            try:
                batch = None if failure or done.is_set() else collate_fn([dataset[i] for i in task[1]])
            except Exception as error:
                failed = type(error), traceback.format_exc()
            results.put((task[0], batch, failed))
        results.cancel_join_thread()

    results, done, workers = mp.Queue(), mp.Event(), []
    tasks = [mp.Queue() for _ in range(num_workers)]
    try:
        for id in range(num_workers):
            workers.append(start_worker(work, id, tasks[id], results, done))
        todo, early = enumerate(batch_sampler), {}
        sent = 0

        def send():
            nonlocal sent
            for task in itertools.islice(todo, 1):
                tasks[task[0] % num_workers].put(task)
                sent += 1

        for _ in range(prefetch_factor * num_workers):
            send()
        for turn in itertools.count():
            if turn == sent:
                return
            while turn not in early:
                try:
                    place, *rest = results.get(timeout=0.2)
                    early[place] = rest
                except queue.Empty:
                    if dead := [worker.exitcode for worker in workers if not worker.is_alive()]:
                        raise RuntimeError(f"exit codes {dead}") from None
            send()
            batch, failed = early.pop(turn)
            if failed:
                raise remade(*failed)
            yield batch
    finally:
        done.set()
        for each in tasks:
            each.cancel_join_thread()
            each.put(None)
        until = time.monotonic() + 0.25
        for worker in workers:
            worker.join(max(0, until - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()
        for each in (results, *tasks):
            each.close()


def remade(kind: type, text: str) -> Exception:
    if issubclass(kind, StopIteration):
        return RuntimeError(text)
    try:
        return kind(text)
    except Exception:
        return RuntimeError(text)


class Remote(Exception):
    """The worker's traceback, as the cause of an error."""


class Piped:
    """An iterator: one pipe a worker, read by `wait`, which hears of deaths as well; killed at once at the end."""

    def __init__(
        self,
        dataset,
        batch_sampler,
        collate_fn,
        *,
        num_workers,
        prefetch_factor=2,
        worker_init_fn=None,
        generator=None,
    ):
        base_seed = torch.empty((), dtype=torch.int64).random_(generator=generator).item()
        self.workers, self.ends, self.todo = [], [], iter(batch_sampler)
        self.close = weakref.finalize(self, Piped.bury, self.workers, self.ends)
        self.sent, self.turn, self.early = 0, 0, {}
        for id in range(num_workers):
            mine, theirs = mp.Pipe()
            self.ends.append(mine)
            args = theirs, dataset, collate_fn, id, num_workers, base_seed, worker_init_fn
            worker = mp.Process(target=Piped.work, args=args, daemon=True)
            worker.start()
            self.workers.append(worker)
            theirs.close()
        try:
            while self.sent < prefetch_factor * num_workers and self.ask():
                pass
        except BaseException:
            self.close()
            raise

    @staticmethod
    def work(end, dataset, collate_fn, id, num_workers, base_seed, hook):
        torch.set_num_threads(1)
        seed = base_seed + id
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(numpy_seed(base_seed, id))
        set_worker_info(id, num_workers, seed, dataset)
        problem = Piped.caught(lambda: hook(id) if hook else None)[1]
        while True:
            try:
                place, indices = end.recv()
            except EOFError:
                return
            found = None, problem
            if not problem:
                found = Piped.caught(lambda wanted=indices: collate_fn([dataset[i] for i in wanted]))
            end.send((place, *found))

    @staticmethod
    def caught(call):
        try:
            return call(), None
        except Exception as error:
            text = traceback.format_exc()
            try:
                pickle.loads(pickle.dumps(error))
            except Exception:
                error = RuntimeError(text)
            if isinstance(error, StopIteration):
                error = RuntimeError("StopIteration in a sample")
            return None, (error, text)

    @staticmethod
    def bury(workers, ends):
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()
        for end in ends:
            end.close()
        workers.clear()

    def ask(self):
        for indices in itertools.islice(self.todo, 1):
            self.ends[self.sent % len(self.ends)].send((self.sent, indices))
            self.sent += 1
            return True
        return False

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.following()
        except BaseException:
            self.close()
            raise

    def following(self):
        if self.turn == self.sent:
            raise StopIteration
        while self.turn not in self.early:
            for ready in wait([*self.ends, *(worker.sentinel for worker in self.workers)]):
                if isinstance(ready, int):
                    raise RuntimeError("a worker died")
                try:
                    place, batch, problem = ready.recv()
                except (EOFError, ConnectionResetError):
                    raise RuntimeError("a worker died") from None
                self.early[place] = batch, problem
        batch, problem = self.early.pop(self.turn)
        self.turn += 1
        if problem:
            raise problem[0] from Remote(problem[1])
        self.ask()
        return batch
