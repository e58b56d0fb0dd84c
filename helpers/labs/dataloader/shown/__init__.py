"""What the notebook of lab 02 shows and uses, beside its exercises."""

from helpers.labs.dataloader.shown.queue_log import queue_log
from helpers.labs.dataloader.shown.timeline import Timeline, computed, inline, measured, watch
from helpers.labs.dataloader.shown.workers import numpy_seed, set_worker_info, start_worker

__all__ = [
    "Timeline",
    "computed",
    "inline",
    "measured",
    "numpy_seed",
    "queue_log",
    "set_worker_info",
    "start_worker",
    "watch",
]
