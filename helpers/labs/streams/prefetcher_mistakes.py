"""What people get wrong in 06.prefetcher about who waits, and whose memory it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from helpers import streams
from helpers.labs.streams.prefetcher import prefetcher


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


@prefetcher.mistake()
def no_wait(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Nothing makes the current stream wait for the copy: it computes on memory that is still being filled."""
    return feeding(loader, copy, stream, before=ignore)


@prefetcher.variant(no_wait)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=ignore, kept=ignore)


@prefetcher.mistake()
def wait_behind_the_yield(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The wait stands behind the yield, so it is queued when the consumer has already queued its kernels on
    this batch.
    """
    for batch in feeding(loader, copy, stream, before=ignore):
        yield batch
        streams.current_stream().wait_stream(stream)


@prefetcher.mistake()
def event_never_recorded(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """A wait for an event that nobody has recorded is over at once. Record it on `stream`, behind the copy."""
    return feeding(loader, copy, stream, before=lambda current, stream: current.wait_event(streams.Event()))


@prefetcher.mistake()
def wait_on_the_wrong_side(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """stream.wait_stream(current) lets the copies wait for the computation. Here the reader is the current
    stream: it has to wait for the copies.
    """
    return feeding(loader, copy, stream, before=lambda current, stream: stream.wait_stream(current))


@prefetcher.mistake()
def waits_for_itself(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """Inside `with streams.stream(stream):` the current stream is `stream`, so it is told to wait for itself.
    Ask for the consumer's stream outside of the block.
    """

    def before(current: Any, stream: Any) -> None:
        with streams.stream(stream):
            streams.current_stream().wait_stream(stream)

    return feeding(loader, copy, stream, before=before)


@prefetcher.mistake()
def default_stream_waits(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The consumer need not work on the default stream. Ask for streams.current_stream() each time a batch is
    handed out.
    """
    return feeding(
        loader, copy, stream, before=lambda current, stream: streams.default_stream().wait_stream(stream)
    )


@prefetcher.mistake()
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


@prefetcher.mistake()
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


@prefetcher.mistake()
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


@prefetcher.mistake()
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


@prefetcher.mistake()
def no_record_stream(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The batch was made on the side stream. When its last name goes, the allocator gives the block to the
    next copy, while the current stream still has to read it: ready.record_stream(current).
    """
    return feeding(loader, copy, stream, kept=ignore)


@prefetcher.mistake()
def record_stream_on_the_copying_stream(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The allocator knows the side stream, since the batch was made there. It has to be told of the stream
    that reads: the current one.
    """
    return feeding(loader, copy, stream, kept=lambda batch, current, stream: batch.record_stream(stream))


@prefetcher.mistake()
def host_waits(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """synchronize() holds up the host until the copy is done, so the next kernels are queued late. Let the
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
