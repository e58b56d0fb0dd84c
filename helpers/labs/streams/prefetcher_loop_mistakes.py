"""What people get wrong in 06.prefetcher with the loop, the generator and its buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from helpers import streams
from helpers.labs.streams.prefetcher import prefetcher
from helpers.labs.streams.prefetcher_mistakes import feeding, handed_out


@prefetcher.mistake()
def no_batch_ahead(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Each copy is queued only when its batch is asked for. A consumer that reads its loss in each step has
    finished by then, and the copy runs alone.
    """
    for batch in loader:
        with streams.stream(stream):
            ready = copy(batch)
        yield handed_out(ready, stream)


@prefetcher.mistake()
def last_batch_lost(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """When the loader is empty, one batch is still coming. It has to be handed out after the loop."""
    coming = None
    for batch in loader:
        if coming is not None:
            ready = handed_out(coming, stream)
        with streams.stream(stream):
            following = copy(batch)
        if coming is not None:
            yield ready
        coming = following


@prefetcher.variant(last_batch_lost)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Leaves when there is no next one."""
    batches = iter(loader)
    batch = next(batches, None)
    while batch is not None:
        with streams.stream(stream):
            ready = copy(batch)
        batch = next(batches, None)
        if batch is None:
            return
        yield handed_out(ready, stream)


@prefetcher.mistake()
def stop_iteration_leaked(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """next(iterator) raises StopIteration at the end, and inside a generator Python turns that into a
    RuntimeError. Give next a default, or let a for loop do it.
    """
    batches = iter(loader)
    with streams.stream(stream):
        coming = copy(next(batches))
    while True:
        ready = handed_out(coming, stream)
        with streams.stream(stream):
            coming = copy(next(batches))
        yield ready


@prefetcher.variant(stop_iteration_leaked)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Only when the loader is empty."""
    batches = iter(loader)
    with streams.stream(stream):
        coming = copy(next(batches))
    for batch in batches:
        ready = handed_out(coming, stream)
        with streams.stream(stream):
            coming = copy(batch)
        yield ready
    yield handed_out(coming, stream)


@prefetcher.mistake()
def length_asked(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A loader need not have a length: one over a stream of data has none. Iterate until it ends."""
    batches = iter(loader)
    for _ in range(len(loader)):
        yield from feeding([next(batches)], copy, stream)


@prefetcher.mistake()
def whole_loader_copied_first(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """All copies are queued before the first batch is handed out, so the device has to hold the whole data
    set.
    """
    ready = []
    for batch in loader:
        with streams.stream(stream):
            ready.append((copy(batch), stream.record_event()))
    while ready:
        batch, done = ready.pop(0)
        streams.current_stream().wait_event(done)
        batch.record_stream(streams.current_stream())
        yield batch


@prefetcher.variant(whole_loader_copied_first)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Waits for all copies at once."""
    with streams.stream(stream):
        ready = [copy(batch) for batch in loader]
    streams.current_stream().wait_stream(stream)
    yield from ready


@prefetcher.mistake()
def loader_read_first(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """list(loader) reads the whole data set into the host's memory before the first batch is handed out."""
    return feeding(list(loader), copy, stream)


@prefetcher.mistake()
def two_batches_ahead(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """One batch ahead keeps the copying engine busy as long as a copy is shorter than a computation. A second
    one only takes memory.
    """
    coming: list[tuple[Tensor, Any]] = []
    for batch in loader:
        with streams.stream(stream):
            coming.append((copy(batch), stream.record_event()))
        if len(coming) > 2:
            ready, done = coming.pop(0)
            streams.current_stream().wait_event(done)
            ready.record_stream(streams.current_stream())
            yield ready
            del ready
    for ready, done in coming:
        streams.current_stream().wait_event(done)
        ready.record_stream(streams.current_stream())
        yield ready


@prefetcher.mistake()
def batches_kept(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A list that holds every batch keeps its memory from being reused, and needs no record_stream. It also
    needs a device as large as the data set.
    """
    used: list[Tensor] = []
    return feeding(loader, copy, stream, kept=lambda batch, current, stream: used.append(batch))


@prefetcher.mistake()
def one_buffer_on_the_device(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Every batch is copied into the same buffer on the device. The next batch overwrites the one that was
    handed out.
    """
    buffers: list[Tensor] = []

    def into_buffer(batch: Tensor) -> Tensor:
        if not buffers:
            buffers.append(copy(batch))
        else:
            buffers[0].copy_(batch, non_blocking=True)
        return buffers[0]

    return feeding(loader, into_buffer, stream)


@prefetcher.mistake()
def pinned_buffer_reused(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The copy reads page-locked memory later, when its turn comes. The buffer on the host was filled with
    the next batch before that.
    """
    buffers: list[Tensor] = []

    def staged(batch: Tensor) -> Tensor:
        if not buffers:
            buffers.append(streams.pin_memory(torch.empty_like(batch)))
        buffers[0].copy_(batch)
        return copy(buffers[0])

    return feeding(loader, staged, stream)


@prefetcher.variant(pinned_buffer_reused)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The buffer is the first batch itself: pin_memory of what is pinned makes nothing new."""
    buffers: list[Tensor] = []

    def staged(batch: Tensor) -> Tensor:
        if not buffers:
            buffers.append(streams.pin_memory(batch))
        return copy(buffers[0].copy_(batch))

    return feeding(loader, staged, stream)


@prefetcher.variant(pinned_buffer_reused)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Two buffers in turn are not enough either; the host runs further ahead than that."""
    buffers: list[Tensor] = []

    def staged(batch: Tensor) -> Tensor:
        buffers.append(
            buffers.pop(0).copy_(batch) if len(buffers) == 2 else streams.pin_memory(batch.clone())
        )
        return copy(buffers[-1])

    return feeding(loader, staged, stream)


@prefetcher.mistake()
def page_lock_lost(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """clone(), float(), a slice that is made contiguous: each gives ordinary memory, even if batch is pinned.
    Hand the batch to copy as it came from the loader.
    """
    return feeding(loader, lambda batch: copy(batch.clone()), stream)
