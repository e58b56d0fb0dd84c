"""Right answers to 02.ordered_loader, in different shapes."""

from __future__ import annotations

import itertools
import random
from collections import deque

import numpy as np
import torch
import torch.multiprocessing as mp

from helpers.labs.dataloader.shown.workers import numpy_seed, set_worker_info

from .shared import Piped, whole


def ordered_by_queues(
    dataset, batch_sampler, collate_fn, *, num_workers, prefetch_factor=2, worker_init_fn=None, generator=None
):
    """A result queue for each worker: results come in turns, and nothing has to be put in order."""
    base_seed = torch.empty((), dtype=torch.int64).random_(generator=generator).item()
    tasks, results = ([mp.SimpleQueue() for _ in range(num_workers)] for _ in range(2))

    def work(id):
        torch.set_num_threads(1)
        random.seed(base_seed + id), torch.manual_seed(base_seed + id)
        np.random.seed(numpy_seed(base_seed, id))
        set_worker_info(id, num_workers, base_seed + id, dataset)
        (worker_init_fn or (lambda id: None))(id)
        for indices in iter(tasks[id].get, None):
            results[id].put(collate_fn([dataset[i] for i in indices]))

    workers = [mp.Process(target=work, args=(id,), daemon=True) for id in range(num_workers)]
    for worker in workers:
        worker.start()
    todo, open_turns = iter(batch_sampler), deque()
    for turn in itertools.cycle(range(num_workers)):
        full = len(open_turns) == prefetch_factor * num_workers
        if full or (indices := next(todo, None)) is None:
            break
        tasks[turn].put(indices)
        open_turns.append(turn)
    turns = itertools.cycle(range(num_workers))
    after = itertools.islice(itertools.cycle(range(num_workers)), len(open_turns) % num_workers, None)
    while open_turns:
        open_turns.popleft()
        yield results[next(turns)].get()
        for indices in itertools.islice(todo, 1):
            turn = next(after)
            tasks[turn].put(indices)
            open_turns.append(turn)
    for each in tasks:
        each.put(None)
    for worker in workers:
        worker.join()


RIGHT = [ordered_by_queues, whole, Piped]
