"""Properties and mistakes that the three loaders with processes share: each takes them in an order of its own.

Each property starts processes and takes a second or so. So each mistake says at which property it falls, and is
compared with an answer there alone. That this is true is tested: each is handed in as a learner would, and must be
named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from helpers.check.spec import Check
from helpers.exercise import Exercise

Steps = list[tuple[str, Check]]

# Steps of their own see to these.
CHANGES = ("torch RNG", "numpy RNG", "random RNG", "number of threads")


class LoaderMistake(NamedTuple):
    """A mistake in a loader with processes.

    at: the property that it does not have. variants: the same mistake, written in different ways.
    observed: what that property observes of them all, written down where it takes seconds to see, as a hang does.
    breaks: the words that it breaks of the docstring of the first loader that has it; "" where its property asks for
    one sentence, and in the later loaders, whose docstrings do not repeat these words.
    """

    name: str
    at: str
    why: str
    answer: Any
    variants: tuple[Any, ...] = ()
    observed: Any = None
    breaks: str = ""


def add_steps(
    exercise: Exercise,
    steps: Steps,
    asks: Mapping[str, str | tuple[str, ...]],
    still: tuple[str, Mapping[str, str]] = ("", {}),
) -> None:
    """Adds the properties in this order.

    asks: the words of the exercise's docstring that each holds. still: for the steps that are not in it, which an
    earlier loader has, too: the sentence that says so, and the words of each.
    """
    for description, check in steps:
        words = asks.get(description) or (still[0], still[1][description])
        exercise.property(description, asks=words, changes=CHANGES)(check)


def add_mistakes(exercise: Exercise, mistakes: Iterable[LoaderMistake]) -> None:
    """Adds the mistakes."""
    for mistake in mistakes:
        exercise.add_mistake(
            mistake.name,
            mistake.answer,
            why=mistake.why,
            breaks=mistake.breaks,
            at=mistake.at,
            observed=mistake.observed,
        )
        for variant in mistake.variants:
            exercise.add_variant(mistake.name, variant)
