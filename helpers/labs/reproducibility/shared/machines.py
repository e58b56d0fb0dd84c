"""Stands in for machines and processes that this one is not: GPUs, another process, a DataLoader's worker.

A check that needed two GPUs, or a process with other hashes, could run on few machines or would be slow.
Everything here is put back at the end of its `with` block.
"""

from __future__ import annotations

import builtins
import multiprocessing
import multiprocessing.process
import os
import platform
import random
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
import torch.utils.data._utils.worker as torch_worker

_hash = hash


@contextmanager
def replaced(owner: Any, **values: Any) -> Iterator[None]:
    """Other values for attributes of a module."""
    old = {name: getattr(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in old.items():
            setattr(owner, name, value)


class Gpus:
    """Pretended GPUs. What torch.cuda asks of CUDA is answered here; CPU generators stand for theirs.

    generators: one a GPU. started: whether CUDA has started. Until then, as in torch, seeds are queued and
    `torch.cuda.default_generators` is empty.
    """

    def __init__(self, count: int, started: bool) -> None:
        self.generators = tuple(torch.Generator() for _ in range(count))
        self.started = started
        self._queue: list[Callable[[], None]] = []
        self._current = 0

    def start(self) -> None:
        """Starts CUDA, as its first use would."""
        if not self.generators:
            raise RuntimeError("No CUDA GPUs are available")
        if not self.started:
            self.started = True
            torch.cuda.default_generators = self.generators
            for call in self._queue:
                call()

    def later(self, call: Callable[[], None], **kwargs: Any) -> None:
        """Calls now if CUDA has started, else when it starts."""
        if self.started:
            call()
        else:
            self._queue.append(call)

    def current(self) -> int:
        self.start()
        return self._current

    def exchange(self, device: Any) -> int:
        """Makes another GPU the current one, which starts CUDA; the one before. Less than 0: none other."""
        before, index = self.current(), device if isinstance(device, int) else torch.device(device).index
        self._current = index if index is not None and index >= 0 else before
        return before

    def nothing(self, device: Any = None) -> None:
        """What only has to start CUDA."""
        self.start()


@contextmanager
def gpus(count: int, *, started: bool = False) -> Iterator[Gpus]:
    """As if the machine had `count` GPUs, as far as torch.cuda's random numbers can tell."""
    pretended = Gpus(count, started)
    common: dict[str, Any] = dict(
        device_count=lambda: count,
        is_initialized=lambda: pretended.started,
        current_device=pretended.current,
        _lazy_init=pretended.start,
        _lazy_call=pretended.later,
    )
    known = pretended.generators if started else ()
    with ExitStack() as stack:
        stack.enter_context(replaced(torch.cuda.random, **common))
        stack.enter_context(
            replaced(
                torch.cuda,
                **common,
                is_available=lambda: count > 0,
                default_generators=known,
                init=pretended.start,
                set_device=pretended.exchange,
                _exchange_device=pretended.exchange,
                _maybe_exchange_device=pretended.exchange,
                synchronize=pretended.nothing,
                empty_cache=lambda: None,
            )
        )
        stack.enter_context(
            replaced(
                torch.accelerator,
                device_count=lambda: count,
                is_available=lambda: count > 0,
                current_accelerator=lambda check_available=False: torch.device("cuda"),
            )
        )
        yield pretended


@contextmanager
def elsewhere(*, pid: int = 0, hours: int = 0, salt: int = 0) -> Iterator[None]:
    """As if in a process with a different number, at a different time, with a different salt in the hashes of text.

    pid: added to the process ids, which stay the same in a fork. hours: on a clock that stands still at that hour. salt: 0 leaves `hash` alone.
    """
    now = 1_700_000_000 + 3600 * hours
    own, parent = os.getpid() + pid, os.getppid() + pid

    def salted(value: Any) -> int:
        return _hash((salt, value)) if salt and _holds_text(value) else _hash(value)

    clock = dict(time=float(now), monotonic=float(now), perf_counter=float(now))
    exact = {f"{name}_ns": now * 10**9 for name in clock}
    stopped = {name: (lambda value=value: value) for name, value in {**clock, **exact}.items()}
    with (
        replaced(os, getpid=lambda: own, getppid=lambda: parent),
        replaced(time, **stopped),
        replaced(builtins, hash=salted),
    ):
        yield


@contextmanager
def in_another_process(name: str, number: int) -> Iterator[None]:
    """As if in a process that this one has started, with this name: the `number`th, from 1."""
    parent = multiprocessing.current_process()
    child = multiprocessing.Process(name=name)
    child._identity = (number,)  # type: ignore[attr-defined]
    with replaced(multiprocessing.process, _current_process=child, _parent_process=parent):
        yield


@contextmanager
def on_another_host() -> Iterator[None]:
    """As if on a machine of a different name."""

    def name() -> str:
        return "node5"

    with replaced(socket, gethostname=name, getfqdn=name), replaced(platform, node=name):
        yield


def _holds_text(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return any(map(_holds_text, value))
    return isinstance(value, (str, bytes))


class _SeenInfo(torch_worker.WorkerInfo):
    """What `get_worker_info()` gives; notes what is read."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("seed", "dataset"):
            _read.append(name)
        return super().__getattribute__(name)


_read: list[str] = []


@contextmanager
def worker(base_seed: int, id: int, workers: int, dataset: Any = None) -> Iterator[list[str]]:
    """As if in a worker of a DataLoader, seeded as torch seeds it; the global generators are left changed.

    base_seed: the number that the loader drew for this epoch. Yields a list that tells afterwards what the
    code asked for: "seed", "dataset".
    """
    seed = base_seed + id
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    np.random.seed(torch_worker._generate_state(base_seed, id))
    info = _SeenInfo(id=id, num_workers=workers, seed=seed, dataset=dataset)
    _read.clear()
    # Not `replaced`: a check plays thousands of workers.
    old = torch_worker._worker_info, torch.initial_seed, traceback.format_stack
    torch_worker._worker_info, torch.initial_seed, traceback.format_stack = info, _seen_seed, _no_stack
    try:
        yield _read
    finally:
        torch_worker._worker_info, torch.initial_seed, traceback.format_stack = old


def _seen_seed() -> int:
    """`torch.initial_seed`; notes that it is asked."""
    _read.append("seed")
    return torch.default_generator.initial_seed()


def _no_stack(*args: Any, **kwargs: Any) -> list[str]:
    """torch.manual_seed asks for the stack for each kind of device that has not started: ten times its own work."""
    return []
