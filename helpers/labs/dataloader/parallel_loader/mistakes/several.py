"""What people write for 02.parallel_loader, and why it is wrong."""

from __future__ import annotations

from helpers.labs.dataloader.parallel_loader.exercise import parallel_loader
from helpers.labs.dataloader.parallel_loader.mistakes import left_behind
from helpers.labs.dataloader.shared.loaders import add_mistakes
from helpers.labs.dataloader.shared.mistakes import dead_workers, errors, order, processes, seeds

_AGAIN = {
    "threads",
    "data_loader_inside",
    "arrival_order",
    "shared_task_queue",
    "unbounded",
    "prefetch_factor_forgotten",
    "factor_for_all_workers",
    "numpy_not_seeded",
    "numpy_by_remainder",
    "global_generator",
    "hook_before_the_seeds",
    "error_swallowed",
    "traceback_lost",
    "worker_ends_after_its_error",
    "stop_iteration_ends_the_epoch",
    "dead_worker_hangs",
    "refill_on_arrival",
    "more_and_more",
    "none_ends_the_epoch",
    "same_seed_in_all_workers",
    "sampler_before_seed",
    "raised_on_arrival",
    "type_lost",
    "collate_unguarded",
    "hook_unguarded",
    "hook_error_replaced",
    "awkward_type",
    "exit_code_only",
    "time_out_is_death",
    "batch_taken_for_an_error",
}
_former = [
    *processes.PROCESSES,
    *order.ORDER,
    *order.PREFETCH,
    *seeds.INFO,
    *seeds.SEEDS,
    *errors.RAISING,
    *dead_workers.DEAD,
]
_again = [mistake._replace(variants=(), breaks="") for mistake in _former if mistake.name in _AGAIN]
add_mistakes(parallel_loader, (*_again, *left_behind.CLEANUP))
