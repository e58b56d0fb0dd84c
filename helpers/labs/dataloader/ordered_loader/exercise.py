"""Exercise 02.ordered_loader: worker processes, index queues, order, a bounded number of batches under way."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.dataloader.shared.loaders import add_steps
from helpers.labs.dataloader.shared.properties import order, seeds
from helpers.labs.dataloader.shared.properties.order import FIRST, LAST
from helpers.labs.dataloader.shared.properties.seeds import WITHIN

ordered_loader = Exercise(
    "02.ordered_loader",
    "Workers, in order, within bounds",
    objective="Load batches in processes that work ahead, and hand them over in order.",
    minutes=35,
    difficulty="hard",
    seconds=15,
    processes=True,
    hints=[
        "Give each worker a queue of its own for its tasks, and all of them one queue for results. A task is the "
        "place of the batch in the order and its indices; a result is the place and the batch.",
        "Batch k goes to worker k % num_workers. Fill the queues with prefetch_factor * num_workers tasks, then "
        "ask the sampler for one batch more each time that you hand one over. Results that come before their "
        "turn wait in a dict.",
        "A worker: torch.set_num_threads(1), the three seeds, set_worker_info, worker_init_fn; then "
        "`while (task := tasks.get()) is not None:` load, collate, put. The base seed is "
        "torch.empty((), dtype=torch.int64).random_(generator=generator).item(), drawn before the sampler is "
        "asked for anything. At the end each worker gets its None and is joined.",
    ],
)

ASKS = {
    order.PROCESSES: (
        "Batches of a map-style dataset, loaded by `num_workers` processes, in the order of `batch_sampler`.",
        "Start the workers yourself, with lab.start_worker(work, *args) or torch.multiprocessing: no DataLoader, no pool.",
        "Batch k is `collate_fn([dataset[i] for i in indices])` with the sampler's k-th list of indices.",
        "Worker k % num_workers loads and collates it",
    ),
    order.ORDER: (
        "Batch k is `collate_fn([dataset[i] for i in indices])` with the sampler's k-th list of indices.",
        "What arrives before its turn is kept.",
    ),
    order.TURNS: "Worker k % num_workers loads and collates it: each worker has tasks of its own.",
    order.SLOW: "So many, and no more, are asked for and not yet handed over.",
    order.BOUND: "The sampler is gone through once, lazily: prefetch_factor * num_workers batches are asked for at first, "
    "and one more each time that one is handed over.",
    order.DEFAULT: "prefetch_factor * num_workers batches are asked for at first",
    order.LATE: "Workers live until the last batch has been received: tensors travel as handles, which the sender answers for.",
    order.EDGES: "A list of indices may be empty, and a batch may be anything, None too.",
    seeds.SEEDS: (
        "seeds random and torch with base_seed + id and NumPy with lab.numpy_seed(base_seed, id);",
        "So its random numbers are those of DataLoader's workers.",
    ),
    seeds.DRAW: "base_seed is `torch.empty((), dtype=torch.int64).random_(generator=generator).item()`, drawn once, before "
    "the sampler is asked.",
    seeds.INFO: (
        "A worker, in this order: calls torch.set_num_threads(1);",
        "calls lab.set_worker_info(id, num_workers, base_seed + id, dataset); calls worker_init_fn(id), if there is one; "
        "then it loads.",
    ),
    order.ENDS: "After the last batch the workers are told to end.",
}

add_steps(ordered_loader, FIRST + WITHIN + LAST, ASKS)
