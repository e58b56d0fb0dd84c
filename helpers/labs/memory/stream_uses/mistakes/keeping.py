"""What people write for 14.stream_uses about what is kept, where and in which form; and why it is wrong."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from helpers.labs.memory.stream_uses.exercise import ANEW, APART, HASHED, ONCE, OWN_STREAM, stream_uses
from helpers.labs.memory.stream_uses.right import Right

# What is kept from one time to the next.


@stream_uses.mistake(breaks=ANEW)
class UsesStay(Right):
    """The block was released and handed out again, no different stream used it since, and it was held back.
    Perhaps its uses are never forgotten.
    """

    def streams_of(self, block: Any) -> Any:
        return self.uses.get(block, ())


@stream_uses.mistake(breaks=ONCE)
class ReleasedOnceForAll(Right):
    """The block was released before, handed out and freed again, and not released. It is released once for
    each time that it is freed, and not once for all.
    """

    def __init__(self, release: Any, record: Any) -> None:
        gone: set[Any] = set()

        def once(block: Any) -> None:
            if block not in gone:
                gone.add(block)
                release(block)

        super().__init__(once, record)


@stream_uses.mistake(breaks=APART)
class SharedByAll(Right):
    """Two objects, and a call of one released, recorded or asked something of the other. Perhaps a dict or list
    stands in the class, or as a default: it belongs into `__init__`.
    """

    all_queues: dict[Any, Any] = {}
    all_waiting: dict[Any, Any] = {}

    def __init__(self, release: Any, record: Any) -> None:
        super().__init__(release, record)
        self.queues, self.waiting = self.all_queues, self.all_waiting


@stream_uses.mistake(breaks=APART)
class UsesSharedByAll(Right):
    """Two objects got the same block, and one recorded an event on a stream that only the other was told of.
    Perhaps the uses stand in the class, as a default or on the block: each object has a dict of its own.
    """

    all_uses: dict[Any, Any] = {}

    def __init__(self, release: Any, record: Any) -> None:
        super().__init__(release, record)
        self.uses = self.all_uses


@stream_uses.variant(UsesSharedByAll)
class _(Right):
    def __init__(self, release: Any, record: Any, uses: dict[Any, Any] = {}) -> None:  # noqa: B006
        super().__init__(release, record)
        self.uses = uses


@stream_uses.variant(UsesSharedByAll)
class _(Right):
    def note(self, block: Any, stream: Any) -> None:
        block.uses = {*getattr(block, "uses", ()), stream}

    def streams_of(self, block: Any) -> Any:
        streams = getattr(block, "uses", ())
        if streams:
            del block.uses
        return streams


@stream_uses.mistake(breaks=APART)
class PendingSharedByAll(Right):
    """A block that no stream was noted for was freed, and not released: it is pending in a different object.
    Perhaps what is pending stands in a set or dict of the class.
    """

    held: set[Any] = set()

    def free(self, block: Any) -> None:
        if block not in self.held:
            Right.free(self, block)

    def hold(self, block: Any, streams: Any) -> None:
        self.held.add(block)
        Right.hold(self, block, streams)

    def passed(self, block: Any) -> None:
        Right.passed(self, block)
        if not self.waiting[block]:
            self.held.discard(block)


# What is asked of a block or an event, and not promised.


@stream_uses.mistake(breaks=OWN_STREAM)
class WeakReferences(Right):
    """TypeError: there is no weak reference to a block. Perhaps the dict of uses is a WeakKeyDictionary: an
    entry leaves it when the block is freed, and so a dict will do.
    """

    def __init__(self, release: Any, record: Any) -> None:
        super().__init__(release, record)
        self.uses: Any = WeakKeyDictionary()


@stream_uses.mistake(breaks=OWN_STREAM)
class KeptOnTheBlock(Right):
    """AttributeError: a block takes no attribute beside its own. What is known of a block is kept in a dict of
    the object.
    """

    def note(self, block: Any, stream: Any) -> None:
        block.uses = {**getattr(block, "uses", {}), self: {*self.streams_on(block), stream}}

    def streams_on(self, block: Any) -> Any:
        return getattr(block, "uses", {}).get(self, ())

    def streams_of(self, block: Any) -> Any:
        return getattr(block, "uses", {}).pop(self, ())


@stream_uses.mistake(breaks=HASHED)
class EventsHashed(Right):
    """TypeError: an event cannot be hashed. Perhaps it was put into a set, or made the key of a dict: a list
    or a number of them will do.
    """

    def hold(self, block: Any, streams: Any) -> None:
        self.waiting[block] = set()
        for stream in streams:
            event = self.record(stream)
            self.waiting[block].add(event)
            self.put(stream, event, (event, block))

    def passed(self, block: Any) -> None:
        event, held = block
        self.waiting[held].discard(event)
        if not self.waiting[held]:
            self.release(held)
