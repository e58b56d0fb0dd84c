"""What torch gives its own worker processes and hides from everybody else; the lab hands it to the learner."""

from __future__ import annotations

import multiprocessing.util
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

import cloudpickle
import torch
import torch.utils.data._utils.worker as torch_worker


def start_worker(work: Callable[..., Any], *args: Any) -> BaseProcess:
    """Starts `work(*args)` in a daemon process, by the start method that is the default here, and returns it.

    By fork where that is the default (Linux, up to Python 3.13): the process is a copy of this one. Elsewhere
    `work` and `args` travel by cloudpickle, so that functions and classes of a notebook may be used; a queue
    then has to be among `args`. A worker whose parent is killed ends by itself.
    """
    context = torch.multiprocessing.get_context()
    if context.get_start_method() != "fork":
        work, args = _ByValue(work), tuple(arg if _is_channel(arg) else _ByValue(arg) for arg in args)
    worker = context.Process(target=_live, args=(work, args), daemon=True)
    worker.start()
    return worker


def set_worker_info(id: int, num_workers: int, seed: int, dataset: Any) -> None:
    """Makes `torch.utils.data.get_worker_info()` answer in this process; torch has no public function for it.

    seed: the worker's own one, base seed + id. Mirrors torch/utils/data/_utils/worker.py, _worker_loop.
    """
    torch_worker._worker_info = torch_worker.WorkerInfo(
        id=id, num_workers=num_workers, seed=seed, dataset=dataset
    )


def numpy_seed(base_seed: int, id: int) -> list[int]:
    """What torch seeds NumPy's global generator of a worker with: four words of 32 bits, well mixed.

    base_seed + id has 63 bits, and np.random.seed takes no number above 2**32 - 1.
    """
    return torch_worker._generate_state(base_seed, id)


def _live(work: Any, args: tuple[Any, ...]) -> None:
    """Life of a worker."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if isinstance(work, _ByValue):
        work, args = work.value, tuple(arg.value if isinstance(arg, _ByValue) else arg for arg in args)
    work(*args)


def _end_with_parent() -> None:
    """A killed parent cannot tell its workers; the end of its life can be waited for."""
    wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _is_channel(value: Any) -> bool:
    """Whether it is a queue, an event, ...: multiprocessing hands these on in its own way."""
    return type(value).__module__.startswith("multiprocessing.")


class _ByValue:
    """Pickled by cloudpickle when a process is started with it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return _built, (cloudpickle.dumps(self.value),)


def _built(data: bytes) -> _ByValue:
    return _ByValue(cloudpickle.loads(data))
