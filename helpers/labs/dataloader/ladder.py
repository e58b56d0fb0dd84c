"""Properties that start processes, taken as the steps of a ladder: an answer is judged where it falls first.

A mistake's name is sought among the known wrong answers at every property. Each property here starts processes,
so that running all answers at all of them would take a minute. So an answer that fell from one step is not tried
on the others, and of each known wrong answer it is written down from which step it falls. That this is true is
tested: the tests hand each of them in as a learner would, and it must be named.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from helpers.exercise import Check, Exercise
from helpers.trial import Trial

Steps = list[tuple[str, Check]]


# Steps of their own see to these.
CHANGES = ("torch RNG", "numpy RNG", "random RNG", "number of threads")


class Flaw(NamedTuple):
    """A known wrong answer. at: the step from which it falls. forms: the same mistake, written otherwise.

    observed: what that step observes of them all, written down where it takes seconds to see, as a hang does.
    """

    name: str
    at: str
    why: str
    seen: str
    answer: Any
    forms: tuple[Any, ...] = ()
    observed: Any = None


class Ladder:
    """The properties of `exercise`, in order of height. home: the module in which the exercise stands."""

    def __init__(self, exercise: Exercise, home: str, steps: Steps) -> None:
        self.exercise, self.home = exercise, home
        self._known: dict[int, Flaw] = {}  # id of a known wrong answer -> what is known of it
        self._fell: dict[tuple[int, int], str] = {}  # id of an answer, seed of the check -> the same
        for said, check in steps:
            self.step(said, check)

    def step(self, said: str, check: Check) -> None:
        """Adds a property."""

        @functools.wraps(check)
        def tried(answer: Any, trial: Trial) -> None:
            known = self._known.get(id(answer))
            falls = known.at if known else self._fell.get((id(answer), trial.seed))
            if falls not in (None, said):
                return
            if known and known.observed is not None:
                trial.fail(known.why, observed=known.observed)
            try:
                check(answer, trial)
            except BaseException:
                self._fell[id(answer), trial.seed] = said
                raise

        tried.__module__ = self.home  # through which another process finds the exercise
        self.exercise.property(said, changes=CHANGES)(tried)

    def wrong_answer(self, flaw: Flaw) -> None:
        """Adds a known wrong answer."""
        if flaw.at not in [prop.said for prop in self.exercise.properties]:
            raise ValueError(f"{self.exercise.id}: no property says {flaw.at!r}")
        self.exercise.wrong_answer(flaw.name, why=flaw.why, seen=flaw.seen, answer=flaw.answer)
        for form in flaw.forms:
            self.exercise.another_form(flaw.name)(form)
        for one in (flaw.answer, *flaw.forms):
            self._known[id(one)] = flaw
