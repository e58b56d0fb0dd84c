"""Exercise 06.prefetcher: the next batch travels while the device computes on this one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from helpers import streams
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.prefetcher.inputs import COMPUTE, COPY, Feed, epoch

prefetcher = Exercise(
    "06.prefetcher",
    "One batch ahead",
    objective="Copy the next batch on a side stream while the current stream computes, with the right edges and memory.",
    minutes=35,
    difficulty="hard",
    core=False,
    prepare=streams.install,
    hints=[
        "Three things have to hold for batch i: it is used after its copy is done; its memory is kept until it has "
        "been used; and when it is handed out, the copy of batch i + 1 is already queued.",
        "Select the side stream only around copy(batch). A generator that yields inside `with streams.stream(stream):` "
        "leaves the side stream selected in the code that runs the loop.",
        "Before you hand out a batch, the current stream waits for the side stream. At that moment the copy of this "
        "batch must be the last thing queued there; so wait first, and then queue the next copy.",
        "Keep one batch `coming`. In a loop: current.wait_stream(stream); ready = coming; "
        "ready.record_stream(current); take the next host batch, if there is one, and copy it; yield ready. "
        "next(iterator, None) tells the end without StopIteration.",
    ],
)

YIELDS = "Yields copy(batch) for each batch, in order; the next one is copied on `stream` meanwhile."
LOADER = "The loader may be empty and has no len(); it is read at most one batch ahead."
CALLED = "copy is called once for each batch, with the batch itself, while `stream` is the current one."
AHEAD = "When batch i is handed out, the copy of batch i + 1 is queued already, and no later one."
AFTER = (
    "What the consumer then queues on its current stream (any stream) runs after the copy of batch i, and does not wait "
    "for the copy of batch i + 1."
)
CURRENT = "The consumer's stream is the current one whenever the consumer runs."
MEMORY = "Memory of a batch that the consumer has let go is not written again before its kernels are done."
HELD = "The prefetcher holds at most two batches that were handed out, and each is a tensor of its own."
HOST = "The host waits for nothing and asks nothing (no synchronize, no query)."
PAGEABLE = "Batches that are not page-locked come out right, too, although copy makes the host wait then."


@prefetcher.property("yields every batch once, in order, each as a tensor of its own", asks=(YIELDS, HELD))
def batches(answer: Any, trial: Trial) -> None:
    for count in (5, 1, 2):
        trial.given(f"a loader of {count} batch(es), all kept by the consumer")
        feed = Feed(trial, count)
        with streams.stream(feed.main):
            got = taken(answer, trial, feed)
        wrong = sorted({kind for kind in map(kind_of_batch, got) if kind})
        trial.true(
            not wrong,
            f"Expected tensors on {streams.DEVICE!r}, got {', '.join(wrong)}.",
            expected="what copy(batch) returned",
            got=f"{len(got)} items",
            observed=("types", wrong),
        )
        places = [feed.place(streams.truth(each)) for each in got]
        trial.true(
            places == list(range(count)),
            f"Expected batches {list(range(count))}, got {places}{what_of(places, count)}.",
            expected=list(range(count)),
            got=places,
            observed=places,
        )
    trial.given(
        "a loader of 5 batches; the consumer takes one by next(), one in a loop that it leaves, and the rest in a second loop"
    )
    feed = Feed(trial, 5)
    with streams.stream(feed.main):
        places = [feed.place(streams.truth(each)) for each in taken(answer, trial, feed, _in_three_parts)]
    trial.true(
        places == list(range(5)),
        f"A second loop over the iterator does not go on where the first was left: batches {places}.",
        expected=list(range(5)),
        got=places,
        observed=("second loop", places),
    )


def taken(
    answer: Any,
    trial: Trial,
    feed: Feed,
    take: Callable[[Any], list[Any]] = lambda result: list(itertools.islice(result, 20)),
) -> list[Any]:
    """All that the answer yields, or the first 20 of it."""
    result = trial.call(answer, feed, feed.copy, feed.stream)
    trial.true(
        hasattr(result, "__iter__") and not isinstance(result, str | torch.Tensor),
        f"Expected an iterator of batches, got {type(result).__name__}.",
        expected="something that a for loop can run over: write `yield`",
        got=type(result).__name__,
        observed=("no iterator", type(result).__name__),
    )
    return trial.call(lambda: take(result))


def _in_three_parts(result: Any) -> list[Any]:
    """One by next(), one in a loop that is left, the rest in a second loop."""
    batches = iter(result)
    got = [next(batches)]
    for batch in batches:
        got.append(batch)
        break
    return [*got, *itertools.islice(batches, 20)]


def kind_of_batch(item: Any) -> str:
    """What is wrong with the type of a batch, '' if nothing is."""
    if not isinstance(item, torch.Tensor):
        return type(item).__name__
    return "" if item.device.type == streams.DEVICE else f"a tensor on {item.device.type}"


def what_of(places: list[int | None], count: int) -> str:
    """What is wrong with the list, where it is plain."""
    if places == list(range(count - 1)):
        return ": the last one is missing"
    if count > 2 and len(places) == count and len(set(places)) < count:
        return ": they share memory, and a later batch has overwritten an earlier one"
    return ""


@prefetcher.property("a batch without rows is a batch as any other", asks=YIELDS, once_right=True)
def without_rows(answer: Any, trial: Trial) -> None:
    for shape in ((0,), (0, 3)):
        trial.given(f"a loader of 4 batches, of which the second has shape {shape}")
        feed = Feed(trial, 4)
        feed.batches[1] = streams.pin_memory(torch.empty(shape))
        with streams.stream(feed.main):
            got = [tuple(batch.shape) for batch in taken(answer, trial, feed)]
        want = [tuple(batch.shape) for batch in feed.batches]
        trial.true(
            got == want,
            f"Expected 4 batches, got {len(got)}: "
            + (
                "those behind the empty one are lost."
                if got == want[:1]
                else "the empty one was not handed out."
            ),
            expected=f"batches of shape {want}",
            got=f"batches of shape {got}",
            observed=("shapes", got == want[:1]),
        )


@prefetcher.property("an empty loader gives no batch and no error", asks=LOADER, once_right=True)
def empty(answer: Any, trial: Trial) -> None:
    trial.given("a loader without batches")
    feed = Feed(trial, 0)
    got = taken(answer, trial, feed)
    trial.true(not got, f"Expected no batch, got {len(got)}.", expected=[], got=len(got), observed=len(got))


@prefetcher.property(
    "the consumer's stream is the current one whenever a batch is handed out", asks=CURRENT, once_right=True
)
def consumers_stream(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 3 batches; the consumer's current stream is 'main', `stream` is 'side'")
    found = []
    for stops in (False, True):
        feed = Feed(trial, 3)
        with streams.stream(feed.main):
            iterator = iter(trial.call(answer, feed, feed.copy, feed.stream))
            for _ in itertools.islice(iterator, 1 if stops else None):
                found.append(streams.current_stream().name)
            if stops and hasattr(iterator, "close"):
                iterator.close()
            found.append(streams.current_stream().name)
    trial.true(
        set(found) == {feed.main.name},
        "When a batch was handed out, the side stream was the current one. What the consumer queues then goes to the side "
        "stream, behind the copies, and nothing overlaps.",
        expected="current stream 'main' with each batch, behind the last one, and where the consumer leaves early",
        got=f"current streams: {found[:4]}; if it leaves after the first batch: {found[4:]}",
        observed=found,
    )


@prefetcher.property("copies are queued on `stream`", asks=CALLED, once_right=True)
def on_stream(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 batches; the consumer's current stream is 'main', `stream` is 'side'")
    one = epoch(answer, trial, 6)
    found = [copy.stream for copy in one.feed.copies]
    trial.true(
        not one.calls & {"StreamContext.__enter__", "set_stream"},
        "The answer selects a stream with torch.cuda. On a machine without a GPU `with torch.cuda.stream(s):` does "
        "nothing at all and says nothing. Write `with streams.stream(stream):`.",
        expected="with streams.stream(stream): ...",
        got=f"current stream at the calls of copy: {found}",
        observed="torch.cuda",
    )
    trial.true(
        bool(found),
        "copy was never called: the batches came to the device in a different way.",
        expected="six calls of copy",
        got="none",
        observed="never called",
    )
    trial.true(
        set(found) == {"side"},
        "copy was called while a stream other than `stream` was current, so the copies stand in that queue.",
        expected="current stream 'side' at each call of copy",
        got=f"current stream at the calls of copy: {found}",
        observed=found,
    )


@prefetcher.property("the host waits for nothing", asks=HOST, once_right=True)
def host_free(answer: Any, trial: Trial) -> None:
    trial.given(
        "a loader of 6 pinned batches; copy does not block, and the consumer reads nothing on the host"
    )
    one = epoch(answer, trial, 6)
    pageable = [place for place, copy in enumerate(one.feed.copies) if not copy.pinned]
    trial.true(
        not pageable,
        f"copy was given memory that is not page-locked, for batches {pageable}, though the loader's is. A tensor that is "
        "computed from a pinned one is not pinned, and the host has to wait while it is copied.",
        expected="copy(batch) with the batch of the loader",
        got=f"{len(pageable)} copies from pageable memory",
        observed="pageable",
    )
    waits = one.times.host_waits()
    trial.true(
        not waits,
        f"The host waits for the device, {len(waits)} time(s) in 6 batches. While it waits it queues nothing. The current "
        "stream is the one that has to wait.",
        expected="no synchronize(), no query(): a stream that waits for a stream",
        got=f"{len(waits)} waits of the host",
        observed="host waits",
    )


@prefetcher.property(
    "page-locked memory is not filled again while it is being copied", asks=CALLED, once_right=True
)
def staged(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 pinned batches; a copy takes 100 us")
    early = [place for place, copy in enumerate(epoch(answer, trial, 6).feed.copies) if copy.reused_early]
    trial.true(
        not early,
        f"copy was given the same host memory again for batches {early} while an earlier copy from it was still under way. "
        "The host has overwritten what the device was reading.",
        expected="each batch of the loader as it is: it is pinned already, and a tensor of its own",
        got=f"memory filled again too early for batches {early}",
        observed="staging",
    )


@prefetcher.property("copy is given each batch once, and the batch itself", asks=CALLED, once_right=True)
def given_itself(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 pinned batches")
    feed = epoch(answer, trial, 6).feed
    own = [batch.untyped_storage().data_ptr() for batch in feed.batches]
    found = [own.index(copy.memory) if copy.memory in own else "a different tensor" for copy in feed.copies]
    trial.true(
        found == list(range(6)),
        "copy was called with a tensor that is not the loader's."
        if "a different tensor" in found
        else "copy was not called once for each batch, in order.",
        expected=f"copy(batch) with batches {list(range(6))} of the loader",
        got=f"copy(batch) with {found}",
        observed=found,
    )


@prefetcher.property(
    "one batch ahead: with batch i comes the copy of batch i + 1, and no more",
    asks=(AHEAD, LOADER),
    once_right=True,
)
def ahead(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 batches")
    handed = epoch(answer, trial, 6).consumer.handed
    copies, reads = [each.copies for each in handed], [each.reads for each in handed]
    want = [2, 3, 4, 5, 6, 6]
    kind = (
        "the next copy is not yet queued, so none runs while the consumer computes and waits for its loss"
        if copies == [1, 2, 3, 4, 5, 6]
        else "the whole loader is copied before the first batch is handed out: the device holds all of it"
        if copies == [6] * 6
        else "more than one batch is under way, and each takes memory of the device"
        if any(some > most for some, most in zip(copies, want, strict=False))
        else "the whole loader is read before the first batch is handed out"
        if copies == want and reads == [6] * 6
        else "the loader is read further than one batch ahead"
        if copies == want and any(read > copy for read, copy in zip(reads, want, strict=True))
        else ""
    )
    trial.true(
        copies == want and not kind,
        f"When a batch is handed out: {kind or 'the number of copies queued is not what it should be'}.",
        expected=f"copies queued when a batch is handed out: {want}",
        got=f"copies queued: {copies}; batches read from the loader: {reads}",
        observed=kind or copies,
    )


@prefetcher.property("no batch is kept after it has been used", asks=HELD, once_right=True)
def let_go(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 batches; the consumer lets go of each one at once")
    alive = [each.alive for each in epoch(answer, trial, 6).consumer.handed]
    trial.true(
        max(alive) <= 2,
        "Batches that were handed out are still held. They take memory of the device that nobody needs.",
        expected="at most 2 batches alive at a hand-out: the one that is handed out and the one before it",
        got=f"batches alive at each hand-out: {alive}",
        observed=("kept", max(alive)),
    )


# What the trace of the device shows, and the times in it.


@prefetcher.property(
    "the computation on a batch waits for the copy of this batch", asks=AFTER, once_right=True
)
def waited(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 batches; a copy takes 100 us, and so does the computation")
    times = epoch(answer, trial, 6).times
    unwaited = times.unwaited()
    if not unwaited:
        return
    place = unwaited[0]
    found = times.waits_of_computation(place)
    alike = {6: " So it is with every batch.", 1: ""}.get(
        len(unwaited), f" So it is with batches {unwaited}."
    )
    trial.fail(
        f"Nothing orders {times.batch_words(copy=place)} and {times.batch_words(compute=place)}.{alike} The current "
        f"stream waits for {found}.",
        expected="current.wait_stream(stream), or an event behind each copy, before the batch is handed out",
        got=times.table(),
        observed=(unwaited, found),
    )


@prefetcher.property(
    "memory of a batch is not written again while the current stream may still read it",
    asks=MEMORY,
    once_right=True,
)
def kept(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 batches; the consumer lets go of each one when its kernels are queued")
    one = epoch(answer, trial, 6)
    times, recorded = one.times, "SimTensor.record_stream" in one.calls
    pairs = times.overwritten()
    if pairs:
        i, j = pairs[0]
        words = (
            "record_stream was called, but not with the stream that reads"
            if recorded
            else "nobody has told the allocator of the stream that reads"
        )
        trial.fail(
            f"Batch {j} has got the memory of batch {i}, and nothing orders {times.batch_words(compute=i)} and "
            f"{times.batch_words(copy=j)}: {words}.",
            expected="a block that is given away when the computation on it is over",
            got=times.table(),
            observed=recorded,
        )


@prefetcher.property("there is no other race", asks=(AFTER, MEMORY), once_right=True)
def ordered(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 batches")
    times = epoch(answer, trial, 6).times
    pairs = times.races()
    if pairs:
        trial.fail(
            f"Nothing orders these two: {times.words(pairs[0][0])}; {times.words(pairs[0][1])}.",
            expected="an order between any two kernels of which one writes what the other touches",
            got=times.table(),
            observed=len(pairs),
        )


@prefetcher.property("copies and computations run at the same time", asks=(AFTER, YIELDS), once_right=True)
def overlapped(answer: Any, trial: Trial) -> None:
    for waits in (False, True):
        reading = "reads its loss in each step" if waits else "reads nothing on the host"
        trial.given(f"a loader of 8 batches; copy and computation take 100 us each; the consumer {reading}")
        times = epoch(answer, trial, 8, waits=waits).times
        total = max(end for _, end in times.times.values())
        late = [
            place
            for place in range(7)
            if times.times[times.computes[place]][0] >= times.times[times.copies[place + 1]][1]
        ]
        kind = (
            f"the computation waits for the copy of the next batch, too ({times.batch_words(copy=1)}; {times.batch_words(compute=0)})"
            if len(late) == 7
            else "a copy and a computation take turns"
        )
        trial.true(
            total < 8 * (COPY + COMPUTE) * 0.75,
            f"The epoch takes {total:.0f} us: {kind}.",
            expected="about 900 us: the first copy, then eight computations with a copy beside each",
            got=times.table(),
            observed=(waits, len(late) == 7),
        )


@prefetcher.property(
    "the values are right in the end, with pinned and with pageable batches",
    asks=(PAGEABLE, YIELDS),
    once_right=True,
)
def values(answer: Any, trial: Trial) -> None:
    for pinned in (True, False):
        trial.given(f"a loader of 6 {'pinned' if pinned else 'pageable'} batches")
        places = epoch(answer, trial, 6, pinned=pinned).places
        trial.true(
            places == list(range(6)),
            "What was computed does not belong to the batches.",
            expected=list(range(6)),
            got=places,
            observed=places,
        )


@prefetcher.property("what is handed out is what copy gave", asks=YIELDS, once_right=True)
def handed_itself(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 pinned batches")
    own = [handed.own for handed in epoch(answer, trial, 6).consumer.handed]
    trial.true(
        all(own),
        f"{own.count(False)} of {len(own)} batches lie in different memory than the tensors that copy gave for them.",
        expected="the tensor that copy gave, or a view of it",
        got="memory of its own for batch " + ", ".join(str(at) for at, one in enumerate(own) if not one),
        observed=own,
    )
