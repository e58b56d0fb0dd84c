"""06.prefetcher, second half: what the trace of the device shows, and the times in it."""

from __future__ import annotations

from typing import Any

from helpers.labs.streams.prefetcher import prefetcher
from helpers.labs.streams.prefetcher_parts import COMPUTE, COPY, epoch
from helpers.trial import Trial


@prefetcher.property("the computation on a batch waits for the copy of this batch", once_right=True)
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
    "memory of a batch is not written again while the current stream may still read it", once_right=True
)
def kept(answer: Any, trial: Trial) -> None:
    trial.given("a loader of 6 batches; the consumer lets go of each one when its kernels are queued")
    one = epoch(answer, trial, 6)
    times, told = one.times, "SimTensor.record_stream" in one.calls
    pairs = times.overwritten()
    if pairs:
        i, j = pairs[0]
        told_words = (
            "record_stream was called, but not with the stream that reads"
            if told
            else "nobody has told the allocator of the stream that reads"
        )
        trial.fail(
            f"Batch {j} has got the memory of batch {i}, and nothing orders {times.batch_words(compute=i)} and "
            f"{times.batch_words(copy=j)}: {told_words}.",
            expected="a block that is given away when the computation on it is over",
            got=times.table(),
            observed=told,
        )


@prefetcher.property("there is no other race", once_right=True)
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


@prefetcher.property("copies and computations run at the same time", once_right=True)
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
    "the values are right in the end, with pinned and with pageable batches", once_right=True
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
