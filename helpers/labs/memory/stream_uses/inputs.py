"""A pool, streams and events that note what is done, and what a right answer does: what the properties of 14.stream_uses have in common."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from helpers.check.trial import Trial

MOST = 200  # questions in one operation after which an answer is ended: it waits
SHOWN = 9  # operations that a message shows


@dataclass(frozen=True)
class Stream:
    """Two of the same number are the same stream, as in torch. There is no order among streams."""

    number: int

    def __repr__(self) -> str:
        return f"stream {self.number}"


@dataclass(eq=False)
class Block:
    """name: for messages. stream: the one that it was handed out for."""

    name: str
    stream: Hashable

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False, slots=True)
class PlainBlock:
    """One that takes no attribute beside, and no weak reference."""

    name: str
    stream: Hashable

    __repr__ = Block.__repr__


class Waits(BaseException):
    """Ends an answer that asks without end. No Exception: an answer may catch those."""


@dataclass(eq=False)
class Event:
    """Recorded on a stream, as its number-th event, from 0 on, in the operation of this number."""

    world: World
    stream: Hashable
    number: int
    operation: int
    known: bool = False  # whether the answer was told that the stream has passed it

    def __repr__(self) -> str:
        return f"event {self.number + 1} of {in_words(self.stream)}"

    def query(self) -> bool:
        self.world.asked.append(self)
        if len(self.world.asked) > MOST:
            raise Waits
        return self.number < self.world.passed[self.stream]

    def synchronize(self) -> None:
        """What waits for the stream. torch's events have it, too."""
        self.world.waited = True
        self.world.passed[self.stream] = max(self.world.passed[self.stream], self.number + 1)

    wait = synchronize


class PlainEvent(Event):
    """One that cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]


@dataclass
class World:
    """The pool and the streams. What an operation does is noted, until the next begins.

    events: of each stream, in the order in which they were recorded. passed: how many of them the stream has passed.
    event: the class of the events.
    """

    passed: Counter[Hashable] = field(default_factory=Counter)
    events: defaultdict[Hashable, list[Event]] = field(default_factory=lambda: defaultdict(list))
    released: list[Block] = field(default_factory=list)
    recorded: list[Event] = field(default_factory=list)
    asked: list[Event] = field(default_factory=list)
    waited: bool = False
    operation: int = 0
    event: type[Event] = Event

    def release(self, block: Block) -> None:
        self.released.append(block)

    def record(self, stream: Hashable) -> Event:
        event = self.event(self, stream, len(self.events[stream]), self.operation)
        self.events[stream].append(event)
        self.recorded.append(event)
        return event

    def begin(self) -> None:
        self.operation += 1
        self.released, self.recorded, self.asked, self.waited = [], [], [], False


class Run:
    """A run of operations, each done by the answer and by the model, and compared.

    exact: what is observed of a difference; False: only its kind, where a run is drawn at random.
    waiting, asking: whether it is compared, too, if the answer waits, and which events it asks: each in a property of its own,
        so that a small mistake does not hide a big one.
    name: of the object, where there are two. others: the worlds of other objects of the same class, in which nothing may
        happen now. event: the class of the events.
    """

    def __init__(
        self,
        answer: Any,
        trial: Trial,
        about: str = "",
        *,
        exact: bool = True,
        waiting: bool = False,
        asking: bool = False,
        name: str = "",
        event: type[Event] = Event,
    ) -> None:
        self.trial, self.about, self.exact = trial, about, exact
        self.waiting, self.asking, self.name = waiting, asking, name
        self.world = World(event=event)
        self.done: list[str] = []
        self.others: list[World] = []
        self.uses: dict[Block, set[Hashable]] = {}
        self.pending: list[tuple[Block, list[Event]]] = []
        self._tell()
        self.object = answer(self.world.release, self.world.record)

    def use(self, block: Block, *streams: Hashable) -> None:
        """Work on each of the streams uses the block."""
        for stream in streams:
            self._begin(f"record_stream({block}, {in_words(stream)})")
            self._do(lambda stream=stream: self.object.record_stream(block, stream))
            if stream != block.stream:
                self.uses.setdefault(block, set()).add(stream)
            self._compare("record_stream", block, (), ())

    def free(self, *blocks: Block) -> None:
        for block in blocks:
            self._begin(f"free({block})")
            self._do(lambda block=block: self.object.free(block))
            streams = self.uses.pop(block, set())
            self._compare("free", block, streams, () if streams else (block,))
            if streams:
                self.pending.append((block, list(self.world.recorded)))

    def let(self, stream: Hashable, events: int | None = None) -> None:
        """The stream passes as many events as given; None: all."""
        world = self.world
        made = len(world.events[stream])
        world.passed[stream] = made if events is None else min(world.passed[stream] + events, made)
        self.done.append(
            f"{in_words(stream)} passes {'all' if events is None else events}"
            + (" event" if events == 1 else " events")
            + (f" of {self.name}" if self.name else "")
        )

    def process(self) -> None:
        self._begin("process_events()")
        self._do(self.object.process_events)
        passed = [each for each in self.pending if all(map(self._has_passed, each[1]))]
        self.pending = [each for each in self.pending if each not in passed]
        self._compare("process_events", None, (), [block for block, _ in passed])

    def end(self) -> None:
        """All streams pass, and all blocks come back: nothing is left for an object that is made later."""
        for stream in list(self.world.events):
            self.let(stream)
        self.process()

    def leave(self) -> None:
        """All streams pass, and nothing is compared: what a class keeps for all objects is found by no later one."""
        for stream, events in list(self.world.events.items()):
            self.world.passed[stream] = len(events)
        self.world.begin()
        with suppress(Exception, Waits):
            self.object.process_events()

    def _has_passed(self, event: Event) -> bool:
        return event.number < self.world.passed[event.stream]

    def _begin(self, what: str) -> None:
        self.done.append(f"{self.name}.{what}" if self.name else what)
        self._tell()
        for world in (self.world, *self.others):
            world.begin()

    def _tell(self) -> None:
        shown = self.done[-SHOWN:]
        self.trial.given(
            f"{self.about}{'; ... ' if len(self.done) > SHOWN else ''}{'; '.join(shown)}".strip("; ")
            or "StreamUses(release, record)"
        )

    def _do(self, call: Any) -> None:
        try:
            call()
        except Waits:
            self.trial.fail(
                f"More than {MOST} questions were asked in this one call. It waits: the stream passes nothing meanwhile.",
                expected="each event is asked, and what has not passed stays pending",
                got="no end",
                observed="asks without end",
            )
        for world in self.others:
            words = [word for word in ("released", "recorded", "asked") if getattr(world, word)]
            self.trial.true(
                not words,
                f"A call of one object {' and '.join(words)} something of a different one.",
                got=" and ".join(words),
                expected="two objects that know nothing of each other",
                observed="not apart",
            )

    def _compare(
        self, by: str, block: Block | None, streams: Iterable[Hashable], released: Iterable[Block]
    ) -> None:
        """What the answer has done in this operation is what it should. by: the method."""
        wanted, got = Counter(released), Counter(self.world.released)
        if got - wanted:  # the worst that can be
            self._released(wanted, got, by, block)
        self._recorded(Counter(streams), by, block)
        if wanted != got:
            self._released(wanted, got, by, block)
        if self.waiting:
            self._waits(by)
        if self.asking:
            self._asked(by)

    def _waits(self, by: str) -> None:
        self.trial.true(
            not self.world.waited,
            f"{by} waited for a stream (`synchronize` or `wait` of an event). It is only to ask.",
            expected="event.query(), which returns at once",
            observed=("waited", by),
        )

    def _recorded(self, wanted: Counter[Hashable], by: str, block: Block | None) -> None:
        got = Counter(each.stream for each in self.world.recorded)
        if wanted == got:
            return
        more, fewer = got - wanted, wanted - got
        if by != "free":
            words = f"{by} recorded an event. Events are recorded when the block is freed, and then stand behind all its uses."
        elif more and fewer:
            words = (
                f"free recorded an event on {_all(more)}, and none on {_all(fewer)}, which used the block."
            )
        elif fewer:
            words = f"free recorded no event on {_all(fewer)}, which used the block: nothing tells when it has passed."
        elif any(stream in wanted for stream in more):
            words = f"free recorded more than one event on {_all(more)}. One stands behind all that the stream has to do."
        elif block and set(more) == {block.stream}:
            words = f"free recorded an event on {_all(more)}, the block's own. What comes later on it runs later anyway."
        else:
            words = f"free recorded an event on {_all(more)}, which needs none: {block} was not used there since it was last released."
        self.trial.fail(
            words,
            expected=_each(wanted),
            got=_each(got),
            observed=("recorded", by, *self._seen(_each(got), _each(wanted))),
        )

    def _released(self, wanted: Counter[Block], got: Counter[Block], by: str, freed: Block | None) -> None:
        more, fewer = got - wanted, wanted - got
        twice = [block for block in more if block in wanted]
        if twice:
            words = f"{by} released {_all(twice)} more than once: the pool would hand it out to two."
        elif more:
            words = f"{by} released {_all(more)}. {self._why_not(next(iter(more)), freed)}"
        elif by == "free":
            words = f"free did not release {_all(fewer)} at once, and no different stream has used it."
        else:
            words = f"{_all(fewer)} was not released, and all its events have passed."
        self.trial.fail(
            words,
            expected=_blocks(wanted),
            got=_blocks(got),
            observed=(
                "released",
                by,
                "twice" if twice else "more" if more else "fewer",
                *self._seen(_blocks(got), _blocks(wanted), _questions(self.world)),
            ),
        )

    def _why_not(self, block: Block, freed: Block | None) -> str:
        if block is freed:
            return "A different stream used the block, and so it is pending until process_events finds that the stream has passed."
        open_ = [event for held, events in self.pending for event in events if held is block]
        late = [event for event in open_ if not self._has_passed(event)]
        if late:
            return f"{_capital(late[0])} has not passed: its stream may still use the block."
        return (
            "It was freed before, and free is about one block: process_events releases the others."
            if open_
            else "It is not pending now."
        )

    def _asked(self, by: str) -> None:
        """Of each stream in order, up to the first that has not passed; what has passed is not asked again."""
        stopped: dict[Hashable, Event] = {}
        for event in self.world.asked:
            stream, before = event.stream, stopped.get(event.stream)
            if event.known:
                self._wrong_question(
                    f"{_capital(event)} was asked again. It had passed, and that does not change.",
                    "asked again",
                    by,
                )
            if before is event:
                self._wrong_question(
                    f"{_capital(event)} was asked twice in one call. It has not passed: the next call asks again.",
                    "asked twice",
                    by,
                )
            if before:
                self._wrong_question(
                    f"{_capital(event)} was asked, and {before} had not passed. Then no later one has.",
                    "asked behind one that has not passed",
                    by,
                )
            first = next(each for each in self.world.events[stream] if not each.known)
            if first.number < event.number:
                self._wrong_question(
                    f"{_capital(event)} was asked before {first}. Events of one stream pass in the order in which they were recorded.",
                    "asked out of order",
                    by,
                )
            event.known = self._has_passed(event)
            if not event.known:
                stopped[stream] = event

    def _wrong_question(self, message: str, kind: str, by: str) -> None:
        self.trial.fail(
            message,
            expected="of each stream its events in their order, up to the first that has not passed",
            got=", ".join(map(str, self.world.asked[:8])),
            observed=(kind, by),
        )

    def _seen(self, *what: Any) -> tuple[Any, ...]:
        return what if self.exact else ()


def in_words(stream: Hashable) -> str:
    return str(stream) if isinstance(stream, Stream) else f"stream {stream!r}"


def _all(things: Iterable[Any]) -> str:
    *others, last = sorted(str(each) if isinstance(each, Block) else in_words(each) for each in things)
    return f"{', '.join(others)} and {last}" if others else last


def _each(streams: Counter[Hashable]) -> str:
    return ", ".join(sorted(in_words(each) for each in streams.elements())) or "no event"


def _blocks(blocks: Counter[Block]) -> str:
    return ", ".join(sorted(str(each) for each in blocks.elements())) or "no block is released"


def _questions(world: World) -> list[str]:
    """Each event that was asked, once: how often is told elsewhere.

    Of each stream in the order of the questions; the streams in the order in which blocks that use
    them were freed, those of one block by their names: an answer may keep them in a set, and that
    goes through texts in an order that each process draws anew.
    """

    def place(event: Event) -> tuple[int, str]:
        return world.events[event.stream][0].operation, in_words(event.stream)

    return list(dict.fromkeys(map(str, sorted(world.asked, key=place))))


def _capital(event: Event) -> str:
    return f"E{str(event)[1:]}"
