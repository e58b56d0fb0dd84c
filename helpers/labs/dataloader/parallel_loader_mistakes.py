"""What people write for 02.parallel_loader: what falls in the third cell, and the worst of the first two."""

from __future__ import annotations

from helpers.labs.dataloader import cleanup_flaws, error_flaws, order_flaws, seed_flaws
from helpers.labs.dataloader.parallel_loader import ladder

_AGAIN = {
    "threads",
    "data_loader_inside",
    "pool_inside",
    "arrival_order",
    "shared_task_queue",
    "refill_on_arrival",
    "unbounded",
    "one_at_a_time",
    "workers_leave_early",
    "numpy_not_seeded",
    "base_seed_not_drawn",
    "threads_in_workers",
    "no_worker_info",
    "error_swallowed",
    "last_batch_unseen",
    "raised_on_arrival",
    "type_lost",
    "traceback_lost",
    "stop_iteration_ends_the_epoch",
    "dead_worker_hangs",
}
_former = [
    *order_flaws.PROCESSES,
    *order_flaws.ORDER,
    *order_flaws.PREFETCH,
    *seed_flaws.INFO,
    *seed_flaws.SEEDS,
    *error_flaws.RAISING,
    *error_flaws.DEAD,
]
for flaw in (*(flaw for flaw in _former if flaw.name in _AGAIN), *cleanup_flaws.CLEANUP):
    ladder.wrong_answer(flaw)
