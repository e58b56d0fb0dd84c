"""What people write for 02.raising_loader, and why it is wrong."""

from __future__ import annotations

from helpers.labs.dataloader.raising_loader.exercise import raising_loader
from helpers.labs.dataloader.shared.loaders import add_mistakes
from helpers.labs.dataloader.shared.mistakes import dead_workers, errors, order, processes, seeds
from helpers.labs.dataloader.shared.properties.seeds import DRAW

_AGAIN = (
    "data_loader_inside",
    "threads",
    "arrival_order",
    "shared_task_queue",
    "unbounded",
    "one_task_too_many",
    "refill_on_arrival",
    "prefetch_factor_forgotten",
    "factor_for_all_workers",
    "none_ends_the_epoch",
)
_former = [
    mistake for mistake in (*processes.PROCESSES, *order.ORDER, *order.PREFETCH) if mistake.name in _AGAIN
]
_numpy = [mistake._replace(at=DRAW) for mistake in seeds.SEEDS if mistake.name == "numpy_not_seeded"]
_seeds = [
    mistake
    for mistake in (*seeds.INFO, *seeds.SEEDS)
    if mistake.name in ("sampler_before_seed", "threads_in_workers")
]
_again = [mistake._replace(breaks="") for mistake in (*_former, *_numpy, *_seeds)]
add_mistakes(raising_loader, (*_again, *errors.RAISING, *dead_workers.DEAD))
