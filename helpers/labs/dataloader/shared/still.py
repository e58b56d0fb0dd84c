"""What the docstring of a later loader says of those before it, for each step that they share."""

from __future__ import annotations

from helpers.labs.dataloader.shared.properties import errors, order, seeds

_AHEAD = "prefetch_factor * num_workers batches are asked for at first, and one more each time that one is handed over"
_PROCESS = "Of ordered_loader: worker k % num_workers, a process of your own, loads batch k"
_WORKER = "a worker sets its threads, seeds and worker info, calls worker_init_fn, then loads"
_IN_ORDER = "batches may be anything and come in the order of `batch_sampler`"
STILL_ORDERED = {
    order.PROCESSES: _PROCESS,
    order.TURNS: _PROCESS,
    order.ORDER: _IN_ORDER,
    order.EDGES: _IN_ORDER,
    order.SLOW: _AHEAD,
    order.BOUND: _AHEAD,
    order.DEFAULT: _AHEAD,
    order.LATE: "workers live until the last batch has been received",
    seeds.SEEDS: _WORKER,
    seeds.INFO: _WORKER,
    seeds.DRAW: "base_seed is drawn once, before the sampler is asked",
}
_RAISED = (
    "Of raising_loader: an exception in a worker is raised at its batch's turn, of the class told there, with "
    "the worker's traceback"
)
STILL_RAISING = dict.fromkeys((description for description, _ in errors.ERRORS), _RAISED)
STILL_RAISING |= dict.fromkeys(
    (errors.KILLED, errors.EXITED, errors.PATIENT),
    "a worker that died is a RuntimeError, and one that lives is waited for",
)
STILL_RAISING[errors.ITSELF] = _IN_ORDER
