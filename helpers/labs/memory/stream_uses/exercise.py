"""Exercise 14.stream_uses: a block that was freed is held back until the streams that use it have passed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.stream_uses.inputs import Block, PlainBlock, PlainEvent, Run, Stream

stream_uses = Exercise(
    "14.stream_uses",
    "Blocks that a different stream still uses",
    objective="Keep a block that was freed until the streams that use it have passed.",
    minutes=20,
    difficulty="medium",
    core=False,
    names=("StreamUses",),
    kind="class",
    hints=[
        "Three things are to be kept: which streams use a block that is out; which blocks are pending; which events have not passed. "
        "The first is a dict from a block to a set of streams.",
        "An event stands behind all that its stream has to do when it is recorded. So one is enough for many uses, and it must not be "
        "recorded before the block is freed: work queued later would stand behind it.",
        "Keep a queue of (event, block) for each stream, in the order of recording, and for each pending block the number of its "
        "events that have not passed.",
        "`process_events` goes through the queues: while the first event of a queue has passed, it is taken out, and its block has "
        "one event less; with none left, the block is released. Each queue stops at its own first event that has not passed.",
    ],
)

STANDS = "Stands between those who free blocks and the pool, and holds blocks back that a stream still uses."
RELEASE = "`StreamUses(release, record)`: `release(block)` puts a block back into its pool."
RECORD = (
    "`record(stream)` records an event behind all that is queued on a stream now, and returns it; "
    "`event.query()` is True once the stream has passed it."
)
IN_ORDER = "Events of one stream pass in the order in which they were recorded."
OWN_STREAM = "A block has `stream`, the one that it was handed out for, and takes no other attribute or weak reference."
FREED_AGAIN = "While a block is pending, it is neither used nor freed again."
HASHED = (
    "Blocks and streams can be hashed, events perhaps not; no two blocks are equal; a stream may be a number, 0 too, and equal "
    "streams are one."
)
NOTES = "`record_stream(block, stream)` notes that work on `stream` uses the block."
NOT_OWN = "For the block's own stream nothing is noted: what comes later on it runs later anyway."
AT_ONCE = "`free(block)` releases the block at once if no different stream used it."
PENDING = (
    "Else one event is recorded on each stream that did, when the block is freed and not before, in any order of the "
    "streams, and the block is pending."
)
PROCESS = "`process_events()` releases each pending block whose events have all passed, and nothing else."
NO_WAIT = "It does not wait."
NOT_AGAIN = (
    "An event that has passed is not asked again; and of one stream, events are asked in their order, up to the first "
    "that has not passed."
)
ONCE = "A block is released once for each time that it is freed."
ANEW = "After that it begins anew, without uses."
APART = "Two objects know nothing of each other."

ZERO, ONE, TWO, THREE = map(Stream, range(4))


def _blocks(*streams: Hashable) -> list[Block]:
    """Blocks A, B and so on, of these streams."""
    return [Block(name, stream) for name, stream in zip("ABCDEFGHIJ", streams, strict=False)]


@stream_uses.property(
    "a block that no stream was noted for is released at once", asks=(STANDS, RELEASE, AT_ONCE)
)
def free_at_once(answer: Any, trial: Trial) -> None:
    a, b = _blocks(ZERO, ONE)
    run = Run(answer, trial)
    run.process()
    run.free(a, b)
    run.process()


@stream_uses.property(
    "a block that a different stream used is released when that stream has passed",
    asks=(RECORD, PENDING, PROCESS),
)
def held_back(answer: Any, trial: Trial) -> None:
    (a,) = _blocks(ZERO)
    run = Run(answer, trial)
    run.use(a, ONE)
    run.free(a)
    run.process()
    run.let(ONE)
    run.process()
    run.process()


@stream_uses.property("the block's own stream is not noted", asks=(NOT_OWN, OWN_STREAM))
def own_stream(answer: Any, trial: Trial) -> None:
    a, b = _blocks(ZERO, ONE)
    run = Run(answer, trial)
    run.use(a, ZERO)
    run.free(a)
    run = Run(answer, trial)
    run.use(b, ONE, TWO, ONE)
    run.free(b)
    run.let(TWO)
    run.process()


@stream_uses.property("two streams used it: both have to pass", asks=(PENDING, PROCESS))
def two_streams(answer: Any, trial: Trial) -> None:
    for first, last in ((ONE, TWO), (TWO, ONE)):
        (a,) = _blocks(ZERO)
        run = Run(answer, trial)
        run.use(a, ONE, TWO)
        run.free(a)
        run.let(first)
        run.process()
        run.process()
        run.let(last)
        run.process()
        run.process()


@stream_uses.property("the same stream twice: one event", asks=(NOTES, PENDING))
def the_same_twice(answer: Any, trial: Trial) -> None:
    (a,) = _blocks(ZERO)
    run = Run(answer, trial)
    run.use(a, ONE, TWO, ONE, ONE)
    run.free(a)
    run.let(ONE)
    run.let(TWO)
    run.process()


@stream_uses.property(
    "several blocks: each waits for its own streams, and holds no other one back", asks=(PROCESS, IN_ORDER)
)
def several_blocks(answer: Any, trial: Trial) -> None:
    # One after the other on one stream.
    a, b, c = _blocks(ZERO, ZERO, TWO)
    run = Run(answer, trial)
    for block in (a, b, c):
        run.use(block, ONE)
        run.free(block)
    run.let(ONE, 1)
    run.process()
    run.let(ONE, 2)
    run.process()
    # On streams of their own, of which the first is the last to pass.
    a, b, c = _blocks(ZERO, ZERO, ZERO)
    run = Run(answer, trial)
    for block, stream in ((a, ONE), (b, TWO), (c, THREE)):
        run.use(block, stream)
        run.free(block)
    run.let(TWO)
    run.process()
    run.let(THREE)
    run.let(ONE)
    run.process()
    # A block is blocked by one of its streams, and the block behind it by none.
    _held_by_two(answer, trial, "", _blocks(ZERO, ZERO))


@stream_uses.property(
    "free touches its own block only, and one whose stream has passed is pending, too",
    asks=(PENDING, PROCESS),
)
def pending_until_asked(answer: Any, trial: Trial) -> None:
    a, b, c = _blocks(ZERO, ZERO, ZERO)
    run = Run(answer, trial)
    run.use(a, ONE)
    run.use(b, TWO)
    run.free(a)
    run.let(ONE)
    run.free(b)
    run.let(TWO)
    run.free(c)
    run.process()


@stream_uses.property("process_events does not wait", asks=NO_WAIT)
def does_not_wait(answer: Any, trial: Trial) -> None:
    a, b = _blocks(ZERO, ONE)
    run = Run(answer, trial, waiting=True)
    run.process()
    run.use(a, ONE, TWO)
    run.use(b, TWO)
    run.free(a, b)
    for _ in range(3):
        run.process()
    run.let(ONE)
    run.process()
    run.end()


@stream_uses.property(
    "no event is asked in vain: not again, and not behind one that has not passed", asks=(NOT_AGAIN, IN_ORDER)
)
def asks_in_order(answer: Any, trial: Trial) -> None:
    for first, last in ((ONE, TWO), (TWO, ONE)):
        (a,) = _blocks(ZERO)
        run = Run(answer, trial, asking=True)
        run.use(a, ONE, TWO)
        run.free(a)
        run.let(first)
        run.process()
        run.process()
        run.let(last)
        run.process()
        run.process()
    a, b, c, d = _blocks(ZERO, ZERO, ZERO, TWO)
    run = Run(answer, trial, asking=True)
    run.use(a, ONE, TWO)
    run.use(b, ONE)
    run.use(c, ONE, TWO)
    run.use(d, ONE)
    run.free(c, a, d, b)
    run.process()
    run.let(ONE, 1)
    run.process()
    run.process()
    run.let(ONE, 2)
    run.let(TWO, 1)
    run.process()
    run.let(TWO)
    run.let(ONE)
    run.process()
    run.process()


@stream_uses.property("a block that comes back begins anew", asks=(ONCE, ANEW, FREED_AGAIN))
def begins_anew(answer: Any, trial: Trial) -> None:
    a, b = _blocks(ZERO, ONE)
    run = Run(answer, trial)
    run.use(a, ONE)
    run.free(a)
    run.let(ONE)
    run.process()
    run.free(a)  # handed out again, and used on its own stream alone
    run.process()
    run.use(a, TWO)
    run.free(a)
    run.let(ONE)
    run.process()
    run.let(TWO)
    run.process()
    run.free(b)
    run.use(b, TWO, THREE)
    run.free(b)
    run.let(THREE)
    run.process()
    run.let(TWO)
    run.process()
    run.use(b, TWO)
    run.free(b, a)
    run.let(TWO)
    run.process()


@stream_uses.property("streams of any kind that can be hashed: 0, and equal ones", asks=(HASHED, NOT_OWN))
def any_streams(answer: Any, trial: Trial) -> None:
    a, b = _blocks(1, 0)
    run = Run(answer, trial, "streams are numbers: ")
    run.use(a, 0)
    run.use(b, 0, 2, 1)
    run.free(a, b)
    run.let(0)
    run.process()
    run.let(1)
    run.let(2)
    run.process()
    (a,) = _blocks(Stream(1))
    run = Run(answer, trial, "streams are objects, of which those with the same number are equal: ")
    run.use(a, Stream(1), Stream(2), Stream(2))
    run.free(a)
    run.let(Stream(2))
    run.process()
    a, b = _blocks(("cuda", 0), "side")
    run = Run(answer, trial, "streams are a tuple, a text and a number: ")
    run.use(a, "side", 7)
    run.use(b, ("cuda", 0))
    run.free(a, b)
    run.let(7)
    run.let(("cuda", 0))
    run.process()
    run.let("side")
    run.process()


@stream_uses.property("two objects know nothing of each other", asks=APART)
def two_objects(answer: Any, trial: Trial) -> None:
    runs = _side_by_side(answer, trial)
    a, b = _blocks(ZERO, ZERO)
    try:
        for run, block in zip(runs, (a, b), strict=True):
            run.use(block, ONE)
        runs[0].free(a)
        runs[1].process()
        runs[1].free(b)
        for run in runs:
            run.let(ONE)
            run.process()
    finally:
        for run in runs:
            run.leave()
    # The same block goes to both: what the one knows of it is nothing to the other.
    runs = one, two = _side_by_side(answer, trial)
    (c,) = _blocks(TWO)
    try:
        one.use(c, ONE)
        two.free(c)
        one.free(c)
        two.free(c)
        two.use(c, THREE)
        two.free(c)
        one.let(ONE)
        one.process()
        one.free(c)
        two.let(THREE)
        two.process()
    finally:
        for run in runs:
            run.leave()


def _side_by_side(answer: Any, trial: Trial) -> list[Run]:
    """Two objects of the class. What is done to them is shown in one row."""
    runs = [Run(answer, trial, "two objects: ", name=name) for name in ("one", "two")]
    runs[0].others, runs[1].others = [runs[1].world], [runs[0].world]
    runs[1].done = runs[0].done
    return runs


@stream_uses.property("a block takes no attribute and no weak reference", asks=OWN_STREAM)
def plain_blocks(answer: Any, trial: Trial) -> None:
    _held_by_two(answer, trial, "blocks with __slots__: ", [PlainBlock("A", ZERO), PlainBlock("B", ONE)])


@stream_uses.property("an event may be one that cannot be hashed", asks=(HASHED, RECORD))
def plain_events(answer: Any, trial: Trial) -> None:
    _held_by_two(answer, trial, "events that cannot be hashed: ", _blocks(ZERO, ONE), event=PlainEvent)


def _held_by_two(answer: Any, trial: Trial, about: str, blocks: list[Any], **more: Any) -> None:
    a, b = blocks
    run = Run(answer, trial, about, **more)
    run.use(a, ONE, TWO)
    run.use(b, TWO)
    run.free(a, b)
    run.let(TWO)
    run.process()
    run.let(ONE)
    run.process()


@stream_uses.property(
    "long runs of many blocks and streams, drawn at random", asks=(PROCESS, PENDING, ONCE), once_right=True
)
def at_random(answer: Any, trial: Trial) -> None:
    draw = trial.random
    for number in range(6):
        blocks = [Block(f"block{at}", Stream(at % 3)) for at in range(7)]
        run = Run(
            answer, trial, f"run {number + 1}, drawn at random: ", exact=False, waiting=True, asking=True
        )
        for _ in range(80):
            pending = [block for block, _ in run.pending]
            out = [block for block in blocks if block not in pending]
            match draw.choice(("use", "use", "use", "free", "free", "let", "process")):
                case "use" if out:
                    run.use(draw.choice(out), Stream(draw.randrange(4)))
                case "free" if out:
                    run.free(draw.choice(out))
                case "let":
                    run.let(Stream(draw.randrange(4)), draw.choice((1, 1, 2, None)))
                case "process":
                    run.process()
        run.end()
