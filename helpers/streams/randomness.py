"""Random numbers of the device: a generator of its own, and the same draws for a kernel and its shadow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.streams.machine import machine


class Draws:
    """The draws of one operation. Their order is that of issue, whenever the kernel runs.

    generator: as the operation got it. None: the device's own, which stands in for the CPU's for that long, so
    that work on the device leaves the CPU's numbers alone.
    """

    def __init__(self, generator: torch.Generator | None) -> None:
        self._given = generator
        self._state = (generator or machine.generator).get_state()

    def first(self, call: Callable[[], Any]) -> Any:
        """Runs it; the generator goes on."""
        if self._given is not None:
            return call()
        after, result = _drawn(torch.default_generator, self._state, call)
        machine.generator.set_state(after)
        return result

    def again(self, call: Callable[[], Any]) -> Any:
        """Runs it with the same draws; no generator moves."""
        return _drawn(self._given or torch.default_generator, self._state, call)[1]


def _drawn(
    generator: torch.Generator, state: torch.Tensor, call: Callable[[], Any]
) -> tuple[torch.Tensor, Any]:
    """The state that `call` leaves when the generator starts from `state`, and its result. All is put back."""
    before = generator.get_state()
    generator.set_state(state)
    try:
        result = call()
        return generator.get_state(), result
    finally:
        generator.set_state(before)
