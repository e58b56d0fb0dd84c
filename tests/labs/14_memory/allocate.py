"""Right answers of 14.allocate, of other shapes than the solution's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import OutOfMemoryError


def returns_early(steps: Any) -> int:
    """A return after each step that gives an address."""
    if (found := steps.search()) is not None:
        return found
    if steps.free_memory_callbacks():
        found = steps.search()
        if found is not None:
            return found
    if steps.threshold > 0:
        steps.collect_garbage()
    if (found := steps.device_malloc()) is not None:
        return found
    if steps.release_available() and (found := steps.device_malloc()) is not None:
        return found
    steps.stats["num_alloc_retries"] += 1
    steps.release_all()
    if (found := steps.device_malloc()) is not None:
        return found
    steps.stats["num_ooms"] += 1
    raise torch.OutOfMemoryError


def _tries(steps: Any) -> Iterator[int | None]:
    yield steps.search()
    if steps.free_memory_callbacks():
        yield steps.search()
    if steps.threshold > 0:
        steps.collect_garbage()
    yield steps.device_malloc()
    if steps.release_available():
        yield steps.device_malloc()
    steps.release_all()
    steps.stats.update(num_alloc_retries=steps.stats["num_alloc_retries"] + 1)
    yield steps.device_malloc()


def first_of_a_generator(steps: Any) -> int:
    """Tries that are made only when the one before gave nothing."""
    with suppress(StopIteration):
        return next(address for address in _tries(steps) if address is not None)
    steps.stats["num_ooms"] += 1
    raise OutOfMemoryError("CUDA out of memory")


def by_a_table(steps: Any) -> int:
    """Pairs of what prepares a try and the try, in a loop."""

    def collect() -> bool:
        if steps.threshold > 0:
            steps.collect_garbage()
        return True

    def retry() -> bool:
        steps.release_all()
        steps.stats["num_alloc_retries"] = 1 + steps.stats["num_alloc_retries"]
        return True

    for prepare, attempt in (
        (lambda: True, steps.search),
        (steps.free_memory_callbacks, steps.search),
        (collect, steps.device_malloc),
        (steps.release_available, steps.device_malloc),
        (retry, steps.device_malloc),
    ):
        if prepare():
            address = attempt()
            if isinstance(address, int):
                return address
    steps.stats["num_ooms"] += 1
    raise torch.cuda.OutOfMemoryError("out of memory")


def as_torch_writes_it(steps: Any) -> int:
    """One chain of conditions, as in CUDACachingAllocator.cpp."""
    block: list[int] = []

    def got(address: int | None) -> bool:
        block.extend(() if address is None else (address,))
        return bool(block)

    found = got(steps.search()) or (steps.free_memory_callbacks() and got(steps.search()))
    if not found:
        if steps.threshold > 0:
            steps.collect_garbage()
        found = got(steps.device_malloc()) or (steps.release_available() and got(steps.device_malloc()))
    if not found:
        steps.release_all()
        found = got(steps.device_malloc())
        steps.stats["num_alloc_retries"] += 1
    if not found:
        steps.stats["num_ooms"] += 1
        raise torch.OutOfMemoryError(f"out of memory after {steps.stats['num_alloc_retries']} retries")
    return block[0]


RIGHT: list[Any] = [returns_early, first_of_a_generator, by_a_table, as_torch_writes_it]
