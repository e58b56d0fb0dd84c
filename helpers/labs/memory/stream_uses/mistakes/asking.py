"""What people write for 14.stream_uses where uses are noted, events recorded and asked; and why it is wrong."""

from __future__ import annotations

from collections import deque
from typing import Any

from helpers.labs.memory.stream_uses.exercise import (
    AT_ONCE,
    HASHED,
    NO_WAIT,
    NOT_AGAIN,
    NOT_OWN,
    NOTES,
    ONCE,
    PENDING,
    PROCESS,
    stream_uses,
)
from helpers.labs.memory.stream_uses.right import InAList, Right

# Who uses a block.


@stream_uses.mistake(breaks=NOT_OWN)
class OwnStreamCounts(Right):
    """An event was recorded on the block's own stream. What comes later on it runs later anyway, so the block
    may go back at once.
    """

    def is_noted(self, block: Any, stream: Any) -> bool:
        return True


@stream_uses.mistake(breaks=NOT_OWN)
class ComparedByIdentity(Right):
    """An event was recorded on the block's own stream, where the streams are two objects that are equal.
    Perhaps they were compared with `is`: two objects may stand for one stream.
    """

    def is_noted(self, block: Any, stream: Any) -> bool:
        return stream is not block.stream


@stream_uses.mistake(breaks=HASHED)
class StreamZeroIsNone(Right):
    """A different stream used the block, and the block was released at once: that stream is 0. 0 counts as
    False: perhaps there is `if stream`.
    """

    def is_noted(self, block: Any, stream: Any) -> bool:
        return bool(stream) and stream != block.stream


@stream_uses.mistake(breaks=PENDING)
class EachUseCounts(Right):
    """The same stream used the block more than once, and as many events were recorded on it. One event stands
    behind all of them: a set of streams is enough.
    """

    def note(self, block: Any, stream: Any) -> None:
        self.uses.setdefault(block, []).append(stream)


@stream_uses.mistake(breaks=NOTES)
class LastStreamOnly(Right):
    """Two streams used the block, and an event was recorded on the last of them only. Perhaps a block is
    noted with one stream: there may be several.
    """

    def note(self, block: Any, stream: Any) -> None:
        self.uses[block] = {stream}


@stream_uses.mistake(breaks=NOTES)
class FirstStreamOnly(Right):
    """Two streams used the block, and an event was recorded on the first of them only. Perhaps a block is
    noted with one stream: there may be several.
    """

    def note(self, block: Any, stream: Any) -> None:
        self.uses.setdefault(block, {stream})


@stream_uses.mistake(breaks=AT_ONCE)
class NeverAtOnce(Right):
    """No different stream used the block, and `free` did not release it. Perhaps it waits for process_events
    like all others.
    """

    def free(self, block: Any) -> None:
        streams = self.streams_of(block)
        self.hold(block, streams)
        if not streams:
            self.unused = [*getattr(self, "unused", []), block]

    def process_events(self) -> None:
        for block in getattr(self, "unused", []):
            self.release(block)
        self.unused: list[Any] = []
        Right.process_events(self)


@stream_uses.mistake(breaks=PENDING)
class AlwaysAtOnce(Right):
    """A different stream may still use the block, and `free` released it: who gets it next writes over what
    is being read.
    """

    def free(self, block: Any) -> None:
        self.release(block)


# When events are recorded, and where.


@stream_uses.mistake(breaks=PENDING)
class RecordedAtTheUse(Right):
    """`record_stream` recorded the event. What the stream gets to do between that and `free` stands behind
    the event, and may use the block, too.
    """

    def note(self, block: Any, stream: Any) -> None:
        self.uses.setdefault(block, {})[stream] = self.record(stream)

    def hold(self, block: Any, streams: Any) -> None:
        self.waiting[block] = len(streams)
        for stream, event in streams.items():
            self.put(stream, event, block)


@stream_uses.mistake(breaks=PENDING)
class RecordedWhenAsked(Right):
    """`free` recorded no event on the stream that used the block. Perhaps process_events does it: what the
    stream got to do meanwhile is waited for, too.
    """

    def hold(self, block: Any, streams: Any) -> None:
        self.late = [*getattr(self, "late", []), (block, streams)]

    def process_events(self) -> None:
        for block, streams in getattr(self, "late", []):
            Right.hold(self, block, streams)
        self.late: list[Any] = []
        Right.process_events(self)


@stream_uses.mistake(breaks=PENDING)
class OnTheOwnStream(Right):
    """The event was recorded on the block's own stream, and not on the one that used the block: it tells
    nothing of that one.
    """

    def hold(self, block: Any, streams: Any) -> None:
        self.waiting[block] = len(streams)
        for _ in streams:
            self.put(block.stream, self.record(block.stream), block)


@stream_uses.mistake(breaks=PENDING)
class EveryStreamSeen(Right):
    """An event was recorded on a stream that used a different block, and not this one. Perhaps all streams are
    kept in one set: which ones used it is to be kept for each block.
    """

    def note(self, block: Any, stream: Any) -> None:
        self.seen = {*getattr(self, "seen", ()), stream}
        Right.note(self, block, stream)

    def streams_of(self, block: Any) -> Any:
        return Right.streams_of(self, block) and self.seen - {block.stream}


@stream_uses.mistake(breaks=PENDING)
class OneOfTheStreams(Right):
    """Two streams used the block, and `free` recorded an event on one of them only. It may have passed long
    before the other.
    """

    def hold(self, block: Any, streams: Any) -> None:
        Right.hold(self, block, [max(streams, key=str)])


@stream_uses.mistake(breaks=PENDING)
class EventServesTwo(Right):
    """A second block was freed that the stream had used, and no event was recorded for it. Perhaps the first
    block's, which has not passed, is to serve both: it stands before what the stream did with the second.
    """

    def hold(self, block: Any, streams: Any) -> None:
        self.waiting[block] = len(streams)
        for stream in streams:
            queue = self.queues.get(stream)
            if queue:
                event, served = queue[-1]
                queue[-1] = event, [*served, block]
            else:
                self.put(stream, self.record(stream), [block])

    def passed(self, block: Any) -> None:
        for each in block:
            Right.passed(self, each)


# When a block is released.


@stream_uses.mistake(breaks=PROCESS)
class AnyStreamWillDo(InAList):
    """One of two streams had passed, and the block was released. All have to pass: the other may still use
    it.
    """

    def have_passed(self, events: list[Any]) -> bool:
        return any(event.query() for event in events)


@stream_uses.variant(AnyStreamWillDo)
class _(Right):
    def passed(self, block: Any) -> None:
        if self.waiting.pop(block, 0):
            self.release(block)


@stream_uses.variant(AnyStreamWillDo)
class _(Right):
    """Only the event that was recorded last is waited for."""

    def hold(self, block: Any, streams: Any) -> None:
        self.waiting[block] = 1
        *_, (stream, event) = [(stream, self.record(stream)) for stream in sorted(streams, key=str)]
        self.put(stream, event, block)


@stream_uses.mistake(breaks=PROCESS)
class TakesOutWhileWalking(Right):
    """RuntimeError: a dict changed while a loop went through it. Perhaps a queue that is empty is taken out of
    the dict of queues: go through a copy of the keys, or leave it in.
    """

    def process_events(self) -> None:
        for stream, queue in self.queues.items():
            self.work_off(queue)
            if not queue:
                del self.queues[stream]


@stream_uses.mistake(breaks=ONCE)
class OncePerEvent(Right):
    """The block was released when the first of its streams had passed, and again with the next. It is handed
    out twice then.
    """

    def passed(self, block: Any) -> None:
        self.release(block)


@stream_uses.mistake(breaks=PROCESS)
class ReleasedWithoutAsking(Right):
    """The stream had not passed, and process_events released the block. Perhaps it never asked."""

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        while queue:
            self.passed(queue.popleft()[1])


@stream_uses.mistake(breaks=PROCESS)
class NeverReleased(Right):
    """The stream had passed, and process_events did not release the block: it is lost to its pool. Perhaps
    the count of its events is not taken down, or compared with the wrong number.
    """

    def passed(self, block: Any) -> None:
        self.waiting[block] -= 1
        if self.waiting[block] < 0:
            self.release(block)


@stream_uses.mistake(breaks=PROCESS)
class OneACall(Right):
    """Two events of a stream had passed, and only the block of the first was released. Perhaps an `if` stands
    where a `while` should, or a list changes while a loop goes through it.
    """

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        if queue and queue[0][0].query():
            self.passed(queue.popleft()[1])


@stream_uses.variant(OneACall)
class _(InAList):
    def process_events(self) -> None:
        for each in self.pending:
            if self.have_passed(each[1]):
                self.pending.remove(each)
                self.release(each[0])


@stream_uses.variant(OneACall)
class _(Right):
    """The events are worked off, and then a list of blocks changes while a loop goes through it."""

    def __init__(self, release: Any, record: Any) -> None:
        super().__init__(release, record)
        self.pending: list[Any] = []

    def hold(self, block: Any, streams: Any) -> None:
        Right.hold(self, block, streams)
        self.pending.append(block)

    def passed(self, block: Any) -> None:
        self.waiting[block] -= 1

    def process_events(self) -> None:
        Right.process_events(self)
        for block in self.pending:
            if not self.waiting[block]:
                self.pending.remove(block)
                self.release(block)


@stream_uses.mistake(breaks=PROCESS)
class OneEventForTheStream(Right):
    """A stream had passed one event, and the blocks of its later events were released, too. Each block waits
    for its own event: what was queued between the two may still use it.
    """

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        if queue and queue[0][0].query():
            while queue:
                self.passed(queue.popleft()[1])


@stream_uses.mistake(breaks=PROCESS)
class StopsAtTheFirstStream(Right):
    """One stream had not passed, and a block of a different stream, which had, was not released. Perhaps a
    `return` stands where a `break` should, or all is in one queue.
    """

    def process_events(self) -> None:
        for queue in self.queues.values():
            self.work_off(queue)
            if queue:
                return


@stream_uses.variant(StopsAtTheFirstStream)
class _(Right):
    def put(self, stream: Any, event: Any, block: Any) -> None:
        Right.put(self, "all", event, block)


@stream_uses.mistake(breaks=PROCESS)
class WaitsWithTheBlockBefore(InAList):
    """All events of a block had passed, and it was not released: a block freed before it had used the same stream, and waits for a
    different one. Perhaps a stream is taken for one that has not passed as long as a block that used it is pending.
    """

    def process_events(self) -> None:
        kept, closed = [], set()
        for block, events in self.pending:
            for event in list(events):
                if event.stream not in closed and event.query():
                    events.remove(event)
            if events:
                closed |= self.used[block]
                kept.append((block, events))
            else:
                self.release(block)
        self.pending = kept

    def hold(self, block: Any, streams: Any) -> None:
        self.used = {**getattr(self, "used", {}), block: set(streams)}
        super().hold(block, streams)


@stream_uses.variant(WaitsWithTheBlockBefore)
class _(Right):
    """A queue stops where a block still waits."""

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        while queue and queue[0][0].query():
            block = queue.popleft()[1]
            self.passed(block)
            if self.waiting[block]:
                return


@stream_uses.mistake(breaks=PENDING)
class OnePlaceAStream(Right):
    """A second block of the same stream was freed, and the first one was never released. Perhaps the later
    event took the place of the earlier one: a stream has several.
    """

    def put(self, stream: Any, event: Any, block: Any) -> None:
        self.queues[stream] = deque([(event, block)])


@stream_uses.mistake(breaks=PROCESS)
class FreeProcesses(Right):
    """`free` released a block that was freed before. It is about its own block: the others are for
    process_events.
    """

    def free(self, block: Any) -> None:
        self.process_events()
        Right.free(self, block)


@stream_uses.variant(FreeProcesses)
class _(Right):
    def free(self, block: Any) -> None:
        Right.free(self, block)
        self.process_events()


# How events are asked.


@stream_uses.mistake(breaks=NO_WAIT)
class Waits(Right):
    """process_events waited for the stream. It only asks: who waits here has a GPU without work."""

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        while queue:
            event, block = queue.popleft()
            event.synchronize()
            self.passed(block)


@stream_uses.mistake(breaks=NO_WAIT)
class AsksWithoutEnd(Right):
    """An event was asked again and again in one call, as if until it has passed. That is waiting, too."""

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        while queue:
            if queue[0][0].query():
                self.passed(queue.popleft()[1])


@stream_uses.mistake(breaks=NOT_AGAIN)
class AsksWhatHasPassed(InAList):
    """An event that had passed was asked again, since a different one of its block had not. Each question is
    a call of the driver: take out what has passed.
    """

    def have_passed(self, events: list[Any]) -> bool:
        return all([event.query() for event in events])


@stream_uses.variant(AsksWhatHasPassed)
class _(InAList):
    pass


@stream_uses.mistake(breaks=NOT_AGAIN)
class AsksBehindTheFirst(InAList):
    """An event was asked, and one before it on the same stream had not passed. Then it has not, either: each
    stream needs one question.
    """

    def have_passed(self, events: list[Any]) -> bool:
        events[:] = [event for event in events if not event.query()]
        return not events


@stream_uses.mistake(breaks=NOT_AGAIN)
class NewestFirst(Right):
    """The last event of a stream was asked before the first. With blocks behind each other, the first is
    known to have passed only late, or never. Perhaps a list was used as a stack.
    """

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        while queue and queue[-1][0].query():
            self.passed(queue.pop()[1])


@stream_uses.mistake(breaks=NOT_AGAIN)
class NewestStandsForAll(Right):
    """All blocks are released when they should be, and an event was asked before an earlier one of its stream.
    Perhaps the newest is asked first, since it stands for all: while a stream works, that asks about each one.
    """

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        for at in range(len(queue) - 1, -1, -1):
            if queue[at][0].query():
                for _ in range(at + 1):
                    self.passed(queue.popleft()[1])
                return


@stream_uses.mistake(breaks=NOT_AGAIN)
class AsksTwice(Right):
    """An event that had not passed was asked twice in one call. Perhaps it is asked once to count, and once
    to take it out.
    """

    def work_off(self, queue: deque[tuple[Any, Any]]) -> None:
        if queue and not queue[0][0].query():
            self.stopped = queue[0][0].query()
            return
        while queue:
            self.passed(queue.popleft()[1])
            if not (queue and queue[0][0].query()):
                return
