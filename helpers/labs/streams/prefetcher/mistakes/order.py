"""What people write for 06.prefetcher, and why it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from helpers import streams
from helpers.labs.streams.prefetcher.exercise import (
    AFTER,
    AHEAD,
    CALLED,
    CURRENT,
    HELD,
    HOST,
    LOADER,
    MEMORY,
    YIELDS,
    prefetcher,
)


def ignore(*args: Any) -> None:
    pass


def wait(current: Any, stream: Any) -> None:
    current.wait_stream(stream)


def keep(batch: Tensor, current: Any, stream: Any) -> None:
    batch.record_stream(current)


def feeding(
    loader: Any, copy: Any, stream: Any, *, before: Any = wait, kept: Any = keep, behind: Any = ignore
) -> Iterator[Tensor]:
    """The right prefetcher, unless it is given another `before` (the next copy), `kept`, or `behind` (that copy)."""
    batches = iter(loader)

    def following() -> Tensor | None:
        batch = next(batches, None)
        if batch is None:
            return None
        with streams.stream(stream):
            return copy(batch)

    coming = following()
    while coming is not None:
        current = streams.current_stream()
        before(current, stream)
        ready = coming
        kept(ready, current, stream)
        coming = following()
        behind(current, stream)
        yield ready


def handed_out(batch: Tensor, stream: Any) -> Tensor:
    """The batch, when the current stream waits for the side stream and the allocator knows."""
    current = streams.current_stream()
    current.wait_stream(stream)
    batch.record_stream(current)
    return batch


@prefetcher.mistake(breaks=AFTER)
def no_wait(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Nothing makes the current stream wait for the copy: it computes on memory that is still being filled."""
    return feeding(loader, copy, stream, before=ignore)


@prefetcher.variant(no_wait)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=ignore, kept=ignore)


@prefetcher.mistake(breaks=AFTER)
def wait_behind_the_yield(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The wait stands behind the yield, so it is queued when the consumer has already queued its kernels on
    this batch.
    """
    for batch in feeding(loader, copy, stream, before=ignore):
        yield batch
        streams.current_stream().wait_stream(stream)


@prefetcher.mistake(breaks=AFTER)
def event_never_recorded(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A wait for an event that nobody has recorded is over at once. Record it on `stream`, behind the copy."""
    return feeding(loader, copy, stream, before=lambda current, stream: current.wait_event(streams.Event()))


@prefetcher.mistake(breaks=AFTER)
def wait_on_the_wrong_side(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """stream.wait_stream(current) lets the copies wait for the computation. Here the reader is the current
    stream: it has to wait for the copies.
    """
    return feeding(loader, copy, stream, before=lambda current, stream: stream.wait_stream(current))


@prefetcher.mistake(breaks=AFTER)
def waits_for_itself(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Inside `with streams.stream(stream):` the current stream is `stream`, so it is told to wait for itself.
    Ask for the consumer's stream outside of the block.
    """

    def before(current: Any, stream: Any) -> None:
        with streams.stream(stream):
            streams.current_stream().wait_stream(stream)

    return feeding(loader, copy, stream, before=before)


@prefetcher.mistake(breaks=AFTER)
def default_stream_waits(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The consumer need not work on the default stream. Ask for streams.current_stream() each time a batch is
    handed out.
    """
    return feeding(
        loader, copy, stream, before=lambda current, stream: streams.default_stream().wait_stream(stream)
    )


@prefetcher.mistake(breaks=AFTER)
def one_event_for_all(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The event is recorded once, behind the first copy. It says nothing about the copies that were queued
    later.
    """
    done: list[Any] = []

    def before(current: Any, stream: Any) -> None:
        if not done:
            done.append(stream.record_event())
        current.wait_event(done[0])

    return feeding(loader, copy, stream, before=before)


@prefetcher.mistake(breaks=AFTER)
def last_batch_not_waited_for(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The batch that is handed out behind the loop needs the same care as the others: its copy may not be
    done.
    """
    coming = None
    for batch in loader:
        if coming is not None:
            streams.current_stream().wait_stream(stream)
        with streams.stream(stream):
            following = copy(batch)
        if coming is not None:
            coming.record_stream(streams.current_stream())
            yield coming
        coming = following
    if coming is not None:
        yield coming


@prefetcher.mistake(breaks=AFTER)
def event_before_the_copy(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The event stands in the queue before the copy, so it is passed before the copy has begun. Record it
    behind.
    """
    coming = None
    for batch in loader:
        event = stream.record_event()
        with streams.stream(stream):
            following = copy(batch), event
        if coming is not None:
            streams.current_stream().wait_event(coming[1])
            coming[0].record_stream(streams.current_stream())
            yield coming[0]
        coming = following
    if coming is not None:
        streams.current_stream().wait_event(coming[1])
        coming[0].record_stream(streams.current_stream())
        yield coming[0]


@prefetcher.mistake(breaks=AFTER)
def waits_for_the_next_copy(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """wait_stream, or an event that was recorded again, stands for all that is queued by then. Behind the
    next copy it waits for that one, too: first wait, then queue the next copy, or give each copy an event of
    its own.
    """
    return feeding(loader, copy, stream, before=ignore, behind=wait)


@prefetcher.variant(waits_for_the_next_copy)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """One event, recorded anew behind each copy."""
    done = streams.Event()
    coming = None
    for batch in loader:
        with streams.stream(stream):
            following = copy(batch)
            done.record(stream)
        if coming is not None:
            streams.current_stream().wait_event(done)
            coming.record_stream(streams.current_stream())
            yield coming
        coming = following
    if coming is not None:
        streams.current_stream().wait_event(done)
        coming.record_stream(streams.current_stream())
        yield coming


@prefetcher.mistake(breaks=MEMORY)
def no_record_stream(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The batch was made on the side stream. When its last name goes, the allocator gives the block to the
    next copy, while the current stream still has to read it: ready.record_stream(current).
    """
    return feeding(loader, copy, stream, kept=ignore)


@prefetcher.mistake(breaks=MEMORY)
def record_stream_on_the_copying_stream(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The allocator knows the side stream, since the batch was made there. It has to be told of the stream
    that reads: the current one.
    """
    return feeding(loader, copy, stream, kept=lambda batch, current, stream: batch.record_stream(stream))


@prefetcher.mistake(breaks=HOST)
def host_waits(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The host waits for the device or asks it, so the next kernels are queued late. Perhaps by synchronize(), or by a loop
    over query(): let the
    current stream wait: current.wait_stream(stream).
    """
    return feeding(loader, copy, stream, before=lambda current, stream: stream.synchronize())


@prefetcher.variant(host_waits)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=lambda current, stream: stream.record_event().synchronize())


@prefetcher.variant(host_waits)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The whole device, behind the next copy."""
    return feeding(
        loader, copy, stream, before=ignore, kept=ignore, behind=lambda current, stream: streams.synchronize()
    )


@prefetcher.mistake(breaks=AHEAD)
def no_batch_ahead(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Each copy is queued only when its batch is asked for. A consumer that reads its loss in each step has
    finished by then, and the copy runs alone.
    """
    for batch in loader:
        with streams.stream(stream):
            ready = copy(batch)
        yield handed_out(ready, stream)


@prefetcher.mistake(breaks=YIELDS)
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


@prefetcher.mistake(breaks=LOADER)
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


@prefetcher.mistake(breaks=LOADER)
def length_asked(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A loader need not have a length: one over a stream of data has none. Iterate until it ends."""
    batches = iter(loader)
    for _ in range(len(loader)):
        yield from feeding([next(batches)], copy, stream)


@prefetcher.mistake(breaks=AHEAD)
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


@prefetcher.mistake(breaks=LOADER)
def loader_read_first(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """list(loader) reads the whole data set into the host's memory before the first batch is handed out."""
    return feeding(list(loader), copy, stream)


@prefetcher.mistake(breaks=AHEAD)
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


@prefetcher.mistake(breaks=HELD)
def batches_kept(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """All batches that were handed out are held. That keeps their memory from being reused, and needs a device as large
    as the data set. Perhaps they stand in a list.
    """
    used: list[Tensor] = []
    return feeding(loader, copy, stream, kept=lambda batch, current, stream: used.append(batch))


@prefetcher.mistake(breaks=HELD)
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


@prefetcher.mistake(breaks=CALLED)
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


@prefetcher.mistake(breaks=HOST)
def page_lock_lost(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """clone(), float(), a slice that is made contiguous: each gives ordinary memory, even if batch is pinned.
    Hand the batch to copy as it came from the loader.
    """
    return feeding(loader, lambda batch: copy(batch.clone()), stream)


@prefetcher.mistake(breaks=CURRENT)
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


@prefetcher.mistake(breaks=CALLED)
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


@prefetcher.mistake(breaks=CALLED)
def stream_of_its_own(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The caller gives the stream for the copies, and may have other work to order with it. A new one is not
    that one.
    """
    return feeding(loader, copy, streams.Stream())


@prefetcher.mistake(breaks=CALLED)
def stream_of_torch_cuda(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """torch.cuda.stream knows the streams of CUDA only, and this one is of the simulated device. Without a
    GPU it does nothing, silently.
    """

    def side(batch: Tensor) -> Tensor:
        with torch.cuda.stream(stream):
            return copy(batch)

    return feeding(loader, side, streams.current_stream())


@prefetcher.mistake(breaks=CALLED)
def copy_not_called(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """copy is never called. Perhaps batch.to() stands in its place: what a batch needs on its way is up to the caller."""
    return feeding(loader, lambda batch: batch.to(streams.DEVICE, non_blocking=True), stream)


@prefetcher.mistake(breaks=CALLED)
def pinned_anew(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """copy was given a different tensor than the loader's, page-locked as well. The batch is pinned already: a second
    copy on the host takes time and memory.
    """
    return feeding(loader, lambda batch: copy(streams.pin_memory(batch.clone())), stream)


@prefetcher.mistake(breaks=CALLED)
def first_batch_copied_twice(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The first batch is copied twice. Perhaps it was taken from the loader to see whether there is one, and copied with
    the others again.
    """
    seen: list[Tensor] = []

    def counted(batch: Tensor) -> Tensor:
        if not seen:
            seen.append(batch)
            copy(batch)
        return copy(batch)

    return feeding(loader, counted, stream)


@prefetcher.mistake(breaks=HELD)
def one_batch_too_many_held(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Three batches that were handed out are alive at a time. Perhaps the last two are held by names, or in a deque, that are set anew
    too late.
    """
    used: list[Tensor] = []

    def kept(batch: Tensor, current: Any, stream: Any) -> None:
        keep(batch, current, stream)
        used.append(batch)
        del used[:-3]

    return feeding(loader, copy, stream, kept=kept)


@prefetcher.mistake(breaks=YIELDS)
def hands_out_a_clone(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """What is handed out is not what copy gave. Perhaps a clone: a kernel and memory more for each batch."""
    return (batch.clone() for batch in feeding(loader, copy, stream))
