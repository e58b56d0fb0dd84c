"""What people write for 02.parallel_loader: what falls in the third cell, and the worst of the first two."""

from __future__ import annotations

from helpers.labs.dataloader import (
    cleanup_flaws,
    dead_flaws,
    error_flaws,
    order_flaws,
    process_flaws,
    seed_flaws,
)
from helpers.labs.dataloader.loader_steps import add_flaws
from helpers.labs.dataloader.parallel_loader import parallel_loader

_AGAIN = {
    "threads",
    "data_loader_inside",
    "arrival_order",
    "shared_task_queue",
    "unbounded",
    "numpy_not_seeded",
    "error_swallowed",
    "stop_iteration_ends_the_epoch",
    "dead_worker_hangs",
}
_former = [
    *process_flaws.PROCESSES,
    *order_flaws.ORDER,
    *order_flaws.PREFETCH,
    *seed_flaws.SEEDS,
    *error_flaws.RAISING,
    *dead_flaws.DEAD,
]
add_flaws(
    parallel_loader,
    (*(flaw._replace(forms=()) for flaw in _former if flaw.name in _AGAIN), *cleanup_flaws.CLEANUP),
)
