"""The peak of a choice, the best choice, and how work is counted: what the properties of 14.checkpoints have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from types import FrameType
from typing import Any

from helpers.check.trial import Trial

MANY = 3_000_000  # lines of Python: thirty layers take a hundredth of that


def held(sizes: Sequence[int], kept: Sequence[int]) -> Iterator[tuple[int, str]]:
    """What is held at once, with what it is: all kept outputs, then each gap with the kept outputs before it."""
    yield sum(sizes[at] for at in kept), "all kept outputs"
    bounds = [-1, *kept, len(sizes)]
    for before, after in zip(bounds, bounds[1:], strict=False):
        if after - before > 1:
            kept_before = sum(sizes[at] for at in kept if at < before + 1)
            gap = range(before + 1, after)
            where = f"layer {gap[0]}" if len(gap) == 1 else f"layers {gap[0]} to {gap[-1]}"
            yield (
                kept_before + sum(sizes[at] for at in gap),
                f"the gap of {where}, with the kept outputs before it",
            )


def peak(sizes: Sequence[int], kept: Sequence[int]) -> tuple[int, str]:
    """The largest of these, with what it is."""
    return max(held(sizes, kept), key=lambda each: each[0])


def by_force(sizes: Sequence[int], budget: int) -> list[int] | None:
    """A best list, found by trying all; None if no list stays within the budget."""
    for count in range(len(sizes), -1, -1):
        for kept in combinations(range(len(sizes)), count):
            if peak(sizes, kept)[0] <= budget:
                return list(kept)
    return None


def smallest(sizes: Sequence[int]) -> int:
    """The smallest budget that has a list, found by trying all."""
    every = (kept for count in range(len(sizes) + 1) for kept in combinations(range(len(sizes)), count))
    return min(peak(sizes, kept)[0] for kept in every)


def best(sizes: Sequence[int], budget: int) -> list[int] | None:
    """The same as by_force, for many layers: the fewest kept bytes for each place of the last kept layer and each number of layers."""
    states: list[dict[int, tuple[int, tuple[int, ...]]]] = [
        {0: (0, ())}
    ]  # [place + 1][number] -> bytes, list
    for place in range(len(sizes)):
        found: dict[int, tuple[int, tuple[int, ...]]] = {}
        gap = 0  # of the outputs between the kept layer before and this one
        for before in range(place, -1, -1):
            for number, (bytes_, kept) in states[before].items():
                more = bytes_ + sizes[place]
                if (
                    bytes_ + gap <= budget
                    and more <= budget
                    and more < found.get(number + 1, (budget + 1,))[0]
                ):
                    found[number + 1] = (more, (*kept, place))
            gap += sizes[before - 1] if before else 0
        states.append(found)
    complete = [
        kept
        for last, found in enumerate(states)
        for bytes_, kept in found.values()
        if bytes_ + sum(sizes[last:]) <= budget
    ]
    return list(max(complete, key=len)) if complete else None


def scaled(trial: Trial, *cases: tuple[list[int], int], spare: int = 0) -> Iterator[tuple[list[int], int]]:
    """The cases in a different unit, drawn at random: what is right does not depend on it.

    spare: bytes more, less than a unit; with one, no list uses up the budget.
    """
    unit = trial.random.randint(2, 500)
    for sizes, budget in cases:
        yield [size * unit for size in sizes], budget * unit + spare


def some(trial: Trial, layers: int, largest: int = 9) -> list[int]:
    return [trial.random.randint(1, largest) for _ in range(layers)]


class Case:
    """One call of the answer, and what is wrong with what it gives.

    exact: whether the list is observed; False where the case is drawn at random, or where `also` tells more.
    also: observed beside what this case shows.
    """

    def __init__(
        self,
        answer: Any,
        trial: Trial,
        sizes: list[int],
        budget: int,
        *,
        exact: bool = True,
        also: Sequence[str] = (),
    ) -> None:
        self.also = [also] if also else []
        self.trial, self.sizes, self.budget, self.exact = trial, sizes, budget, exact
        self._answer = answer
        shown = (
            f"sizes {sizes}"
            if len(sizes) <= 12
            else f"{len(sizes)} layers, sizes {str(sizes[:4])[:-1]}, ...]"
        )
        trial.given(f"{shown}, budget {budget}")

    def list(self, wanted: list[int] | None) -> list[int]:
        """The answer's list: of the right kind, and within the budget. wanted: a best one."""
        assert wanted is not None
        try:
            got = self.trial.call(self._answer, self.sizes, self.budget)
        except ValueError as error:
            self.trial.fail(
                f"ValueError was raised, and {wanted} stays within the budget: its peak is {peak(self.sizes, wanted)[0]}.",
                expected=str(wanted),
                got=f"ValueError: {error}"[:200],
                observed=("raised", "ValueError", *self._seen()),
            )
        self._is_a_list(got)
        most, what = peak(self.sizes, got)
        self.trial.true(
            most <= self.budget,
            f"{got}: {_takes(what, most)}. The budget is {self.budget}.",
            expected=f"a peak of {self.budget} at most, as {wanted} has",
            got=f"a peak of {most}",
            observed=("over", what.split(" of ")[0], *self._seen(got)),
        )
        return got

    def best(self, wanted: list[int] | None) -> None:
        got = self.list(wanted)
        assert wanted is not None
        self.trial.true(
            len(got) >= len(wanted),
            f"{got} keeps {len(got)} of {len(self.sizes)} layers. {wanted} keeps {len(wanted)}, and stays within the budget, too: its peak "
            f"is {peak(self.sizes, wanted)[0]}.",
            expected=f"{len(wanted)} layers, such as {wanted}",
            got=f"{len(got)} layers: {got}",
            observed=("fewer", len(wanted) - len(got), *self._seen(got)),
        )

    def none(self) -> None:
        """No list stays within the budget."""
        try:
            got = self.trial.call(self._answer, self.sizes, self.budget)
        except ValueError:
            return
        except NotImplementedError:
            raise
        except Exception as error:
            name = type(error).__name__
            # torch.OutOfMemoryError is a RuntimeError.
            chosen = isinstance(error, (AssertionError, MemoryError, RuntimeError))
            self.trial.fail(
                f"No list stays within the budget, and {name} was raised.",
                expected="ValueError",
                got=f"{name}: {error}"[:200],
                observed=("no list", "raised", "one chosen" if chosen else name),
            )
        over = ""
        if type(got) is list and all(type(each) is int and 0 <= each < len(self.sizes) for each in got):
            most, what = peak(self.sizes, sorted(set(got)))
            over = f" There {_takes(what, most)}."
        self.trial.fail(
            f"No list stays within the budget of {self.budget}, and {str(got)[:200]} was returned.{over}",
            expected="ValueError",
            got=str(got)[:200],
            observed=("no list", type(got).__name__, *self._seen(got)),
        )

    def _seen(self, *got: Any) -> tuple[Any, ...]:
        return (*(got if self.exact else ()), *self.also)

    def _is_a_list(self, got: Any) -> None:
        self.trial.true(
            type(got) is list,
            "None was returned. Is a `return` missing?"
            if got is None
            else f"Of type {type(got).__name__} is what was returned.",
            expected="a list of indices",
            got=str(got)[:200],
            observed=("kind", type(got).__name__),
        )
        other = [each for each in got if type(each) is not int]
        self.trial.true(
            not other,
            f"The list holds {other[0]!r}, which is no int." if other else "",
            expected="indices of layers",
            got=str(got)[:200],
            observed=("kind", "of", type(other[0]).__name__ if other else ""),
        )
        outside = [each for each in got if not 0 <= each < len(self.sizes)]
        self.trial.true(
            not outside,
            f"The list holds {outside[0] if outside else 0}, and there is no such layer: they are 0 to {len(self.sizes) - 1}.",
            expected="indices of layers",
            got=str(got)[:200],
            observed=("outside", *self._seen(got)),
        )
        self.trial.true(
            len(set(got)) == len(got),
            "A layer stands in the list twice.",
            expected="each layer once",
            got=str(got)[:200],
            observed=("twice", *self._seen(got)),
        )
        self.trial.true(
            got == sorted(got),
            "The indices are not ascending.",
            expected=str(sorted(got))[:200],
            got=str(got)[:200],
            observed=("order", *self._seen(got)),
        )


def outcome(answer: Any, trial: Trial, sizes: list[int], budget: int) -> Any:
    """What the answer returns; None if it raises ValueError."""
    try:
        return trial.call(answer, list(sizes), budget)
    except ValueError:
        return None


def is_right(got: Any, sizes: list[int], budget: int) -> bool:
    """Whether this is a best list. There is one."""
    if type(got) is not list or not set(got) <= set(range(len(sizes))) or got != sorted(set(got)):
        return False
    return peak(sizes, got)[0] <= budget and len(got) == len(by_force(sizes, budget) or ())


def kinds(
    answer: Any, trial: Trial, cases: Sequence[tuple[list[int], int]], roomy: tuple[list[int], int]
) -> list[str]:
    """What the answer does in each case, in a word: what tells one wrong idea of the peak from another one.

    roomy: of this one only whether ValueError is raised.
    """
    found = []
    for sizes, budget in cases:
        got = outcome(answer, trial, sizes, budget)
        if got is None:
            found.append("raised")
            continue
        if type(got) is not list or not set(got) <= set(range(len(sizes))) or got != sorted(set(got)):
            found.append("no list of indices")
            continue
        most, what = peak(sizes, got)
        bounds = [-1, *got, len(sizes)]
        alone = max(sum(sizes[one + 1 : other]) for one, other in zip(bounds, bounds[1:], strict=False))
        over = "a gap alone" if alone > budget else what.split(" of ")[0]
        fewer = len(got) < len(by_force(sizes, budget) or ())
        found.append(f"over: {over}" if most > budget else "fewer" if fewer else "right")
    if outcome(answer, trial, *roomy) is None:
        found.append("raised, and all but a unit fits")
    return found


def _takes(what: str, bytes_: int) -> str:
    return f"{what}, takes {bytes_} bytes" if what.startswith("the gap") else f"{what} take {bytes_} bytes"


class TooMuch(BaseException):
    """Ends an answer that has worked enough. No Exception: an answer may catch those."""


def counted(call: Callable[[], None], most: int) -> bool:
    """Whether `call` ends within so many lines of Python. Counted lines depend on no machine, and on no load."""
    lines = 0

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > most:
            raise TooMuch
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except TooMuch:
        return False
    finally:
        sys.settrace(before)
    return True
