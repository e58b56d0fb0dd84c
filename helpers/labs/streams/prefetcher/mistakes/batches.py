"""What people write for 06.prefetcher, and why it is wrong: batches that are not as most are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from helpers.labs.streams.prefetcher.exercise import YIELDS, prefetcher
from helpers.labs.streams.prefetcher.mistakes.order import feeding


@prefetcher.mistake(breaks=YIELDS)
def ends_at_an_empty_batch(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A batch without rows ends the epoch: those behind it are lost. Perhaps it was taken for the end of the loader. Only
    the iterator knows the end.
    """

    def until_empty() -> Iterator[Tensor]:
        for batch in loader:
            if not batch.numel():
                return
            yield batch

    return feeding(until_empty(), copy, stream)


@prefetcher.mistake(breaks=YIELDS)
def empty_batch_left_out(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A batch without rows is not handed out as the others are. Perhaps it was passed over: the consumer counts on one
    batch for each of the loader.
    """
    return feeding((batch for batch in loader if batch.numel()), copy, stream)


class BeginsAnew:
    """Asks the loader for an iterator each time that a loop asks it for one."""

    def __init__(self, loader: Any, copy: Any, stream: Any) -> None:
        self.given = loader, copy, stream
        self.batches = feeding(*self.given)

    def __iter__(self) -> BeginsAnew:
        self.batches = feeding(*self.given)
        return self

    def __next__(self) -> Tensor:
        return next(self.batches)


@prefetcher.mistake(breaks=YIELDS)
def begins_anew(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A loop over what is left begins with other batches than the next one. Perhaps `__iter__` asks the loader anew: an
    iterator's returns self, and changes nothing.
    """
    return BeginsAnew(loader, copy, stream)
