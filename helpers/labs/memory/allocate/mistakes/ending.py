"""What people write for 14.allocate where nothing more can be tried, and about what is counted; and why it is wrong."""

from __future__ import annotations

import torch

from helpers.labs.memory.allocate.exercise import RETRY, SEVEN, allocate
from helpers.labs.memory.allocate.right import Right, as_function

bank = allocate.bank(as_function)
RETRIES, OOMS = "num_alloc_retries", "num_ooms"


# The end.


@bank.mistake(breaks=SEVEN)
class ReturnsNone(Right):
    """There is no memory for the request, and None was returned. torch.OutOfMemoryError is to be raised."""

    def out_of_memory(self) -> None:
        self.count(OOMS)


@bank.mistake(breaks=SEVEN)
class PythonsMemoryError(Right):
    """There is no memory for the request, and MemoryError was raised: that is Python's own. torch has
    torch.OutOfMemoryError, and who catches it does not catch this one.
    """

    def out_of_memory(self) -> None:
        self.count(OOMS)
        raise MemoryError("out of memory")


@bank.mistake(breaks=SEVEN)
class PlainRuntimeError(Right):
    """There is no memory for the request, and RuntimeError was raised. torch.OutOfMemoryError is one of its
    kind, and tells what happened.
    """

    def out_of_memory(self) -> None:
        self.count(OOMS)
        raise RuntimeError("CUDA out of memory")


# What is counted.


@bank.mistake(breaks=RETRY[0])
class RetriesAreNotCounted(Right):
    """The device was asked again after `release_all`, it helped, and `num_alloc_retries` is what it was."""

    def everything(self) -> None:
        self.steps.release_all()
        self.malloc()


@bank.variant(RetriesAreNotCounted)
class _(Right):
    def everything(self) -> None:
        self.steps.release_all()
        self.malloc()
        if self.address is None:
            self.count(RETRIES)


@bank.mistake(breaks=RETRY[0])
class RetryCountsIfItHelps(Right):
    """The retry did not help, and `num_alloc_retries` is what it was. It counts whether it helps or not: a
    retry is slow either way.
    """

    def everything(self) -> None:
        self.steps.release_all()
        self.malloc()
        if self.address is not None:
            self.count(RETRIES)


@bank.mistake(breaks=RETRY[1])
class StepFiveCounts(Right):
    """The device was asked again after `release_available` and after `release_all`, and `num_alloc_retries`
    went up by 2. Only asking again after `release_all` is a retry.
    """

    def available(self) -> None:
        if self.steps.release_available():
            self.count(RETRIES)
            self.malloc()


@bank.mistake(breaks=RETRY[1])
class StepFiveHelpedAndCounts(Right):
    """Step 5 gave the address, and `num_alloc_retries` went up. Perhaps the first refusal of the device is
    counted, or asking again if it helps: only asking again after `release_all` is a retry.
    """

    def device(self) -> None:
        self.malloc()
        if self.address is None:
            self.count(RETRIES)

    def everything(self) -> None:
        self.steps.release_all()
        self.malloc()


@bank.variant(StepFiveHelpedAndCounts)
class _(Right):
    def available(self) -> None:
        if self.steps.release_available():
            self.malloc()
            if self.address is not None:
                self.count(RETRIES)


@bank.mistake(breaks=SEVEN)
class OutOfMemoryIsNotCounted(Right):
    """torch.OutOfMemoryError was raised, and `num_ooms` is what it was."""

    def out_of_memory(self) -> None:
        raise torch.OutOfMemoryError("nothing more can be given back")


@bank.mistake(breaks=SEVEN)
class EachRefusalCounts(Right):
    """The request got its address in the end, and `num_ooms` went up. It counts requests that end without
    one, and not how often the device refused.
    """

    def malloc(self) -> None:
        Right.malloc(self)
        if self.address is None:
            self.count(OOMS)

    def out_of_memory(self) -> None:
        raise torch.OutOfMemoryError("nothing more can be given back")


@bank.mistake(breaks=RETRY[0])
class SetsTheNumbers(Right):
    """`num_alloc_retries` was set to 1, and did not go up by 1 from what it was. It counts over all requests."""

    def count(self, name: str) -> None:
        self.steps.stats[name] = 1


@bank.mistake(breaks=SEVEN)
class SetsTheOoms(Right):
    """`num_ooms` was set to 1, and did not go up by 1 from what it was. It counts over all requests."""

    def count(self, name: str) -> None:
        self.steps.stats[name] = 1 if name == OOMS else self.steps.stats[name] + 1
