"""What people write for 14.checkpoints, and why it is wrong: the peak, the best list, and no list."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import isqrt
from typing import Any

import torch

from helpers.labs.memory.checkpoints.exercise import (
    ASCENDING,
    GAP,
    LIVE,
    MOST,
    PEAK,
    RAISED,
    STAYS,
    WHICH,
    checkpoints,
)
from helpers.labs.memory.checkpoints.right import Kept, Right


def as_function(written: type[Right]) -> Callable[..., Any]:
    """The answer is a function of the sizes and the budget."""
    return lambda sizes, budget: written(sizes, budget)()


bank = checkpoints.bank(as_function)


# What is returned.


@bank.mistake(breaks=WHICH)
class ThrownAway(Right):
    """All outputs fit, and the list is empty. Perhaps it holds the layers that are thrown away: those that
    are kept were asked.
    """

    def result(self, kept: Kept) -> Any:
        return [at for at in range(len(self.sizes)) if at not in kept]


@bank.mistake(breaks=ASCENDING)
class FromTheBack(Right):
    """The indices come from the last layer to the first. Perhaps the way back through a table was not turned
    round.
    """

    def result(self, kept: Kept) -> Any:
        return list(kept)[::-1]


@bank.mistake(breaks=ASCENDING)
class CountedFromOne(Right):
    """All outputs fit, and the list begins with 1, or ends with the number of layers: perhaps they are
    counted from 1. Indices begin at 0.
    """

    def result(self, kept: Kept) -> Any:
        return [at + 1 for at in kept]


@bank.mistake(breaks=ASCENDING)
class AsATuple(Right):
    """A tuple was returned. A list was asked."""

    def result(self, kept: Kept) -> Any:
        return kept


@bank.mistake(breaks=ASCENDING)
class HowMany(Right):
    """A number was returned, perhaps how many layers can be kept. Which ones was asked."""

    def result(self, kept: Kept) -> Any:
        return len(kept)


# The peak.


@bank.mistake(breaks=PEAK)
class KeptOnly(Right):
    """A gap does not fit. Perhaps only the kept outputs are counted: what a gap makes once more lives in the
    backward, beside them.
    """

    def gaps(self, kept: Kept) -> list[Kept]:
        return []


@checkpoints.variant(KeptOnly)
def _(sizes: list[int], budget: int) -> list[int]:
    """The smallest, as long as they fit together."""
    kept, total = [], 0
    for at in sorted(range(len(sizes)), key=lambda at: sizes[at]):
        if total + sizes[at] <= budget:
            total += sizes[at]
            kept.append(at)
    return sorted(kept)


@bank.mistake(breaks=PEAK)
class GapAlone(Right):
    """A gap with the kept outputs before it does not fit. Perhaps the gap is counted alone: the kept outputs
    before it are still needed.
    """

    def before(self, kept: Kept, gap: Kept) -> int:
        return 0


@bank.mistake(breaks=GAP[2])
class LayerByLayer(Right):
    """A gap of several layers does not fit. Perhaps only its largest output is counted: all of them live
    together.
    """

    def peak(self, kept: Kept) -> int:
        return max(
            [
                self.all_kept(kept),
                *(self.before(kept, gap) + max(self.sizes[at] for at in gap) for gap in self.gaps(kept)),
            ]
        )


@bank.mistake(breaks=GAP[1])
class NoGapAtTheEnd(Right):
    """The gap behind the last kept layer does not fit. Perhaps a gap is looked at only where a kept layer
    ends it.
    """

    def gaps(self, kept: Kept) -> list[Kept]:
        return [gap for gap in Right.gaps(self, kept) if gap[-1] + 1 < len(self.sizes)]


@bank.mistake(breaks=GAP[1])
class NoGapAtTheStart(Right):
    """The gap before the first kept layer does not fit. Perhaps a gap is looked at only behind a kept layer."""

    def gaps(self, kept: Kept) -> list[Kept]:
        return [gap for gap in Right.gaps(self, kept) if gap[0]]


@bank.mistake(breaks=PEAK)
class BehindInsteadOfBefore(Right):
    """ValueError was raised, and a list stays within the budget. Perhaps a gap is counted with the kept outputs
    behind it, and not with those before it: the backward comes from the last layer, and has passed them.
    """

    def before(self, kept: Kept, gap: Kept) -> int:
        return self.bytes(tuple(at for at in kept if at > gap[-1]))


@bank.mistake(breaks=PEAK)
class LastKeptOnly(Right):
    """A gap with all kept outputs before it does not fit. Perhaps only the kept output directly before it is
    counted: the earlier ones live, too.
    """

    def before(self, kept: Kept, gap: Kept) -> int:
        return self.sizes[gap[0] - 1] if gap[0] else 0


@bank.mistake(breaks=PEAK)
class NotAllKept(Right):
    """The kept outputs together do not fit. Perhaps only gaps are looked at: at the end of the forward all
    kept outputs live.
    """

    def peak(self, kept: Kept) -> int:
        return max([0, *(self.before(kept, gap) + self.bytes(gap) for gap in self.gaps(kept))])


@bank.mistake(breaks=LIVE)
class AllKeptBesideEachGap(Right):
    """ValueError was raised, and a list stays within the budget. Perhaps all kept outputs are counted beside
    each gap: those behind it are gone when the backward gets there.
    """

    def before(self, kept: Kept, gap: Kept) -> int:
        return self.bytes(kept)


@checkpoints.variant(AllKeptBesideEachGap)
def _(sizes: list[int], budget: int) -> list[int]:
    """The smallest are kept, as many as fit beside the largest gap, whichever it is."""
    order = sorted(range(len(sizes)), key=lambda at: sizes[at])
    for count in range(len(sizes), -1, -1):
        kept, right = tuple(sorted(order[:count])), Right(sizes, budget)
        if right.bytes(kept) + max(map(right.bytes, right.gaps(kept)), default=0) <= budget:
            return list(kept)
    raise ValueError("nothing fits")


@bank.mistake(breaks=LIVE)
class KeptBehindTheGap(Right):
    """ValueError was raised, and a list stays within the budget. Perhaps the kept layer directly behind a gap
    is counted with it: the backward has passed that one.
    """

    def before(self, kept: Kept, gap: Kept) -> int:
        return self.bytes(tuple(at for at in kept if at <= gap[-1] + 1))


@bank.mistake(breaks=GAP[1])
class GapsTogether(Right):
    """ValueError was raised, and a list stays within the budget. Perhaps all gaps are counted together: each
    one is gone before the next is run.
    """

    def peak(self, kept: Kept) -> int:
        return max(
            self.all_kept(kept),
            *(
                self.before(kept, gap)
                + self.bytes(tuple(at for at in range(len(self.sizes)) if at not in kept))
                for gap in self.gaps(kept)
            ),
            0,
        )


@bank.mistake(breaks=MOST)
class LessThanTheBudget(Right):
    """The budget is used up to the last byte by a list that was not taken. Perhaps `<` stands where `<=`
    should: "at most".
    """

    def fits(self, kept: Kept) -> bool:
        return self.peak(kept) < self.budget


# Which list is the best.


@bank.mistake(breaks=MOST)
class FewestLayers(Right):
    """All fit, and fewer were kept. Perhaps the choice is for the fewest layers: each that is thrown away
    runs twice.
    """

    def value(self, kept: Kept) -> Any:
        return -len(kept)


@bank.mistake(breaks=MOST)
class MostBytes(Right):
    """Fewer layers than possible are kept. Perhaps as many bytes as possible are: it is layers that count,
    many small ones.
    """

    def value(self, kept: Kept) -> Any:
        return self.bytes(kept)


@checkpoints.variant(MostBytes)
def _(sizes: list[int], budget: int) -> list[int]:
    """Of the lists with the fewest bytes for each number of layers and each last one, that of most bytes."""
    before = [0, *accumulate(sizes)]
    states: dict[tuple[int, int], tuple[int, Kept]] = {(0, 0): (0, ())}
    for end, size in enumerate(sizes, 1):
        for (count, start), (total, kept) in list(states.items()):
            more, place = total + size, (count + 1, end)
            fits = total + before[end - 1] - before[start] <= budget and more <= budget
            if start < end and fits and more < states.get(place, (budget + 1,))[0]:
                states[place] = more, (*kept, end - 1)
    complete = [state for (_, end), state in states.items() if state[0] + before[-1] - before[end] <= budget]
    if not complete:
        raise ValueError("nothing fits")
    return list(max(complete)[1])


@bank.mistake(breaks=MOST)
class LastLayerNever(Right):
    """All fit, and the last layer was not kept. Perhaps a loop ends one layer too early, or this output is left out on purpose,
    since it is needed at once: kept, it does not run twice.
    """

    def lists(self) -> Any:
        return (kept for kept in Right.lists(self) if len(self.sizes) - 1 not in kept)


@bank.mistake(breaks=MOST)
class FirstLayerNever(Right):
    """All fit, and the first layer was not kept. Perhaps a loop begins one layer too late."""

    def lists(self) -> Any:
        return (kept for kept in Right.lists(self) if 0 not in kept)


@bank.mistake(breaks=MOST)
class SmallestPeak(Right):
    """All fit, and fewer were kept. Perhaps the list of the smallest peak is taken: the peak has to stay
    within the budget, and no more.
    """

    def value(self, kept: Kept) -> Any:
        return -self.peak(kept), len(kept)


@bank.mistake(breaks=MOST)
class FirstLayerAlways(Right):
    """ValueError was raised, and a list stays within the budget. Perhaps the first layer is always kept,
    since a gap begins behind a kept one: the input is there, too, and costs nothing here.
    """

    def fits(self, kept: Kept) -> bool:
        return (not self.sizes or 0 in kept) and Right.fits(self, kept)


@checkpoints.mistake(breaks=MOST)
def from_the_front(sizes: list[int], budget: int) -> list[int]:
    """The first layers are kept as long as they fit, and what is behind them does not fit any more."""
    kept = [at for at, total in enumerate(accumulate(sizes)) if total <= budget]
    if not kept:
        raise ValueError("nothing fits")
    return kept


@checkpoints.mistake(breaks=MOST)
def greedy_by_size(sizes: list[int], budget: int) -> list[int]:
    """ValueError was raised, and a list stays within the budget. Perhaps the largest outputs were thrown away
    one after the other, until the rest fitted: two large ones in one gap live together, and a small one
    beside them is better.
    """
    kept = list(range(len(sizes)))
    right = Right(sizes, budget)
    for at in sorted(kept, key=lambda at: -sizes[at]):
        if right.fits(tuple(kept)):
            return kept
        kept.remove(at)
    if right.fits(tuple(kept)):
        return kept
    raise ValueError("nothing fits")


@checkpoints.mistake(breaks=MOST)
def greedy_from_the_back(sizes: list[int], budget: int) -> list[int]:
    """ValueError was raised, and a list stays within the budget. Perhaps it is decided from the first layer on,
    layer by layer, which is kept, and never looked at again.
    """
    kept = list(range(len(sizes)))
    right = Right(sizes, budget)
    for at in range(len(sizes)):
        if right.fits(tuple(kept)):
            return kept
        fewer = [each for each in kept if each != at]
        if right.peak(tuple(fewer)) < right.peak(tuple(kept)):
            kept = fewer
    if right.fits(tuple(kept)):
        return kept
    raise ValueError("nothing fits")


@checkpoints.variant(greedy_from_the_back)
def _(sizes: list[int], budget: int) -> list[int]:
    """From the front, each layer with which the list so far would fit."""
    kept: list[int] = []
    right = Right(sizes, budget)
    for at in range(len(sizes)):
        total = right.bytes((*kept, at))
        fits = total + sum(sizes[at + 1 :]) <= budget
        if fits or total <= budget and right.fits((*kept, at)):
            kept.append(at)
    if not right.fits(tuple(kept)):
        raise ValueError("nothing fits")
    return kept


@checkpoints.mistake(breaks=WHICH)
def every_root_of_n(sizes: list[int], budget: int) -> list[int]:
    """All outputs fit, and only some are kept, at even distances, whatever the sizes are. That is the rule
    for layers of one size, where nothing is known of the budget.
    """
    step = isqrt(len(sizes)) or 1
    kept = tuple(range(step - 1, len(sizes), step))
    if not Right(sizes, budget).fits(kept):
        raise ValueError("nothing fits")
    return list(kept)


@checkpoints.mistake(breaks=MOST)
def even_distances(sizes: list[int], budget: int) -> list[int]:
    """Fewer layers than possible are kept, or none were found. Perhaps only lists at even distances are
    tried: sizes differ, and gaps may.
    """
    right = Right(sizes, budget)
    for step in range(1, len(sizes) + 1):
        for start in range(step):
            if right.fits(kept := tuple(range(start, len(sizes), step))):
                return list(kept)
    raise ValueError("nothing fits")


@checkpoints.variant(even_distances)
def _(sizes: list[int], budget: int) -> list[int]:
    """Every second, every third and so on, from one place only."""
    for step in range(1, len(sizes) + 2):
        if Right(sizes, budget).fits(kept := tuple(range(step - 1, len(sizes), step))):
            return list(kept)
    raise ValueError("nothing fits")


@checkpoints.mistake(breaks=MOST)
def one_state_a_layer(sizes: list[int], budget: int) -> list[int]:
    """ValueError was raised, and a list stays within the budget. Perhaps for each layer only the state with
    the most kept layers goes on: one with fewer layers, and fewer bytes, may be worth more later.
    """
    states: list[tuple[int, int, Kept] | None] = [(0, 0, ())]
    for end in range(1, len(sizes) + 1):
        options = []
        for start, state in enumerate(states):
            if state is not None:
                count, kept_bytes, kept = state
                more = -kept_bytes + sizes[end - 1]
                if -kept_bytes + sum(sizes[start : end - 1]) <= budget and more <= budget:
                    options.append((count + 1, -more, (*kept, end - 1)))
        states.append(max(options, default=None))
    complete = [
        state for last, state in enumerate(states) if state and sum(sizes[last:]) - state[1] <= budget
    ]
    if not complete:
        raise ValueError("nothing fits")
    return list(max(complete)[2])


# No list.


@bank.mistake(breaks=RAISED)
class EmptyForNone(Right):
    """No list stays within the budget, and an empty one was returned: that is a list, too, and its peak is
    all outputs together.
    """

    def nothing(self) -> Any:
        return []


@bank.mistake(breaks=RAISED)
class NoneForNone(Right):
    """No list stays within the budget, and None was returned. ValueError is to be raised: who takes the list
    would go on with None.
    """

    def nothing(self) -> Any:
        return None


@bank.mistake(breaks=RAISED)
class DifferentError(Right):
    """No list stays within the budget, and a different error than ValueError was raised. Perhaps `assert`,
    MemoryError, or torch.OutOfMemoryError.
    """

    def nothing(self) -> Any:
        raise MemoryError("nothing fits")


@bank.variant(DifferentError)
class _(Right):
    def nothing(self) -> Any:
        raise RuntimeError("nothing fits")


@bank.variant(DifferentError)
class _(Right):
    def nothing(self) -> Any:
        raise torch.OutOfMemoryError("nothing fits")


@bank.variant(DifferentError)
class _(Right):
    def nothing(self) -> Any:
        raise AssertionError("nothing fits")


@bank.mistake(breaks=RAISED)
class RaisesUnlessAllFit(Right):
    """ValueError was raised, and a list stays within the budget. Perhaps it is raised as soon as the outputs
    do not fit all together: that is what checkpoints are for.
    """

    def __call__(self) -> Any:
        if sum(self.sizes) > self.budget:
            raise ValueError("the outputs do not fit")
        return Right.__call__(self)


@bank.mistake(breaks=RAISED)
class RaisesForOneTooLarge(Right):
    """No list stays within the budget, and one was returned. Perhaps ValueError is raised only if a single
    output is too large: all can be small enough, and no list fits.
    """

    def __call__(self) -> Any:
        if max(self.sizes, default=0) > self.budget:
            raise ValueError("an output is too large")
        return Right.__call__(self)

    def nothing(self) -> Any:
        return list(range(0, len(self.sizes), 2))


@bank.mistake(
    breaks="sizes: the bytes of each layer's output, in the order in which the layers run; each is 1 or more; perhaps none."
)
class NoLayers(Right):
    """Without layers, an error was raised. The list of no layers is empty, and its peak is 0."""

    def __call__(self) -> Any:
        if max(self.sizes) > self.budget:
            raise ValueError("an output is too large")
        return Right.__call__(self)


@bank.mistake(breaks=STAYS)
class SortsTheSizes(Right):
    """The caller's list of sizes was changed. It belongs to the caller: make a copy, or use `sorted`."""

    def __call__(self) -> Any:
        self.sizes.sort()
        return Right.__call__(self)


def _remembered(key: Callable[[list[int], int], Any]) -> Callable[..., Any]:
    """key: by what a result is found again."""
    known: dict[Any, list[int]] = {}

    def answer(sizes: list[int], budget: int) -> list[int]:
        if key(sizes, budget) not in known:
            known[key(sizes, budget)] = Right(sizes, budget)()
        return list(known[key(sizes, budget)])

    return answer


_by_length = _remembered(lambda sizes, budget: (len(sizes), budget))
_by_sum = _remembered(lambda sizes, budget: (len(sizes), sum(sizes), budget))
_by_what_stands_there = _remembered(lambda sizes, budget: (*sorted(sizes), budget))
_by_sizes = _remembered(lambda sizes, budget: tuple(sizes))


@checkpoints.mistake(breaks=MOST)
def remembered(sizes: list[int], budget: int) -> list[int]:
    """A call alone is right, and after a different one it is not: something of that one lives on. Perhaps results are kept, and
    found again by less than all sizes, in their order, and the budget.
    """
    return _by_length(sizes, budget)


@checkpoints.variant(remembered)
def _(sizes: list[int], budget: int) -> list[int]:
    return _by_sum(sizes, budget)


@checkpoints.variant(remembered)
def _(sizes: list[int], budget: int) -> list[int]:
    return _by_what_stands_there(sizes, budget)


@checkpoints.variant(remembered)
def _(sizes: list[int], budget: int) -> list[int]:
    return _by_sizes(sizes, budget)
