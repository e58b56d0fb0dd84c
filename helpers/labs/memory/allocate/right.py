"""A right answer to 14.allocate in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Right:
    """One request, a method a step. `self.address` is None until there is one."""

    def __init__(self, steps: Any) -> None:
        self.steps = steps
        self.address: int | None = None

    def __call__(self) -> int:
        for step in (self.idle, self.callbacks, self.garbage, self.device, self.available, self.everything):
            step()
            if self.found():
                return self.end()
        return self.out_of_memory()

    def found(self) -> bool:
        return self.address is not None

    def end(self) -> Any:
        return self.address

    def search(self) -> None:
        self.address = self.steps.search()

    def malloc(self) -> None:
        self.address = self.steps.device_malloc()

    def idle(self) -> None:
        self.search()

    def callbacks(self) -> None:
        if self.steps.free_memory_callbacks():
            self.search()

    def garbage(self) -> None:
        if self.steps.threshold > 0:
            self.steps.collect_garbage()

    def device(self) -> None:
        self.malloc()

    def available(self) -> None:
        if self.steps.release_available():
            self.malloc()

    def everything(self) -> None:
        self.steps.release_all()
        self.count("num_alloc_retries")
        self.malloc()

    def count(self, name: str) -> None:
        self.steps.stats[name] += 1

    def out_of_memory(self) -> Any:
        self.count("num_ooms")
        raise torch.OutOfMemoryError("nothing more can be given back")


def as_function(written: type[Right]) -> Callable[[Any], Any]:
    """The answer is a function of the steps."""
    return lambda steps: written(steps)()
