"""Exercise 14.caching_allocator: segments of a device, cut into blocks, which are kept when they come back."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.caching_allocator.compare import (
    holds,
    holds_in_short,
    holds_many,
    in_short,
    same,
    shown,
    takes,
)
from helpers.labs.memory.caching_allocator.model import Device, Model
from helpers.labs.memory.caching_allocator.traces import (
    ALIKE,
    ALIKE_LESSON,
    EMPTY,
    EVEN,
    ODD,
    THIRDS,
    Player,
    drawn,
    filled,
    give,
    give_at,
    in_words,
    refused,
    take,
    trace,
)

caching_allocator = Exercise(
    "14.caching_allocator",
    "The caching allocator",
    objective="Write the allocator that stands between torch and `cudaMalloc`.",
    minutes=50,
    difficulty="hard",
    names=("CachingAllocator",),
    kind="class",
    hints=[
        "What must be remembered is what `snapshot` shows. Keep it in this form: a list of segments, each a dict with a list of "
        "its blocks, by address. Begin with `malloc` of one block, and `snapshot`.",
        "`malloc` has three steps. Find the idle blocks that fit, and take `min` of them by size and address. If there are "
        "none, the device's segment is one idle block. In both cases the same lines cut off the rest: insert it behind.",
        "`free` looks through the lists for the block at this address that is out. Join it with the next of the list first, "
        "then with the one before: so its own place stays right. The list ends where the segment ends.",
        "Ask the device before you change anything: what it raises then passes through by itself. In `empty_cache`, go through "
        "a copy of the list, since segments leave it meanwhile. `deepcopy` copies the dicts inside, too.",
    ],
)

MAKES = "Cuts segments of a device into blocks, hands them out, and keeps what comes back."
USES = (
    "`CachingAllocator(device, rules)`: `device.malloc(nbytes)` returns the address of a new segment, an int, perhaps 0, "
    "or raises `torch.OutOfMemoryError`; `device.free(address)` takes a segment back, and the address may come again."
)
NOTHING_ELSE = "Nothing else of `device` is used."
RULES = "`rules` are the sizes, as in `rounded`; not always those of torch."
HANDS_OUT = "`malloc(nbytes, stream=0)` hands out a block for a request of 1 byte or more, and returns its address, an int."
SIZES = "The block's size and the segment's follow from the request as in `rounded`."
SMALL = "A request is small if its block's size is at most `small_size`, else large."
FITS = (
    "It is served by an idle block, if one fits: one of a segment of the same kind (small or large) and the same stream, "
    "and at least as large as the request's block."
)
BEST = "Of several, the smallest; of several of that size, the one with the lowest address."
ASKED = "If none fits, the device is asked for one segment, and that is one idle block, which is taken."
PASSES = "What the device raises passes through, the same error, and the allocator stays as it was."
SPLITS = (
    "If the block taken is larger than needed, it is split when the rest is large enough: at least `min_block_size` in a "
    "small segment, more than `small_size` in a large one."
)
FRONT = "The request gets the front, the rest is an idle block of its own."
WHOLE = "Else the whole block is handed out."
TAKES_BACK = "`free(address)` takes back the block that was handed out at this address."
MERGES = (
    "It becomes idle, and is one block with the idle blocks directly before and behind it in its segment."
)
NOT_CALLED = "The device is not called."
NONE_OUT = "If no block is out at this address, ValueError is raised, and the allocator stays as it was."
EMPTIES = "`empty_cache()` gives each segment that is idle throughout back to the device, and no other."
SHOWS = (
    "`snapshot()` returns a list of the segments, by address, in the words of `torch.cuda.memory_snapshot`.",
    'Each is a dict with `address`, `total_size`, `stream`, `segment_type` ("small" or "large") and `blocks`, a list of its '
    "blocks, by address.",
    "Each of these is a dict with `address`, `size`, `requested_size` (the bytes of the request, 0 if idle) and `state` "
    '("active_allocated" or "inactive").',
)
A_COPY = "What a caller does to the list changes nothing in the allocator."
APART = "Two allocators know nothing of each other."


@caching_allocator.property("a new allocator knows nothing of an earlier one", asks=APART)
def begins_empty(answer: Any, trial: Trial) -> None:
    # First, since an answer that keeps something in the class is wrong everywhere, each time in a different way.
    trial.given(f"two allocators; the first one: malloc(500). {in_words(EVEN)}")
    try:
        one, other = (answer(Device([place]), EVEN) for place in (7700, 3000))
        before, knew = deepcopy(other.snapshot()), takes(other, 7700)
        one.malloc(500)
        after = other.snapshot()
        changed = before != after
        disturbed = not knew and takes(other, 7700)
    except NotImplementedError:
        raise
    except Exception:  # for other properties to tell
        return
    trial.true(
        not changed,
        "A request of one allocator changed the snapshot of a different one. Perhaps what it remembers is kept in the class, or "
        "in a default value, and not in the object.",
        expected="the other allocator stays as it was",
        got="a new segment, or block, in its snapshot",
        observed="shared",
    )
    trial.true(
        not disturbed,
        "The other allocator took back the block at 7700, which the first one has handed out. Perhaps what is out is kept in "
        "the class, or in a default value, and not in the object.",
        expected="ValueError from the other one's free(7700)",
        got="nothing was raised",
        observed="what is out is shared",
    )


@caching_allocator.property(
    "the first request: the device is asked once, and the segment's address returned",
    asks=(MAKES, USES, NOTHING_ELSE, HANDS_OUT, SIZES, ASKED, RULES),
)
def asks_the_device(answer: Any, trial: Trial) -> None:
    more = {"lesson": "The segment's size follows from the block's, as in `rounded`.", "about": ("device",)}
    holds(
        answer,
        trial,
        trace(take("a", 25), **more),
        trace(take("a", 120, 0, by_name=False), **more),
        trace(take("a", 470, 3), **more),
        *(
            trace(take("a", size, 3), rules=rules, **more)
            for rules, sizes in LIMITS.items()
            for size in sizes
        ),
        shows=False,
    )


LIMITS = {
    EVEN: (1, 50, 51, 290, 291, 300, 301, 400, 401),
    ODD: (60, 61, 300, 301, 350, 351),
    THIRDS: (9, 57, 61),
}


@caching_allocator.property("the snapshot has the segments and their blocks", asks=SHOWS)
def shows_segments(answer: Any, trial: Trial) -> None:
    holds(
        answer,
        trial,
        trace(),
        trace(take("a", 495)),
        trace(take("a", 500, 3), take("b", 391), take("c", 295, 0, by_name=False)),
    )


@caching_allocator.property(
    "a block is split: the request gets the front, and the next one is served by the rest",
    asks=(FRONT, FITS, SPLITS, HANDS_OUT),
)
def splits(answer: Any, trial: Trial) -> None:
    more = {"lesson": "The rest is an idle block, behind the one that is handed out.", "about": ("snapshot",)}
    holds(
        answer,
        trial,
        trace(take("a", 25), **more),
        trace(take("a", 120), **more),
        trace(*filled("a", 25, 30, 11, 1), **more),
        trace(*filled("a", 120, 200, 60), **more),
    )


@caching_allocator.property(
    "what comes back is idle, and serves the next request",
    asks=(TAKES_BACK, "It becomes idle", NOT_CALLED, FITS, MAKES),
)
def reuses(answer: Any, trial: Trial) -> None:
    holds(
        answer,
        trial,
        trace(take("a", 495), give("a"), take("b", 491)),
        trace(take("a", 500), give("a"), take("b", 400)),
        trace(filled("a", 290, 310), give("a0"), take("b", 113)),
    )


@caching_allocator.property("idle neighbours become one block", asks=(MERGES, TAKES_BACK))
def merges(answer: Any, trial: Trial) -> None:
    more = {
        "lesson": "Idle blocks that lie side by side in a segment are one block.",
        "about": ("snapshot", "device"),
    }
    holds(
        answer,
        trial,
        # In one go, so that it is seen which of the two sides are joined.
        trace(filled("a", 60, 90, 70, 80, 100, 200), give("a0", "a1", "a4", "a3"), at_the_end=True, **more),
        trace(filled("a", 60, 90, 70, 80, 100, 200), give("a1", "a3", "a2"), at_the_end=True, **more),
        trace(take("a", 25), give("a"), **more),
        trace(filled("a", 20, 30, 40), give("a2", "a1"), **more),
        trace(filled("a", 10, 20, 20, 50), give("a0", "a2", "a1"), **more),
        trace(filled("a", 20, 30, 40), give("a0", "a2"), lesson="A block that is out lies between the two."),
        trace(filled("a", 60, 120, 170, 250), give("a0", "a2", "a1"), take("b", 350), give("b"), **more),
        trace(filled("a", 60, 90, 70, 80, 300), give("a0", "a1", "a2", "a3"), **more),
        trace(filled("a", 60, 90, 70, 80, 300), give("a3", "a2", "a1", "a0"), **more),
        # What is split off in the middle has a neighbour behind it, too.
        trace(filled("a", 60, 170, 120, 250), give("a1"), take("b", 60), give("a2"), **more),
        # What was merged has no address of its own any more.
        trace(filled("a", 60, 120, 170, 250), give("a1", "a0"), take("b", 120), give("b", "a2"), **more),
        trace(filled("a", 60, 120, 170, 250), give("a0", "a1"), take("b", 120), give("b", "a2"), **more),
    )


@caching_allocator.property("small and large requests have segments of their own", asks=(FITS, SMALL))
def kinds_apart(answer: Any, trial: Trial) -> None:
    lesson = "A small request is served from a small segment only, a large one from a large segment only."
    holds(
        answer,
        trial,
        trace(take("a", 500), give("a"), take("b", 25), lesson=lesson),
        trace(take("a", 25), give("a"), take("b", 60), lesson=lesson),
        trace(filled("a", 250, 25), give("a0"), take("b", 50), take("c", 51), give("a1"), lesson=lesson),
        trace(filled("a", 30, 60, 20), give("a0", "a2"), take("b", 180), take("c", 1), lesson=lesson),
    )


@caching_allocator.property("each stream has segments of its own", asks=(FITS, HANDS_OUT))
def streams_apart(answer: Any, trial: Trial) -> None:
    lesson = "What was free on one stream may still be in use by another one's kernels."
    holds(
        answer,
        trial,
        trace(take("a", 25), give("a"), take("b", 25, 1), take("c", 25), lesson=lesson),
        trace(
            take("a", 25, 1),
            take("b", 500, 2),
            give("a", "b"),
            take("c", 500),
            take("d", 495, 2, by_name=False),
            lesson=lesson,
        ),
        # 700: a number that is not the same object each time.
        trace(take("a", 500, 700), give("a"), take("b", 500, 700), take("c", 500, 0), take("d", 30, 700)),
        trace(
            take("a", 250, 1), take("b", 250, 1), give("a"), take("c", 120), take("d", 160, 1), give("d", "b")
        ),
    )


@caching_allocator.property("blocks of two segments stay apart, also where the segments touch", asks=MERGES)
def stays_in_its_segment(answer: Any, trial: Trial) -> None:
    lesson = "A segment ends where the next one begins: each goes back to the device by itself."
    for places in ((1000, 1500), (1500, 1000)):
        for names in (("a0", "a1"), ("a1", "a0")):
            made = trace(
                filled("a", 500, 500), give(*names), take("b", 900), at=(*places, 4000), lesson=lesson
            )
            holds(answer, trial, made)
    # The rest of the small segment touches the other one.
    holds(
        answer,
        trial,
        trace(take("a", 500), take("b", 500, 1), give("a", "b"), at=(1000, 1500), lesson=lesson),
        trace(take("a", 25), take("b", 25, 1), give("b", "a"), at=(1000, 1200), lesson=lesson),
        trace(take("a", 25), take("b", 500), give("b", "a"), at=(1000, 1200), lesson=lesson),
        trace(take("a", 500), take("b", 25), give("a", "b"), at=(1000, 800), lesson=lesson),
    )


@caching_allocator.property(
    "a small segment: a rest of min_block_size or more is split off", asks=(SPLITS, WHOLE)
)
def splits_small(answer: Any, trial: Trial) -> None:
    lesson = "A rest of min_block_size or more is a block of its own, a smaller one stays with the block before it."
    holds(
        answer,
        trial,
        trace(filled("a", 50, 50, 50, 40), take("b", 10), lesson=lesson),
        trace(filled("a", 50, 50, 50, 50), give("a1"), take("b", 50), lesson=lesson),
        trace(filled("a", 50, 50, 20), give("a2"), take("b", 12), lesson=lesson, rules=ODD),
        trace(filled("a", 60, 55, 1), take("b", 1), give("b"), lesson=lesson, rules=ODD),
        trace(filled("a", 60, 60), lesson=lesson, rules=replace(ODD, small_buffer=129)),
        trace(filled("a", 60, 60), lesson=lesson, rules=replace(ODD, small_buffer=131)),
        trace(filled("a", 40, 40, 40), give("a1", "a2"), take("c", 60), lesson=lesson, rules=ODD),
    )


@caching_allocator.property(
    "a large segment: a rest of more than small_size is split off, a smaller one is not", asks=(SPLITS, WHOLE)
)
def splits_large(answer: Any, trial: Trial) -> None:
    lesson = "A rest that no large request could use stays with the block before it."
    holds(
        answer,
        trial,
        trace(take("a", 540), lesson=lesson),
        trace(take("a", 560), lesson=lesson),
        trace(take("a", 550), lesson=lesson),
        trace(filled("a", 290, 260), give("a1"), take("b", 245), lesson=lesson),
        trace(filled("a", 290, 100), take("b", 160), lesson=lesson),
        trace(take("a", 481), give("a"), take("b", 60), take("c", 380), lesson=lesson),
        trace(filled("a", 300, 240), rules=ODD, lesson=lesson),
        trace(filled("a", 300, 231), rules=ODD, lesson=lesson),
        trace(filled("a", 290, 250), rules=replace(ODD, large_segment_size=606), lesson=lesson),
    )


@caching_allocator.property(
    "an idle block fits if it is as large as the block, or larger", asks=(FITS, SIZES)
)
def fits(answer: Any, trial: Trial) -> None:
    lesson = "What counts is the size of the block, which is the request rounded up."
    holds(
        answer,
        trial,
        trace(filled("a", 290, 310), give("a0"), take("b", 281), lesson=lesson),
        trace(filled("a", 40, 30, 20), give("a1"), take("b", 31), lesson=lesson),
        trace(filled("a", 200, 100, 200), give("a1"), take("b", 101), lesson=lesson),
        trace(take("a", 500), give("a"), take("b", 501), lesson=lesson),
        trace(take("a", 500), give("a"), take("b", 500), take("c", 500), lesson=lesson),
        # A block of 25 is handed out whole for 20. 21 bytes are a block of 30.
        trace(filled("a", 50, 50, 20), give("a2"), take("b", 21), rules=ODD, lesson=lesson),
    )


@caching_allocator.property("of the idle blocks that fit, the smallest is taken", asks=BEST)
def best_fit(answer: Any, trial: Trial) -> None:
    lesson = "The smallest that fits leaves the large ones whole."
    holds(
        answer,
        trial,
        trace(filled("a", 30, 10, 20, 10), give("a0", "a2"), take("b", 15), lesson=lesson),
        trace(filled("a", 20, 10, 30, 10), give("a2", "a0"), take("b", 15), lesson=lesson),
        trace(filled("a", 30, 10, 20, 10, 50), give("a2", "a0"), take("b", 25), lesson=lesson),
        trace(
            filled("a", 600, 500, 700), give("a0", "a1", "a2"), take("b", 480), take("c", 480), lesson=lesson
        ),
        trace(
            filled("a", 500, 600, 700), give("a1", "a0", "a2"), take("b", 501), take("c", 501), lesson=lesson
        ),
        # Of the two, the larger request would have taken what is the smaller rest.
        trace(filled("a", 600, 700, 60), give("a1", "a0"), take("b", 400), take("c", 480), lesson=lesson),
    )


@caching_allocator.property("of several of one size, the one with the lowest address is taken", asks=BEST)
def lowest_address(answer: Any, trial: Trial) -> None:
    lesson = "It does not count which came back first, nor which segment is the older one."
    holds(
        answer,
        trial,
        trace(filled("a", 20, 10, 20, 10, 20, 30), give("a0", "a4", "a2"), take("b", 20), lesson=lesson),
        trace(filled("a", 20, 10, 20, 10, 20, 30), give("a2", "a4", "a0"), take("b", 11), lesson=lesson),
        trace(filled("a", 20, 10, 20, 10, 20, 30), give("a4", "a0", "a2"), take("b", 11), lesson=lesson),
        trace(filled("a", 500, 500, 500), give("a0", "a1", "a2"), filled("b", 480, 480, 480), lesson=lesson),
        trace(filled("a", 500, 500, 500), give("a1", "a2", "a0"), filled("b", 480, 480, 480), lesson=lesson),
    )


@caching_allocator.property(
    "the block's size says whether a request is small, not the request, nor the segment", asks=(SMALL, SIZES)
)
def kind_by_block(answer: Any, trial: Trial) -> None:
    lesson = "A request of 61 to 65 bytes has a block of 70, which is more than small_size."
    holds(
        answer,
        trial,
        trace(take("a", 60), rules=ODD, lesson=lesson),
        trace(take("a", 61), rules=ODD, lesson=lesson),
        trace(take("a", 65), give("a"), take("b", 200), rules=ODD, lesson=lesson),
        trace(take("a", 60), take("b", 30), give("a"), take("c", 65), rules=ODD, lesson=lesson),
        trace(take("a", 25), take("b", 160), give("b"), take("c", 155), rules=ALIKE, lesson=ALIKE_LESSON),
    )


@caching_allocator.property(
    "the device refuses: its error passes through, and the allocator stays as it was", asks=(PASSES, ASKED)
)
def refuses(answer: Any, trial: Trial) -> None:
    lesson = "The device's error is for whoever called malloc and decides what to give back and whether to ask once more."
    holds(
        answer,
        trial,
        trace(
            take("a", 25),
            give("a"),
            refused(60),
            refused(500, 2),
            take("b", 60),
            take("c", 25),
            lesson=lesson,
        ),
        trace(refused(25), take("a", 25), lesson=lesson),
        trace(filled("a", 500, 30), give("a0"), refused(501), take("b", 30), give("a1", "b"), lesson=lesson),
        # With no room on the device, what is idle serves.
        trace(
            filled("a", 500, 30),
            give("a0"),
            refused(490),
            refused(10),
            lesson="An idle block needs no device.",
        ),
    )


@caching_allocator.property(
    "no block is out at the address: ValueError, and the allocator stays as it was", asks=NONE_OUT
)
def refuses_to_free(answer: Any, trial: Trial) -> None:
    lesson = "The caller has made a mistake, and waits for ValueError to hear of it."
    holds(
        answer,
        trial,
        trace(give_at("", 5000), take("a", 25), lesson=lesson),
        trace(filled("a", 25, 30), give("a0", "a0"), take("b", 25), lesson=lesson),
        trace(filled("a", 25, 30), give("a0", "a1", "a1", "a0"), lesson=lesson),
        trace(take("a", 500), give("a", "a"), lesson=lesson),
        trace(take("a", 25), give_at("a", 10), give_at("a", 30), give_at("a", 200), lesson=lesson),
        trace(
            take("a", 500), give_at("a", 100), give_at("a", 500), give_at("", 77), give_at("a"), lesson=lesson
        ),
        trace(take("a", 25), give("a"), take("b", 20), give("a", "a"), lesson=lesson),
    )


@caching_allocator.property(
    "empty_cache gives back the segments that are idle throughout, and no other", asks=(EMPTIES, NONE_OUT)
)
def empties(answer: Any, trial: Trial) -> None:
    holds(
        answer,
        trial,
        trace(EMPTY),
        trace(take("a", 500), give("a"), EMPTY, EMPTY, take("b", 500)),
        trace(filled("a", 20, 30, 40), give("a1", "a2"), EMPTY, give("a0"), EMPTY),
        trace(filled("a", 20, 30, 40), give("a0", "a2"), EMPTY, take("b", 20)),
        trace(filled("a", 120, 200, 250), give("a0", "a1"), EMPTY, take("b", 320)),
        trace(
            filled("a", 500, 600, 700, 800, 30, 60),
            give("a0", "a1", "a2", "a4"),
            EMPTY,
            give("a3", "a5"),
            EMPTY,
            lesson="A list from which something leaves, while a loop goes through it, skips the next one.",
        ),
        trace(
            take("a", 500, 1),
            take("b", 30, 2),
            take("c", 60),
            take("d", 30),
            give("a", "b", "c"),
            EMPTY,
            take("e", 30, 2),
        ),
        trace(take("a", 500), give("a"), EMPTY, give("a")),
    )


@caching_allocator.property(
    "an address that the device gives out again, and address 0", asks=(USES, EMPTIES, HANDS_OUT)
)
def again(answer: Any, trial: Trial) -> None:
    at_zero: Any = {
        "lesson": "The first segment begins at address 0, an address like any other.",
        "about": ("device",),
    }
    holds(
        answer,
        trial,
        trace(
            take("a", 500),
            give("a"),
            EMPTY,
            take("b", 30, 2),
            take("c", 20, 2),
            give("b", "c"),
            at=(5000, 5000),
        ),
        trace(
            filled("a", 20, 30),
            give("a0", "a1"),
            EMPTY,
            take("b", 130),
            take("c", 490),
            at=(5000, 5000, 3000),
        ),
        trace(filled("a", 20, 30), give("a0"), take("b", 20), give("b", "a1"), EMPTY, at=(0,), **at_zero),
        trace(take("a", 500), give("a"), take("b", 490), at=(0,), **at_zero),
    )


@caching_allocator.property("the snapshot is a copy: what a caller does to it changes nothing", asks=A_COPY)
def gives_a_copy(answer: Any, trial: Trial) -> None:
    made = trace(filled("a", 25, 30, 500), give("a0"))
    for words, change in CHANGES.items():
        trial.given(f"{made}. Then a caller changes a snapshot: {words}")
        own, model = (Player(each, made) for each in (answer, Model))
        for op in made.ops:
            for player in (own, model):
                player.play(op)
        change(own.allocator.snapshot())
        want, got = model.allocator.snapshot(), own.allocator.snapshot()
        trial.true(
            same(got, want),
            f"A caller changed what snapshot() returned ({words}), and the next snapshot is a different one.",
            expected=in_short(want),
            got=shown(got),
            observed=("not a copy", words),
        )
        name, address = "a0", own.play(take("b", 24))
        trial.true(
            address == model.play(take("b", 24)),
            f"A caller changed what snapshot() returned ({words}), and the next request gets a different block.",
            expected=str(model.out[name]),
            got=str(address),
            observed=("not a copy within", words),
        )


CHANGES: dict[str, Any] = {
    "its list is emptied": lambda segments: segments.clear(),
    "`stream` of a segment is set to 9": lambda segments: segments[-1].update(stream=9),
    "`blocks` of a segment is emptied": lambda segments: [each["blocks"].clear() for each in segments],
    "`state` of all blocks is set to 'inactive'": lambda segments: [
        block.update(state="inactive") for each in segments for block in each["blocks"]
    ],
}


@caching_allocator.property("two allocators know nothing of each other", asks=APART)
def two_allocators(answer: Any, trial: Trial) -> None:
    made = (
        trace(filled("a", 25, 500), give("a0"), take("b", 60), EMPTY, give("a1"), at=(5000, 3000, 1000)),
        trace(filled("a", 30, 30), give("a1"), take("b", 500), take("c", 480), at=(5000, 3000, 1000)),
    )
    trial.given(f"two allocators, called in turns. The one: {made[0]}. The other: {made[1]}")
    own = [Player(answer, each) for each in made]
    models = [Player(Model, each) for each in made]
    for step in range(max(len(each.ops) for each in made)):
        for place, each in enumerate(made):
            if step < len(each.ops):
                op = each.ops[step]
                try:
                    got = own[place].play(op)
                except ValueError as error:
                    got = f"ValueError: {error}"
                want = models[place].play(op)
                trial.true(
                    got == want and own[place].device.calls == models[place].device.calls,
                    f"At {op}, one allocator does something else than it does alone.",
                    expected=f"{want}, {models[place].device.calls}",
                    got=f"{got}, {own[place].device.calls}",
                    observed=("not apart", place, step),
                )
    for place in (0, 1):
        got, want = own[place].allocator.snapshot(), models[place].allocator.snapshot()
        trial.true(
            same(got, want),
            "The snapshot of one allocator is different from what it is alone.",
            expected=in_short(want),
            got=shown(got),
            observed=("not apart in the end", place),
        )
    device = Device([5000, 3000])
    one, other = answer(device, EVEN), answer(device, EVEN)
    trial.given("two allocators of one device. The one: a = malloc(25). The other: free(a)")
    address = one.malloc(25)
    error = trial.raises(
        ValueError, lambda: other.free(address), "for an address that a different allocator gave"
    )
    del error


@caching_allocator.property(
    "many requests of any size on several streams, with any rules",
    asks=(RULES, MAKES, SMALL, FITS, BEST, SPLITS, MERGES, NOT_CALLED),
)
def any_requests(answer: Any, trial: Trial) -> None:
    for count in range(4):
        holds_in_short(answer, trial, drawn(trial.random, 45, many=count == 0))


@caching_allocator.property("a segment of 2,000 blocks", asks=(SHOWS[1], HANDS_OUT, MERGES), once_right=True)
def many_blocks(answer: Any, trial: Trial) -> None:
    holds_many(answer, trial, replace(EVEN, small_buffer=20_000))
