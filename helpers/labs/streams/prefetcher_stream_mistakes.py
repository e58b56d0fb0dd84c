"""What people get wrong in 06.prefetcher with the current stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from helpers import streams
from helpers.labs.streams.prefetcher import prefetcher
from helpers.labs.streams.prefetcher_mistakes import feeding, handed_out


@prefetcher.mistake()
def side_stream_left_set(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """yield stands inside `with streams.stream(stream):`. A generator that is waiting in a `with` has not
    left it, so the body of the consumer's loop runs with the side stream as the current one.
    """
    current = streams.current_stream()
    with streams.stream(stream):
        coming = None
        for batch in loader:
            following = copy(batch)
            if coming is not None:
                current.wait_stream(stream)
                coming.record_stream(current)
                yield coming
            coming = following
        if coming is not None:
            current.wait_stream(stream)
            yield coming


@prefetcher.variant(side_stream_left_set)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Without a batch ahead."""
    for batch in loader:
        with streams.stream(stream):
            yield copy(batch)


@prefetcher.mistake()
def copies_on_the_consumers_stream(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """copy(batch) queues on whatever stream is current. Without `with streams.stream(stream):` around it,
    that is the consumer's, and one queue overlaps nothing.
    """
    coming = None
    for batch in loader:
        following = copy(batch)
        if coming is not None:
            yield handed_out(coming, stream)
        coming = following
    if coming is not None:
        yield handed_out(coming, stream)


@prefetcher.variant(copies_on_the_consumers_stream)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Nothing but the copy."""
    for batch in loader:
        yield copy(batch)


@prefetcher.variant(copies_on_the_consumers_stream)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The block is around the call of next only."""
    batches = iter(loader)
    coming: list[Tensor] = []
    while True:
        with streams.stream(stream):
            batch = next(batches, None)
        if batch is not None:
            coming.append(copy(batch))
        if batch is None or len(coming) > 1:
            if not coming:
                return
            yield handed_out(coming.pop(0), stream)


@prefetcher.mistake()
def stream_of_its_own(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The caller gives the stream for the copies, and may have other work to order with it. A new one is not
    that one.
    """
    return feeding(loader, copy, streams.Stream())


@prefetcher.mistake()
def stream_of_torch_cuda(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """torch.cuda.stream knows the streams of CUDA only, and this one is of the simulated device. Without a
    GPU it does nothing, silently.
    """

    def side(batch: Tensor) -> Tensor:
        with torch.cuda.stream(stream):
            return copy(batch)

    return feeding(loader, side, streams.current_stream())
