"""What people write for 14.allocate that takes the address 0 for none, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch

from helpers.labs.memory.allocate.exercise import allocate
from helpers.labs.memory.allocate.right import Right, as_function

bank = allocate.bank(as_function)
RETRIES, OOMS = "num_alloc_retries", "num_ooms"
ZERO = "An address may be 0."


@bank.mistake(breaks=ZERO)
class ZeroIsNone(Right):
    """The search gave the address 0, and it was taken for none. 0 counts as False: perhaps there is `if
    address:` or an `or`. Ask `is None`.
    """

    def found(self) -> bool:
        return bool(self.address)


@allocate.variant("zero_is_none")
def _(steps: Any) -> int:
    address = steps.search() or steps.free_memory_callbacks() and steps.search()
    if address:
        return address
    if steps.threshold > 0:
        steps.collect_garbage()
    address = steps.device_malloc() or steps.release_available() and steps.device_malloc()
    if not address:
        steps.release_all()
        steps.stats[RETRIES] += 1
        address = steps.device_malloc()
    if not address:
        steps.stats[OOMS] += 1
        raise torch.OutOfMemoryError
    return address


@bank.variant(ZeroIsNone)
class _(Right):
    """Of the first search only."""

    def idle(self) -> None:
        self.address = self.steps.search() or None


@bank.mistake(breaks=ZERO)
class ZeroAfterTheCallbacksIsNone(Right):
    """The search after the callbacks gave the address 0, and it was taken for none, while 0 from the first search is taken.
    Perhaps it is asked by `if address:` or an `or` there: ask `is None`.
    """

    def callbacks(self) -> None:
        if self.steps.free_memory_callbacks():
            self.address = self.steps.search() or None


@bank.variant(ZeroAfterTheCallbacksIsNone)
class _(Right):
    """And of all that comes behind it."""

    first = True

    def found(self) -> bool:
        first, self.first = self.first, False
        return self.address is not None if first else bool(self.address)


@bank.mistake(breaks=ZERO)
class ZeroFromTheDeviceIsNone(Right):
    """The device gave the address 0, and it was taken for none. The search is asked by `is None`, and
    `device_malloc` perhaps by `if address:`.
    """

    asked = False

    def malloc(self) -> None:
        self.asked = True
        Right.malloc(self)

    def found(self) -> bool:
        return bool(self.address) if self.asked else self.address is not None


@bank.variant(ZeroFromTheDeviceIsNone)
class _(Right):
    """In step 4 only."""

    def device(self) -> None:
        self.address = self.steps.device_malloc() or None


@bank.mistake(breaks=ZERO)
class ZeroOfStepFiveIsNone(Right):
    """After `release_available` the device gave the address 0, and it was taken for none, while 0 from step 4 is taken. Perhaps
    it is asked by `if address:` there: ask `is None`.
    """

    def available(self) -> None:
        if self.steps.release_available():
            self.address = self.steps.device_malloc() or None


@bank.variant(ZeroOfStepFiveIsNone)
class _(Right):
    """And in step 6."""

    def available(self) -> None:
        if self.steps.release_available():
            self.address = self.steps.device_malloc() or None

    def everything(self) -> None:
        Right.everything(self)
        self.address = self.address or None


@bank.mistake(breaks=ZERO)
class ZeroIsOutOfMemory(Right):
    """The device gave the address 0, the steps are right, and OutOfMemoryError was raised even so. Perhaps there is `if not
    address:` before the error: ask `is None`.
    """

    def everything(self) -> None:
        Right.everything(self)
        self.address = self.address or None


@allocate.variant(ZeroIsOutOfMemory)
def _(steps: Any) -> int:
    """Whichever step of the device gave it."""
    address = steps.search()
    if address is None and steps.free_memory_callbacks():
        address = steps.search()
    if address is not None:
        return address
    if steps.threshold > 0:
        steps.collect_garbage()
    address = steps.device_malloc()
    if address is None and steps.release_available():
        address = steps.device_malloc()
    if address is None:
        steps.release_all()
        steps.stats[RETRIES] += 1
        address = steps.device_malloc()
    if not address:
        steps.stats[OOMS] += 1
        raise torch.OutOfMemoryError
    return address


@allocate.variant(ZeroIsOutOfMemory)
def _(steps: Any) -> int:
    """That of step 5 or 6."""
    address = steps.search()
    if address is None and steps.free_memory_callbacks():
        address = steps.search()
    if address is not None:
        return address
    if steps.threshold > 0:
        steps.collect_garbage()
    address = steps.device_malloc()
    if address is not None:
        return address
    if steps.release_available():
        address = steps.device_malloc()
    if address is None:
        steps.release_all()
        steps.stats[RETRIES] += 1
        address = steps.device_malloc()
    if not address:
        steps.stats[OOMS] += 1
        raise torch.OutOfMemoryError
    return address
