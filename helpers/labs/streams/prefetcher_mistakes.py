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


@prefetcher.wrong_answer(
    "no_wait",
    why="Nothing makes the current stream wait for the copy: it computes on memory that is still being filled.",
    seen="it computes on memory that is still being filled",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=ignore)


@prefetcher.another_form("no_wait")
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=ignore, kept=ignore)


@prefetcher.wrong_answer(
    "wait_behind_the_yield",
    why="The wait stands behind the yield, so it is queued when the consumer has already queued its kernels on this batch.",
    seen="The wait stands behind the yield",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    for batch in feeding(loader, copy, stream, before=ignore):
        yield batch
        streams.current_stream().wait_stream(stream)


@prefetcher.wrong_answer(
    "event_never_recorded",
    why="A wait for an event that nobody has recorded is over at once. Record it on `stream`, behind the copy.",
    seen="A wait for an event that nobody has recorded is over at once",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=lambda current, stream: current.wait_event(streams.Event()))


@prefetcher.wrong_answer(
    "wait_on_the_wrong_side",
    why="stream.wait_stream(current) lets the copies wait for the computation. Here the reader is the current stream: it "
    "has to wait for the copies.",
    seen="Here the reader is the current stream",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=lambda current, stream: stream.wait_stream(current))


@prefetcher.wrong_answer(
    "waits_for_itself",
    why="Inside `with streams.stream(stream):` the current stream is `stream`, so it is told to wait for itself. Ask for "
    "the consumer's stream outside of the block.",
    seen="so it is told to wait for itself",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    def before(current: Any, stream: Any) -> None:
        with streams.stream(stream):
            streams.current_stream().wait_stream(stream)

    return feeding(loader, copy, stream, before=before)


@prefetcher.wrong_answer(
    "default_stream_waits",
    why="The consumer need not work on the default stream. Ask for streams.current_stream() each time a batch is handed "
    "out.",
    seen="The consumer need not work on the default stream",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(
        loader, copy, stream, before=lambda current, stream: streams.default_stream().wait_stream(stream)
    )


@prefetcher.wrong_answer(
    "one_event_for_all",
    why="The event is recorded once, behind the first copy. It says nothing about the copies that were queued later.",
    seen="The event is recorded once, behind the first copy",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    done: list[Any] = []

    def before(current: Any, stream: Any) -> None:
        if not done:
            done.append(stream.record_event())
        current.wait_event(done[0])

    return feeding(loader, copy, stream, before=before)


@prefetcher.wrong_answer(
    "last_batch_not_waited_for",
    why="The batch that is handed out behind the loop needs the same care as the others: its copy may not be done.",
    seen="needs the same care as the others",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
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


@prefetcher.wrong_answer(
    "event_before_the_copy",
    why="The event stands in the queue before the copy, so it is passed before the copy has begun. Record it behind.",
    seen="it is passed before the copy has begun",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
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


@prefetcher.wrong_answer(
    "waits_for_the_next_copy",
    why="wait_stream, or an event that was recorded again, stands for all that is queued by then. Behind the next "
    "copy it waits for that one, too: first wait, then queue the next copy, or give each copy an event of its own.",
    seen="stands for all that is queued by then",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=ignore, behind=wait)


@prefetcher.another_form("waits_for_the_next_copy")
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


@prefetcher.wrong_answer(
    "no_record_stream",
    why="The batch was made on the side stream. When its last name goes, the allocator gives the block to the next copy, "
    "while the current stream still has to read it: ready.record_stream(current).",
    seen="the allocator gives the block to the next copy",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, kept=ignore)


@prefetcher.wrong_answer(
    "record_stream_on_the_copying_stream",
    why="The allocator knows the side stream, since the batch was made there. It has to be told of the stream that reads: "
    "the current one.",
    seen="The allocator knows the side stream, since",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, kept=lambda batch, current, stream: batch.record_stream(stream))


@prefetcher.wrong_answer(
    "host_waits",
    why="synchronize() holds up the host until the copy is done, so the next kernels are queued late. Let the current "
    "stream wait: current.wait_stream(stream).",
    seen="holds up the host until the copy is done",
)
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=lambda current, stream: stream.synchronize())


@prefetcher.another_form("host_waits")
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    return feeding(loader, copy, stream, before=lambda current, stream: stream.record_event().synchronize())


@prefetcher.another_form("host_waits")
def _(loader: Any, copy: Any, stream: Any) -> Iterator[Tensor]:
    """The whole device, behind the next copy."""
    return feeding(
        loader, copy, stream, before=ignore, kept=ignore, behind=lambda current, stream: streams.synchronize()
    )
