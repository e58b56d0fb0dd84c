"""Exercise 02.ordered_loader: worker processes, index queues, order, a bounded number of batches under way."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.dataloader.shared.loaders import add_steps
from helpers.labs.dataloader.shared.properties.order import FIRST, LAST
from helpers.labs.dataloader.shared.properties.seeds import WITHIN

ordered_loader = Exercise(
    "02.ordered_loader",
    "A loader with worker processes: order",
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

add_steps(ordered_loader, FIRST + WITHIN + LAST)
